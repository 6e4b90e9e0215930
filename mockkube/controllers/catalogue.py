"""Catalogue of controllers: name and alias of `--controllers`, constructor, feature gates, default.

Entries without a constructor exist upstream only: flags may name them, and nothing runs for them.
upstream 1.36: cmd/kube-controller-manager/names/controller_names.go, app/controller_descriptor.go
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from mockkube.controllers.certificates import signing
from mockkube.controllers.certificates.approving import CSRApprovingController
from mockkube.controllers.certificates.cleaner import CSRCleanerController
from mockkube.controllers.cronjob.cronjob import CronJobController
from mockkube.controllers.daemonset.daemonset import DaemonSetController
from mockkube.controllers.deployment.deployment import DeploymentController
from mockkube.controllers.devicetainteviction import device_taint_eviction
from mockkube.controllers.disruption import disruption
from mockkube.controllers.endpoints.endpoint_slice_mirroring import EndpointSliceMirroringController
from mockkube.controllers.endpoints.endpoint_slices import EndpointSliceController
from mockkube.controllers.endpoints.endpoints import EndpointsController
from mockkube.controllers.framework.controller import Controller, ControllerDependencies
from mockkube.controllers.garbagecollector import garbage_collector
from mockkube.controllers.job import job
from mockkube.controllers.namespace.default_objects import RootCACertPublisher, ServiceAccountsController
from mockkube.controllers.namespace.namespace import NamespaceController
from mockkube.controllers.nodelifecycle import node_lifecycle
from mockkube.controllers.nodelifecycle.ttl import TTLController
from mockkube.controllers.podautoscaling.horizontal import HorizontalPodAutoscalerController
from mockkube.controllers.podgc.pod_gc import PodGCController
from mockkube.controllers.replicaset import ReplicaSetController, ReplicationManager
from mockkube.controllers.resource_quota import ResourceQuotaController
from mockkube.controllers.resourceclaim import resource_claim
from mockkube.controllers.role_aggregation import ClusterRoleAggregationController
from mockkube.controllers.service_cidr import ServiceCIDRController
from mockkube.controllers.statefulset.statefulset import StatefulSetController
from mockkube.controllers.tainteviction.taint_eviction import TaintEvictionController
from mockkube.controllers.ttl_after_finished import TTLAfterFinishedController
from mockkube.controllers.volume import claim_binder
from mockkube.controllers.volume.ephemeral_volume import EphemeralVolumeController
from mockkube.controllers.volume.fake_provisioner import FakeProvisioner
from mockkube.controllers.volume.protection import PVCProtectionController, PVProtectionController
from mockkube.controllers.volume.volume_attributes_class_protection import VolumeAttributesClassProtectionController
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import OLDEST, Version
from mockkube.lazy_dataclasses import dataclass

# Returns all queues that run under one controller name: usually one, for some controllers several.
ControllerConstructor = Callable[[ControllerDependencies], Iterable[Controller]]


@dataclass(frozen=True, slots=True)
class ControllerDescriptor:
    """Descriptor of one controller."""

    name: str
    alias: str = ""
    build: ControllerConstructor | None = None
    # Feature gates that must all be enabled.
    gates: tuple[str, ...] = ()
    by_default: bool = True
    since: Version = OLDEST

    def is_enabled(self, chosen: Sequence[str], capabilities: Capabilities) -> bool:
        """Return whether the controller runs with this `--controllers` list, version and gates."""
        if capabilities.version < self.since or not all(capabilities.enabled(gate) for gate in self.gates):
            return False
        return self._is_selected(chosen)

    def _is_selected(self, chosen: Sequence[str]) -> bool:
        """Return whether a `--controllers` list selects the controller."""
        names = {self.name, self.alias} - {""}
        # As upstream, the first entry that names the controller decides, wherever `*` stands.
        for choice in chosen:
            if choice in names:
                return True
            if choice.removeprefix("-") in names:
                return False
        return self.by_default and "*" in chosen


def construct_one(controller: Callable[[ControllerDependencies], Controller]) -> ControllerConstructor:
    """Return a constructor for a name that has a single controller."""
    return lambda setting: (controller(setting),)


CONTROLLERS: Final = (
    ControllerDescriptor("serviceaccount-token-controller", "serviceaccount-token"),
    ControllerDescriptor("endpoints-controller", "endpoint", construct_one(EndpointsController)),
    ControllerDescriptor("endpointslice-controller", "endpointslice", construct_one(EndpointSliceController)),
    ControllerDescriptor(
        "endpointslice-mirroring-controller", "endpointslicemirroring", construct_one(EndpointSliceMirroringController)
    ),
    ControllerDescriptor(
        "replicationcontroller-controller", "replicationcontroller", construct_one(ReplicationManager)
    ),
    ControllerDescriptor("pod-garbage-collector-controller", "podgc", construct_one(PodGCController)),
    ControllerDescriptor("resourcequota-controller", "resourcequota", construct_one(ResourceQuotaController)),
    ControllerDescriptor("namespace-controller", "namespace", construct_one(NamespaceController)),
    ControllerDescriptor("serviceaccount-controller", "serviceaccount", construct_one(ServiceAccountsController)),
    ControllerDescriptor("garbage-collector-controller", "garbagecollector", garbage_collector.build),
    ControllerDescriptor("daemonset-controller", "daemonset", construct_one(DaemonSetController)),
    ControllerDescriptor("job-controller", "job", job.build),
    ControllerDescriptor("podgroup-protection-controller", gates=("GenericWorkload",), since=Version(1, 36)),
    ControllerDescriptor("deployment-controller", "deployment", construct_one(DeploymentController)),
    ControllerDescriptor("replicaset-controller", "replicaset", construct_one(ReplicaSetController)),
    ControllerDescriptor(
        "horizontal-pod-autoscaler-controller",
        "horizontalpodautoscaling",
        construct_one(HorizontalPodAutoscalerController),
    ),
    ControllerDescriptor("disruption-controller", "disruption", disruption.build),
    ControllerDescriptor("statefulset-controller", "statefulset", construct_one(StatefulSetController)),
    ControllerDescriptor("cronjob-controller", "cronjob", construct_one(CronJobController)),
    ControllerDescriptor("certificatesigningrequest-signing-controller", "csrsigning", signing.build),
    ControllerDescriptor(
        "certificatesigningrequest-approving-controller", "csrapproving", construct_one(CSRApprovingController)
    ),
    ControllerDescriptor(
        "certificatesigningrequest-cleaner-controller", "csrcleaner", construct_one(CSRCleanerController)
    ),
    ControllerDescriptor("podcertificaterequest-cleaner-controller", gates=("PodCertificateRequest",)),
    ControllerDescriptor("ttl-controller", "ttl", construct_one(TTLController)),
    ControllerDescriptor("bootstrap-signer-controller", "bootstrapsigner", by_default=False),
    ControllerDescriptor("token-cleaner-controller", "tokencleaner", by_default=False),
    ControllerDescriptor("node-ipam-controller", "nodeipam"),
    ControllerDescriptor("node-lifecycle-controller", "nodelifecycle", node_lifecycle.build),
    ControllerDescriptor(
        "taint-eviction-controller",
        "",
        construct_one(TaintEvictionController),
        gates=("SeparateTaintEvictionController",),
    ),
    ControllerDescriptor("service-lb-controller", "service"),
    ControllerDescriptor("node-route-controller", "route"),
    ControllerDescriptor("cloud-node-lifecycle-controller", "cloud-node-lifecycle"),
    ControllerDescriptor("persistentvolume-binder-controller", "persistentvolume-binder", claim_binder.build),
    ControllerDescriptor("persistentvolume-attach-detach-controller", "attachdetach"),
    ControllerDescriptor("persistentvolume-expander-controller", "persistentvolume-expander"),
    ControllerDescriptor(
        "clusterrole-aggregation-controller", "clusterrole-aggregation", construct_one(ClusterRoleAggregationController)
    ),
    ControllerDescriptor(
        "persistentvolumeclaim-protection-controller", "pvc-protection", construct_one(PVCProtectionController)
    ),
    ControllerDescriptor(
        "persistentvolume-protection-controller", "pv-protection", construct_one(PVProtectionController)
    ),
    ControllerDescriptor(
        "volumeattributesclass-protection-controller",
        "",
        construct_one(VolumeAttributesClassProtectionController),
        gates=("VolumeAttributesClass",),
    ),
    ControllerDescriptor(
        "ttl-after-finished-controller", "ttl-after-finished", construct_one(TTLAfterFinishedController)
    ),
    ControllerDescriptor(
        "root-ca-certificate-publisher-controller", "root-ca-cert-publisher", construct_one(RootCACertPublisher)
    ),
    ControllerDescriptor(
        "kube-apiserver-serving-clustertrustbundle-publisher-controller", gates=("ClusterTrustBundle",)
    ),
    ControllerDescriptor("ephemeral-volume-controller", "ephemeral-volume", construct_one(EphemeralVolumeController)),
    ControllerDescriptor(
        "storageversion-garbage-collector-controller",
        "storage-version-gc",
        gates=("APIServerIdentity", "StorageVersionAPI"),
    ),
    ControllerDescriptor(
        "resourceclaim-controller",
        "resource-claim-controller",
        resource_claim.build,
        gates=("DynamicResourceAllocation",),
    ),
    ControllerDescriptor("resourcepoolstatusrequest-controller", gates=("DRAResourcePoolStatus",)),
    ControllerDescriptor(
        "device-taint-eviction-controller",
        build=device_taint_eviction.build,
        gates=("DynamicResourceAllocation", "DRADeviceTaints"),
    ),
    ControllerDescriptor("legacy-serviceaccount-token-cleaner-controller", "legacy-service-account-token-cleaner"),
    ControllerDescriptor("validatingadmissionpolicy-status-controller"),
    ControllerDescriptor(
        "service-cidr-controller", "", construct_one(ServiceCIDRController), gates=("MultiCIDRServiceAllocator",)
    ),
    ControllerDescriptor("storage-version-migrator-controller", "svm", gates=("StorageVersionMigrator",)),
    ControllerDescriptor("fake-provisioner", "", construct_one(FakeProvisioner)),  # differs: upstream has none
    ControllerDescriptor("selinux-warning-controller", gates=("SELinuxChangePolicy",), by_default=False),
)


def find_unknown_names(chosen: Sequence[str]) -> list[str]:
    """Return the entries of a `--controllers` list that name no controller."""
    names = {"*"}.union(*({entry.name, entry.alias} for entry in CONTROLLERS)) - {""}
    return [choice for choice in chosen if choice not in names and choice.removeprefix("-") not in names]


def build_controllers(dependencies: ControllerDependencies) -> list[Controller]:
    """Return the controllers to run: selected, with their gates enabled, and implemented here."""
    chosen, capabilities = dependencies.options.controllers, dependencies.capabilities
    return [
        controller
        for entry in CONTROLLERS
        if entry.build is not None and entry.is_enabled(chosen, capabilities)
        for controller in entry.build(dependencies)
    ]
