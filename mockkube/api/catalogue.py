"""Every built-in kind: names, scope, verbs, versions and subresources.

A literal table: to serve another kind, add its row. Which versions exist at a Kubernetes version is known by the
schemas; of those, stable ones are served and the others only when asked for (`--runtime-config`).
"""

import re
from dataclasses import dataclass
from typing import Final

ALL: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE: Final = ("create",)
_CHANGE: Final = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object, or an action on it, with a path and verbs of its own."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group_version: str = ""
    """Where the kind of the body lives, when not with the resource itself."""


STATUS: Final = Subresource("status", "", _CHANGE)
SCALE: Final = Subresource("scale", "Scale", _CHANGE, "autoscaling/v1")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind. Its versions are listed in the order discovery prefers."""

    group: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL
    versions: tuple[str, ...] = ("v1",)
    subresources: tuple[Subresource, ...] = ()
    deprecation: str = ""
    """The warning that comes with every answer."""
    stored_as: tuple[str, str] | None = None
    """Group and plural under which the objects are stored, when another kind shares them."""

    @property
    def list_kind(self) -> str:
        """The kind of a collection."""
        return f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        """The subresource with this name, if there is one."""
        return next((one for one in self.subresources if one.name == name), None)


def stable(version: str) -> bool:
    """Whether a version of a group is served without being asked for."""
    return re.fullmatch(r"v\d+", version) is not None


KINDS: Final = (
    # core
    Kind("", "Binding", "bindings", verbs=CREATE),
    Kind(
        "",
        "ComponentStatus",
        "componentstatuses",
        namespaced=False,
        short_names=("cs",),
        verbs=("get", "list"),
        deprecation="v1 ComponentStatus is deprecated in v1.19+",
    ),
    Kind("", "ConfigMap", "configmaps", short_names=("cm",)),
    Kind(
        "",
        "Endpoints",
        "endpoints",
        short_names=("ep",),
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    Kind("", "Event", "events", short_names=("ev",)),
    Kind("", "LimitRange", "limitranges", short_names=("limits",)),
    Kind(
        "",
        "Namespace",
        "namespaces",
        namespaced=False,
        short_names=("ns",),
        verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
        subresources=(Subresource("finalize", "Namespace", ("update",)), STATUS),
    ),
    Kind(
        "",
        "Node",
        "nodes",
        namespaced=False,
        short_names=("no",),
        subresources=(Subresource("proxy", "NodeProxyOptions", ("create", "delete", "get", "patch", "update")), STATUS),
    ),
    Kind("", "PersistentVolumeClaim", "persistentvolumeclaims", short_names=("pvc",), subresources=(STATUS,)),
    Kind("", "PersistentVolume", "persistentvolumes", namespaced=False, short_names=("pv",), subresources=(STATUS,)),
    Kind(
        "",
        "Pod",
        "pods",
        short_names=("po",),
        categories=("all",),
        subresources=(
            Subresource("attach", "PodAttachOptions", ("create", "get")),
            Subresource("binding", "Binding", ("create",)),
            Subresource("ephemeralcontainers", "Pod", ("get", "patch", "update")),
            Subresource("eviction", "Eviction", ("create",), "policy/v1"),
            Subresource("exec", "PodExecOptions", ("create", "get")),
            Subresource("log", "Pod", ("get",)),
            Subresource("portforward", "PodPortForwardOptions", ("create", "get")),
            Subresource("proxy", "PodProxyOptions", ("create", "delete", "get", "patch", "update")),
            Subresource("resize", "Pod", ("get", "patch", "update")),
            STATUS,
        ),
    ),
    Kind("", "PodTemplate", "podtemplates"),
    Kind(
        "",
        "ReplicationController",
        "replicationcontrollers",
        short_names=("rc",),
        categories=("all",),
        subresources=(SCALE, STATUS),
    ),
    Kind("", "ResourceQuota", "resourcequotas", short_names=("quota",), subresources=(STATUS,)),
    Kind("", "Secret", "secrets"),
    Kind(
        "",
        "ServiceAccount",
        "serviceaccounts",
        short_names=("sa",),
        subresources=(Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io/v1"),),
    ),
    Kind(
        "",
        "Service",
        "services",
        short_names=("svc",),
        categories=("all",),
        subresources=(
            Subresource("proxy", "ServiceProxyOptions", ("create", "delete", "get", "patch", "update")),
            STATUS,
        ),
    ),
    # apiregistration.k8s.io
    Kind(
        "apiregistration.k8s.io",
        "APIService",
        "apiservices",
        namespaced=False,
        categories=("api-extensions",),
        subresources=(STATUS,),
    ),
    # apps
    Kind("apps", "ControllerRevision", "controllerrevisions"),
    Kind("apps", "DaemonSet", "daemonsets", short_names=("ds",), categories=("all",), subresources=(STATUS,)),
    Kind(
        "apps", "Deployment", "deployments", short_names=("deploy",), categories=("all",), subresources=(SCALE, STATUS)
    ),
    Kind("apps", "ReplicaSet", "replicasets", short_names=("rs",), categories=("all",), subresources=(SCALE, STATUS)),
    Kind(
        "apps", "StatefulSet", "statefulsets", short_names=("sts",), categories=("all",), subresources=(SCALE, STATUS)
    ),
    # events.k8s.io
    Kind("events.k8s.io", "Event", "events", short_names=("ev",), stored_as=("", "events")),
    # authentication.k8s.io
    Kind("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", namespaced=False, verbs=CREATE),
    Kind("authentication.k8s.io", "TokenReview", "tokenreviews", namespaced=False, verbs=CREATE),
    # authorization.k8s.io
    Kind("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=CREATE),
    Kind("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False, verbs=CREATE),
    Kind("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False, verbs=CREATE),
    Kind("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", namespaced=False, verbs=CREATE),
    # autoscaling
    Kind(
        "autoscaling",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        short_names=("hpa",),
        categories=("all",),
        versions=("v2", "v1"),
        subresources=(STATUS,),
    ),
    # batch
    Kind("batch", "CronJob", "cronjobs", short_names=("cj",), categories=("all",), subresources=(STATUS,)),
    Kind("batch", "Job", "jobs", categories=("all",), subresources=(STATUS,)),
    # certificates.k8s.io
    Kind(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        namespaced=False,
        short_names=("csr",),
        subresources=(Subresource("approval", "CertificateSigningRequest", ("get", "patch", "update")), STATUS),
    ),
    Kind(
        "certificates.k8s.io",
        "ClusterTrustBundle",
        "clustertrustbundles",
        namespaced=False,
        versions=("v1", "v1beta1", "v1alpha1"),
    ),
    Kind(
        "certificates.k8s.io",
        "PodCertificateRequest",
        "podcertificaterequests",
        versions=("v1", "v1beta1", "v1alpha1"),
        subresources=(STATUS,),
    ),
    # networking.k8s.io
    Kind("networking.k8s.io", "IngressClass", "ingressclasses", namespaced=False),
    Kind("networking.k8s.io", "Ingress", "ingresses", short_names=("ing",), subresources=(STATUS,)),
    Kind(
        "networking.k8s.io",
        "IPAddress",
        "ipaddresses",
        namespaced=False,
        short_names=("ip",),
        versions=("v1", "v1beta1"),
    ),
    Kind("networking.k8s.io", "NetworkPolicy", "networkpolicies", short_names=("netpol",)),
    Kind(
        "networking.k8s.io",
        "ServiceCIDR",
        "servicecidrs",
        namespaced=False,
        versions=("v1", "v1beta1"),
        subresources=(STATUS,),
    ),
    # policy
    Kind("policy", "PodDisruptionBudget", "poddisruptionbudgets", short_names=("pdb",), subresources=(STATUS,)),
    # rbac.authorization.k8s.io
    Kind("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    Kind("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", namespaced=False),
    Kind("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
    Kind("rbac.authorization.k8s.io", "Role", "roles"),
    # storage.k8s.io
    Kind("storage.k8s.io", "CSIDriver", "csidrivers", namespaced=False),
    Kind("storage.k8s.io", "CSINode", "csinodes", namespaced=False, subresources=(STATUS,)),
    Kind("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities"),
    Kind("storage.k8s.io", "StorageClass", "storageclasses", namespaced=False, short_names=("sc",)),
    Kind("storage.k8s.io", "VolumeAttachment", "volumeattachments", namespaced=False, subresources=(STATUS,)),
    Kind(
        "storage.k8s.io",
        "VolumeAttributesClass",
        "volumeattributesclasses",
        namespaced=False,
        short_names=("vac",),
        versions=("v1", "v1beta1", "v1alpha1"),
    ),
    # admissionregistration.k8s.io
    Kind(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        namespaced=False,
        categories=("api-extensions",),
        versions=("v1", "v1beta1", "v1alpha1"),
    ),
    Kind(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        namespaced=False,
        categories=("api-extensions",),
        versions=("v1", "v1beta1", "v1alpha1"),
    ),
    Kind(
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        namespaced=False,
        categories=("api-extensions",),
    ),
    Kind(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        namespaced=False,
        categories=("api-extensions",),
        versions=("v1", "v1beta1"),
        subresources=(STATUS,),
    ),
    Kind(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        namespaced=False,
        categories=("api-extensions",),
        versions=("v1", "v1beta1"),
    ),
    Kind(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
        categories=("api-extensions",),
    ),
    # apiextensions.k8s.io
    Kind(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        namespaced=False,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=(STATUS,),
    ),
    # scheduling.k8s.io
    Kind("scheduling.k8s.io", "PriorityClass", "priorityclasses", namespaced=False, short_names=("pc",)),
    Kind(
        "scheduling.k8s.io",
        "PodGroup",
        "podgroups",
        versions=("v1beta1", "v1alpha3", "v1alpha2"),
        subresources=(STATUS,),
    ),
    Kind("scheduling.k8s.io", "Workload", "workloads", versions=("v1beta1", "v1alpha3", "v1alpha2", "v1alpha1")),
    # coordination.k8s.io
    Kind("coordination.k8s.io", "Lease", "leases"),
    Kind("coordination.k8s.io", "LeaseCandidate", "leasecandidates", versions=("v1beta1", "v1alpha2")),
    # node.k8s.io
    Kind("node.k8s.io", "RuntimeClass", "runtimeclasses", namespaced=False),
    # discovery.k8s.io
    Kind("discovery.k8s.io", "EndpointSlice", "endpointslices"),
    # resource.k8s.io
    Kind(
        "resource.k8s.io",
        "DeviceClass",
        "deviceclasses",
        namespaced=False,
        versions=("v1", "v1beta2", "v1beta1", "v1alpha3"),
    ),
    Kind(
        "resource.k8s.io",
        "ResourceClaim",
        "resourceclaims",
        versions=("v1", "v1beta2", "v1beta1", "v1alpha3"),
        subresources=(STATUS,),
    ),
    Kind(
        "resource.k8s.io",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        versions=("v1", "v1beta2", "v1beta1", "v1alpha3"),
    ),
    Kind(
        "resource.k8s.io",
        "ResourceSlice",
        "resourceslices",
        namespaced=False,
        versions=("v1", "v1beta2", "v1beta1", "v1alpha3"),
    ),
    Kind(
        "resource.k8s.io",
        "DeviceTaintRule",
        "devicetaintrules",
        namespaced=False,
        versions=("v1", "v1beta2", "v1alpha3"),
        subresources=(STATUS,),
    ),
    Kind(
        "resource.k8s.io",
        "ResourcePoolStatusRequest",
        "resourcepoolstatusrequests",
        namespaced=False,
        versions=("v1alpha3",),
        subresources=(STATUS,),
    ),
    # flowcontrol.apiserver.k8s.io
    Kind("flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschemas", namespaced=False, subresources=(STATUS,)),
    Kind(
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        namespaced=False,
        subresources=(STATUS,),
    ),
    # internal.apiserver.k8s.io
    Kind(
        "internal.apiserver.k8s.io",
        "StorageVersion",
        "storageversions",
        namespaced=False,
        versions=("v1alpha1",),
        subresources=(STATUS,),
    ),
    # storagemigration.k8s.io
    Kind(
        "storagemigration.k8s.io",
        "StorageVersionMigration",
        "storageversionmigrations",
        namespaced=False,
        versions=("v1", "v1beta1", "v1alpha1"),
        subresources=(STATUS,),
    ),
    # scheduling.k8s.io
    Kind(
        "scheduling.k8s.io", "CompositePodGroup", "compositepodgroups", versions=("v1alpha3",), subresources=(STATUS,)
    ),
    # lifecycle.k8s.io
    Kind("lifecycle.k8s.io", "EvictionRequest", "evictionrequests", versions=("v1alpha1",), subresources=(STATUS,)),
    Kind("lifecycle.k8s.io", "Eviction", "evictions", versions=("v1alpha1",), subresources=(STATUS,)),
)
