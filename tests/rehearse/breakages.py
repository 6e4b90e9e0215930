"""Breakages seeded from the release notes of 1.34 to 1.37: what a cluster has, and what a rehearsal has to find."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from mockkube.rehearse.findings import Topic
from tests.importing import realistic

Object = dict[str, Any]


@dataclass(frozen=True)
class Breakage:
    """One breakage: objects, gates and versions, and the finding that names it."""

    name: str
    # Heading of the release notes.
    source: str
    before: str
    after: str
    topic: Topic
    # Words of the finding.
    words: tuple[str, ...]
    objects: tuple[Object, ...] = ()
    gates: Mapping[str, bool] = field(default_factory=dict)
    new_gates: Mapping[str, bool] = field(default_factory=dict)
    breaks: bool = True


def make(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    metadata: Object = {"name": name, **rest.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def applied_as(api_version: str, obj: Object) -> Object:
    """Return an object whose manifest was applied in a version."""
    manifest = f'{{"apiVersion":"{api_version}","kind":"{obj["kind"]}"}}'
    changed = deepcopy(obj)
    changed["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": manifest}
    return changed


def managed_as(api_version: str, obj: Object) -> Object:
    """Return an object that a manager writes in a version."""
    changed = deepcopy(obj)
    changed["metadata"]["managedFields"] = [
        {
            "manager": "operator",
            "operation": "Update",
            "apiVersion": api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": {},
        }
    ]
    return changed


def make_static_pod(component: str, *arguments: str) -> Object:
    pod = realistic.make_pod(f"{component}-cp", "kube-system", ("v1", "Node", "cp"), {}, "cp")
    pod["metadata"]["labels"] = {"component": component, "tier": "control-plane"}
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "1"}
    pod["spec"]["containers"][0]["command"] = [component, *arguments]
    pod["spec"].pop("volumes")
    pod["spec"]["containers"][0].pop("volumeMounts")
    return pod


def make_config_map(name: str, **data: str) -> Object:
    return make("v1", "ConfigMap", name, metadata={"namespace": "kube-system"}, data=data)


def make_template_pod(**spec: Any) -> Object:
    pod = realistic.make_pod("p", "default", ("apps/v1", "ReplicaSet", "r"), {}, "w1")
    pod["spec"] |= spec
    return pod


def make_old_node() -> Object:
    node = realistic.make_node("old", "1.34")
    node["status"]["nodeInfo"]["osImage"] = "Amazon Linux 2"
    return node


POLICY = make(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicy",
    "policy",
    spec={
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
            ]
        },
        "validations": [{"expression": "true"}],
    },
)
ATTRIBUTES_CLASS = make(
    "storage.k8s.io/v1", "VolumeAttributesClass", "gold", driverName="example.dev", parameters={"a": "b"}
)
IP_ADDRESS = make(
    "networking.k8s.io/v1",
    "IPAddress",
    "10.96.0.9",
    spec={"parentRef": {"resource": "services", "namespace": "default", "name": "a"}},
)
SERVICE_CIDR = make("networking.k8s.io/v1", "ServiceCIDR", "more", spec={"cidrs": ["10.100.0.0/24"]})
DEVICE_CLASS = make("resource.k8s.io/v1beta1", "DeviceClass", "gpu", spec={})
WEBHOOK = make(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "hook",
    webhooks=[
        {
            "name": "hook.example.dev",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "matchPolicy": "Exact",
            "clientConfig": {"service": {"namespace": "default", "name": "hook"}},
            "rules": [
                {
                    "apiGroups": ["storage.k8s.io"],
                    "apiVersions": ["v1beta1"],
                    "operations": ["CREATE"],
                    "resources": ["volumeattributesclasses"],
                }
            ],
        }
    ],
)
BUDGET = make(
    "policy/v1",
    "PodDisruptionBudget",
    "budget",
    metadata={"namespace": "default"},
    spec={"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
)


def _gate(gate: str, after: str, *, on: bool, note: str, words: str) -> Breakage:
    before = f"1.{int(after[2:]) - 1}"
    return Breakage(f"gate {gate}={on}", note, before, after, Topic.COMPONENT, (gate, words), gates={gate: on})


BREAKAGES = (
    # APIs that are no longer served.
    Breakage("ValidatingAdmissionPolicy v1beta1, applied", "1.34: API Change", "1.33", "1.34", Topic.API,
             ("admissionregistration.k8s.io/v1beta1", "kubectl apply"),
             (applied_as("admissionregistration.k8s.io/v1beta1", POLICY),)),
    Breakage("ResourceClaims of v1alpha3, by a manager", "1.34: resource.k8s.io/v1alpha3 only has DeviceTaintRule",
             "1.33", "1.34", Topic.API, ("resource.k8s.io/v1alpha3", "operator"),
             (managed_as("resource.k8s.io/v1alpha3", DEVICE_CLASS),)),
    Breakage("VolumeAttributesClass v1alpha1, applied", "1.35: storage.k8s.io/v1alpha1 is removed", "1.34", "1.35",
             Topic.API, ("storage.k8s.io/v1alpha1",), (applied_as("storage.k8s.io/v1alpha1", ATTRIBUTES_CLASS),)),
    Breakage("VolumeAttributesClass v1beta1, by a manager", "1.37: Removed", "1.36", "1.37", Topic.API,
             ("storage.k8s.io/v1beta1", "operator"), (managed_as("storage.k8s.io/v1beta1", ATTRIBUTES_CLASS),)),
    Breakage("IPAddress v1beta1, by a manager", "1.37: Removed", "1.36", "1.37", Topic.API,
             ("networking.k8s.io/v1beta1", "IPAddress"), (managed_as("networking.k8s.io/v1beta1", IP_ADDRESS),)),
    Breakage("ServiceCIDR v1beta1, applied", "1.37: Removed", "1.36", "1.37", Topic.API,
             ("networking.k8s.io/v1beta1", "ServiceCIDR"), (applied_as("networking.k8s.io/v1beta1", SERVICE_CIDR),)),
    Breakage("webhook for v1beta1 only", "1.37: Removed", "1.36", "1.37", Topic.API,
             ("storage.k8s.io/v1beta1", "a rule"), (WEBHOOK,)),
    Breakage("Workload v1alpha1 is stored", "1.36: Workload v1alpha2 replaces v1alpha1", "1.35", "1.36", Topic.API,
             ("scheduling.k8s.io/v1alpha1", "Workload"),
             (make("scheduling.k8s.io/v1alpha1", "Workload", "job", metadata={"namespace": "default"},
                   spec={"podGroups": [{"name": "a", "policy": {"basic": {}}}]}),), {"GenericWorkload": True}),
    Breakage("StorageVersionMigration v1alpha1 is stored", "1.35: ACTION REQUIRED, remove v1alpha1 resources", "1.34",
             "1.35", Topic.API, ("storagemigration.k8s.io/v1alpha1",),
             (make("storagemigration.k8s.io/v1alpha1", "StorageVersionMigration", "move",
                   spec={"resource": {"group": "", "version": "v1", "resource": "secrets"}}),),
             {"StorageVersionMigrator": True}),
    # Gates that are removed or locked.
    _gate("PodDisruptionConditions", "1.34", on=True, note="1.34: cleanup", words="unrecognized feature gate"),
    _gate("OrderedNamespaceDeletion", "1.34", on=False, note="1.34: locked", words="locked"),
    _gate("StatefulSetAutoDeletePVC", "1.35", on=True, note="1.35: cleanup", words="unrecognized feature gate"),
    _gate("SupplementalGroupsPolicy", "1.35", on=False, note="1.35: locked", words="locked"),
    _gate("HonorPVReclaimPolicy", "1.36", on=True, note="1.36: removed", words="unrecognized feature gate"),
    _gate("MutableCSINodeAllocatableCount", "1.36", on=False, note="1.36: locked to enabled", words="locked"),
    _gate("SidecarContainers", "1.37", on=True, note="1.37: removed", words="unrecognized feature gate"),
    _gate("AnyVolumeDataSource", "1.37", on=True, note="1.37: removed", words="unrecognized feature gate"),
    _gate("HostnameOverride", "1.37", on=False, note="1.37: locked to enabled", words="locked"),
    _gate("DRAPrioritizedList", "1.37", on=False, note="1.37: locked to enabled", words="locked"),
    Breakage("a gate that never existed, in --gates", "command line", "1.36", "1.37", Topic.COMPONENT,
             ("NoSuchGate", "unrecognized feature gate"), new_gates={"NoSuchGate": True}),
    Breakage("a removed gate in the manifest of the API server", "1.37: removed", "1.36", "1.37", Topic.COMPONENT,
             ("BtreeWatchCache", "kube-apiserver"),
             (make_static_pod("kube-apiserver", "--feature-gates=BtreeWatchCache=true"),)),
    Breakage("a removed gate in the ConfigMap of the kubelets", "1.37: removed", "1.36", "1.37", Topic.COMPONENT,
             ("PreventStaticPodAPIReferences", "kubelet"),
             (make_config_map("kubelet-config", kubelet="featureGates:\n  PreventStaticPodAPIReferences: true\n"),)),
    Breakage("a removed flag of the controller manager", "1.37: --concurrent-service-syncs is removed", "1.36", "1.37",
             Topic.COMPONENT, ("--concurrent-service-syncs",),
             (make_static_pod("kube-controller-manager", "--concurrent-service-syncs=5"),)),
    # Stricter validation.
    Breakage("a NetworkPolicy with a CIDR of odd form", "1.36: StrictIPCIDRValidation is on by default", "1.35", "1.36",
             Topic.OBJECT, ("refused",),
             (make("networking.k8s.io/v1", "NetworkPolicy", "np", metadata={"namespace": "default"},
                   spec={"podSelector": {}, "policyTypes": ["Ingress"],
                         "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.5/8"}}]}]}),)),
    Breakage("a StatefulSet with an invalid pod template", "1.34: podSpec validation of StatefulSets", "1.33", "1.34",
             Topic.OBJECT, ("refused",),
             (make("apps/v1", "StatefulSet", "db", metadata={"namespace": "default"},
                   spec={"serviceName": "db", "selector": {"matchLabels": {"a": "b"}}, "template": {
                       "metadata": {"labels": {"a": "b"}},
                       "spec": {**realistic.make_pod_spec(), "containers": [
                           {**realistic.make_pod_spec()["containers"][0], "name": "Not_A_Name"}]}}}),)),
    Breakage("an image volume without a reference", "1.37: image.reference of templates must not be empty", "1.36",
             "1.37", Topic.OBJECT, ("refused",),
             (make("apps/v1", "Deployment", "web", metadata={"namespace": "default"},
                   spec={"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
                       "metadata": {"labels": {"a": "b"}},
                       "spec": {**realistic.make_pod_spec(), "volumes": [{"name": "v", "image": {}}]}}}),)),
    # Nodes.
    Breakage("nodes on cgroup v1", "1.35: failCgroupV1 is true", "1.34", "1.35", Topic.NODE, ("cgroup v1",),
             (make_old_node(),)),
    Breakage("a gitRepo volume", "1.36: GitRepoVolumeDriver is locked off", "1.35", "1.36", Topic.NODE, ("gitRepo",),
             (make_template_pod(volumes=[{"name": "v", "gitRepo": {"repository": "https://a.dev/"}}]),)),
    Breakage("a Portworx volume without its CSI driver", "1.36: CSIMigrationPortworx", "1.35", "1.36", Topic.NODE,
             ("pxd.portworx.com",),
             (make("v1", "PersistentVolume", "pv", spec={
                 "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                 "portworxVolume": {"volumeID": "1"}}),)),
    Breakage("a static pod that refers to a Secret", "1.34: Urgent Upgrade Notes", "1.33", "1.34", Topic.NODE,
             ("static pods",),
             ({**(static := make_static_pod("etcd")), "spec": {
                 **static["spec"], "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}},)),
    Breakage("kubeadm-config of v1beta3", "1.37: kubeadm v1beta3 is removed", "1.36", "1.37", Topic.COMPONENT,
             ("v1beta3",),
             (make_config_map("kubeadm-config", ClusterConfiguration="apiVersion: kubeadm.k8s.io/v1beta3"),)),
    # Drains and webhooks, which every upgrade meets.
    Breakage("a budget that allows nothing", "Safely drain a node", "1.36", "1.37", Topic.DRAIN,
             ("allows no disruption",),
             (*realistic.make_deployment("web", "default", 2, ("w1",)), BUDGET)),
    Breakage("a webhook without pods", "1.34 to 1.37: every API server writes through it", "1.36", "1.37",
             Topic.WEBHOOK, ("is not in the import",), (WEBHOOK,)),
    # Changes that break nothing by themselves.
    Breakage("maxUnavailable of StatefulSets", "1.37: MaxUnavailableStatefulSet is on", "1.36", "1.37", Topic.DEFAULT,
             ("maxUnavailable",),
             (make("apps/v1", "StatefulSet", "db", metadata={"namespace": "default"},
                   spec={"serviceName": "db", "selector": {"matchLabels": {"a": "b"}}, "updateStrategy": {
                       "type": "RollingUpdate", "rollingUpdate": {"partition": 0}}, "template": {
                       "metadata": {"labels": {"a": "b"}}, "spec": realistic.make_pod_spec()}}),),
             breaks=False),
    Breakage("SELinuxMount", "1.37: SELinuxMount is on", "1.36", "1.37", Topic.DEFAULT, ("SELinuxMount",),
             breaks=False),
    Breakage("kube-proxy in mode ipvs", "1.35: ipvs is deprecated", "1.34", "1.35", Topic.WARNING, ("ipvs",),
             (make_config_map("kube-proxy", **{"config.conf": "mode: ipvs\n"}),), breaks=False),
    Breakage("externalIPs of a Service", "1.36: externalIPs are deprecated", "1.35", "1.36", Topic.WARNING,
             ("externalIPs",),
             (make("v1", "Service", "s", metadata={"namespace": "default"},
                   spec={"type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                         "externalIPs": ["192.0.2.1"], "sessionAffinity": "None"}),), breaks=False),
)  # fmt: skip
