"""Catalogue of controllers: name and alias of `--controllers`, constructor, feature gates, default.

Entries without a constructor exist upstream only: flags may name them, and nothing runs for them.
upstream 1.36: cmd/kube-controller-manager/names/controller_names.go, app/controller_descriptor.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.controllers.certificates import signing
from mockkube.controllers.certificates.approving import CSRApprovingController
from mockkube.controllers.certificates.cleaner import CSRCleanerController
from mockkube.controllers.cronjob.cronjob import CronJobController
from mockkube.controllers.daemonset.daemonset import DaemonSetController
from mockkube.controllers.deployment.deployment import Deployments
from mockkube.controllers.devicetainteviction import device_taint_eviction
from mockkube.controllers.disruption import disruption
from mockkube.controllers.endpoints.endpoint_slices import EndpointSliceController
from mockkube.controllers.endpoints.endpoints import EndpointsController
from mockkube.controllers.endpoints.mirroring import EndpointSliceMirroringController
from mockkube.controllers.framework.controller import Controller, Setting
from mockkube.controllers.garbagecollector import garbage_collector
from mockkube.controllers.job import job
from mockkube.controllers.namespace.default_objects import RootCACertPublisher, ServiceAccounts
from mockkube.controllers.namespace.namespace import NamespaceController
from mockkube.controllers.nodelifecycle import node_lifecycle
from mockkube.controllers.nodelifecycle.ttl import TTLController
from mockkube.controllers.pods.pod_gc import PodGCController
from mockkube.controllers.pods.taint_eviction import TaintEvictionController
from mockkube.controllers.replicaset import ReplicaSetController, ReplicationManager
from mockkube.controllers.resource_quota import ResourceQuotaController
from mockkube.controllers.resourceclaim import resource_claim
from mockkube.controllers.role_aggregation import ClusterRoleAggregationController
from mockkube.controllers.service_cidr import ServiceCIDRController
from mockkube.controllers.statefulset.statefulset import StatefulSetController
from mockkube.controllers.ttl_after_finished import TTLAfterFinishedController
from mockkube.controllers.volume import claim_binder
from mockkube.controllers.volume.class_protection import VolumeAttributesClassProtectionController
from mockkube.controllers.volume.ephemeral_volume import EphemeralVolumeController
from mockkube.controllers.volume.fake_provisioner import FakeProvisioner
from mockkube.controllers.volume.protection import PVCProtectionController, PVProtectionController
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import OLDEST, Version

# Returns all queues that run under one controller name: usually one, for some controllers several.
ControllerConstructor = Callable[[Setting], Iterable[Controller]]


@dataclass(frozen=True, slots=True)
class Entry:
    """Descriptor of one controller."""

    name: str
    alias: str = ""
    build: ControllerConstructor | None = None
    # Feature gates that must all be enabled.
    gates: tuple[str, ...] = ()
    by_default: bool = True
    since: Version = OLDEST

    def runs(self, chosen: Sequence[str], capabilities: Capabilities) -> bool:
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


def one(controller: Callable[[Setting], Controller]) -> ControllerConstructor:
    """Return a constructor for a name that has a single controller."""
    return lambda setting: (controller(setting),)


CONTROLLERS: Final = (
    Entry("serviceaccount-token-controller", "serviceaccount-token"),
    Entry("endpoints-controller", "endpoint", one(EndpointsController)),
    Entry("endpointslice-controller", "endpointslice", one(EndpointSliceController)),
    Entry("endpointslice-mirroring-controller", "endpointslicemirroring", one(EndpointSliceMirroringController)),
    Entry("replicationcontroller-controller", "replicationcontroller", one(ReplicationManager)),
    Entry("pod-garbage-collector-controller", "podgc", one(PodGCController)),
    Entry("resourcequota-controller", "resourcequota", one(ResourceQuotaController)),
    Entry("namespace-controller", "namespace", one(NamespaceController)),
    Entry("serviceaccount-controller", "serviceaccount", one(ServiceAccounts)),
    Entry("garbage-collector-controller", "garbagecollector", garbage_collector.build),
    Entry("daemonset-controller", "daemonset", one(DaemonSetController)),
    Entry("job-controller", "job", job.build),
    Entry("podgroup-protection-controller", gates=("GenericWorkload",), since=Version(1, 36)),
    Entry("deployment-controller", "deployment", one(Deployments)),
    Entry("replicaset-controller", "replicaset", one(ReplicaSetController)),
    Entry("horizontal-pod-autoscaler-controller", "horizontalpodautoscaling"),
    Entry("disruption-controller", "disruption", disruption.build),
    Entry("statefulset-controller", "statefulset", one(StatefulSetController)),
    Entry("cronjob-controller", "cronjob", one(CronJobController)),
    Entry("certificatesigningrequest-signing-controller", "csrsigning", signing.build),
    Entry("certificatesigningrequest-approving-controller", "csrapproving", one(CSRApprovingController)),
    Entry("certificatesigningrequest-cleaner-controller", "csrcleaner", one(CSRCleanerController)),
    Entry("podcertificaterequest-cleaner-controller", gates=("PodCertificateRequest",)),
    Entry("ttl-controller", "ttl", one(TTLController)),
    Entry("bootstrap-signer-controller", "bootstrapsigner", by_default=False),
    Entry("token-cleaner-controller", "tokencleaner", by_default=False),
    Entry("node-ipam-controller", "nodeipam"),
    Entry("node-lifecycle-controller", "nodelifecycle", node_lifecycle.build),
    Entry("taint-eviction-controller", "", one(TaintEvictionController), gates=("SeparateTaintEvictionController",)),
    Entry("service-lb-controller", "service"),
    Entry("node-route-controller", "route"),
    Entry("cloud-node-lifecycle-controller", "cloud-node-lifecycle"),
    Entry("persistentvolume-binder-controller", "persistentvolume-binder", claim_binder.build),
    Entry("persistentvolume-attach-detach-controller", "attachdetach"),
    Entry("persistentvolume-expander-controller", "persistentvolume-expander"),
    Entry("clusterrole-aggregation-controller", "clusterrole-aggregation", one(ClusterRoleAggregationController)),
    Entry("persistentvolumeclaim-protection-controller", "pvc-protection", one(PVCProtectionController)),
    Entry("persistentvolume-protection-controller", "pv-protection", one(PVProtectionController)),
    Entry(
        "volumeattributesclass-protection-controller",
        "",
        one(VolumeAttributesClassProtectionController),
        gates=("VolumeAttributesClass",),
    ),
    Entry("ttl-after-finished-controller", "ttl-after-finished", one(TTLAfterFinishedController)),
    Entry("root-ca-certificate-publisher-controller", "root-ca-cert-publisher", one(RootCACertPublisher)),
    Entry("kube-apiserver-serving-clustertrustbundle-publisher-controller", gates=("ClusterTrustBundle",)),
    Entry("ephemeral-volume-controller", "ephemeral-volume", one(EphemeralVolumeController)),
    Entry(
        "storageversion-garbage-collector-controller",
        "storage-version-gc",
        gates=("APIServerIdentity", "StorageVersionAPI"),
    ),
    Entry(
        "resourceclaim-controller",
        "resource-claim-controller",
        resource_claim.build,
        gates=("DynamicResourceAllocation",),
    ),
    Entry("resourcepoolstatusrequest-controller", gates=("DRAResourcePoolStatus",)),
    Entry(
        "device-taint-eviction-controller",
        build=device_taint_eviction.build,
        gates=("DynamicResourceAllocation", "DRADeviceTaints"),
    ),
    Entry("legacy-serviceaccount-token-cleaner-controller", "legacy-service-account-token-cleaner"),
    Entry("validatingadmissionpolicy-status-controller"),
    Entry("service-cidr-controller", "", one(ServiceCIDRController), gates=("MultiCIDRServiceAllocator",)),
    Entry("storage-version-migrator-controller", "svm", gates=("StorageVersionMigrator",)),
    Entry("fake-provisioner", "", one(FakeProvisioner)),  # differs: upstream has none
    Entry("selinux-warning-controller", gates=("SELinuxChangePolicy",), by_default=False),
)


def unknown(chosen: Sequence[str]) -> list[str]:
    """Return the entries of a `--controllers` list that name no controller."""
    names = {"*"}.union(*({entry.name, entry.alias} for entry in CONTROLLERS)) - {""}
    return [choice for choice in chosen if choice not in names and choice.removeprefix("-") not in names]


def build(setting: Setting) -> list[Controller]:
    """Return the controllers to run: selected, with their gates enabled, and implemented here."""
    chosen, capabilities = setting.options.controllers, setting.capabilities
    return [
        controller
        for entry in CONTROLLERS
        if entry.build is not None and entry.runs(chosen, capabilities)
        for controller in entry.build(setting)
    ]
