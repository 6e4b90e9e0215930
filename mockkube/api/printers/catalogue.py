"""Printers by group and kind.

The table names printers instead of importing them: each is imported for the first table of its kind.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib import import_module
from typing import Final

from mockkube.api.printers.reading import name_of, string
from mockkube.api.printers.table import NAME, Cell, Column, Printer
from mockkube.api.types import ReadOnlyObject

_NEVER = "0001-01-01T00:00:00Z"


def _default_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    return [name_of(obj), string(obj, "metadata", "creationTimestamp", missing=_NEVER)]


DEFAULT: Final = Printer(
    (NAME, Column("Created At", "date", description="When the object was created.")),
    _default_cells,
)
"""Printer of kinds without their own, such as limit ranges, roles and custom resource definitions."""

_PLACES: Final[Mapping[tuple[str, str], str]] = {
    ("", "ComponentStatus"): "core.COMPONENT_STATUS",
    ("", "ConfigMap"): "core.CONFIG_MAP",
    ("", "Endpoints"): "services.ENDPOINTS",
    ("", "Event"): "events.EVENT",
    ("", "Namespace"): "core.NAMESPACE",
    ("", "Node"): "nodes.NODE",
    ("", "PersistentVolume"): "volumes.PERSISTENT_VOLUME",
    ("", "PersistentVolumeClaim"): "volumes.PERSISTENT_VOLUME_CLAIM",
    ("", "Pod"): "pods.POD",
    ("", "PodTemplate"): "pods.POD_TEMPLATE",
    ("", "ReplicationController"): "apps.REPLICATION_CONTROLLER",
    ("", "ResourceQuota"): "core.RESOURCE_QUOTA",
    ("", "Secret"): "core.SECRET",
    ("", "Service"): "services.SERVICE",
    ("", "ServiceAccount"): "core.PLAIN",
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): "admission.MUTATING_POLICY",
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): "admission.POLICY_BINDING",
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "admission.WEBHOOK_CONFIGURATION",
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): "admission.VALIDATING_POLICY",
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): "admission.POLICY_BINDING",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "admission.WEBHOOK_CONFIGURATION",
    ("apiregistration.k8s.io", "APIService"): "apiregistration.API_SERVICE",
    ("apps", "ControllerRevision"): "apps.CONTROLLER_REVISION",
    ("apps", "DaemonSet"): "apps.DAEMON_SET",
    ("apps", "Deployment"): "apps.DEPLOYMENT",
    ("apps", "ReplicaSet"): "apps.REPLICA_SET",
    ("apps", "StatefulSet"): "apps.STATEFUL_SET",
    ("autoscaling", "HorizontalPodAutoscaler"): "autoscaling.HORIZONTAL_POD_AUTOSCALER",
    ("autoscaling", "Scale"): "autoscaling.SCALE",
    ("batch", "CronJob"): "batch.CRON_JOB",
    ("batch", "Job"): "batch.JOB",
    ("certificates.k8s.io", "CertificateSigningRequest"): "certificates.CERTIFICATE_SIGNING_REQUEST",
    ("certificates.k8s.io", "ClusterTrustBundle"): "certificates.CLUSTER_TRUST_BUNDLE",
    ("certificates.k8s.io", "PodCertificateRequest"): "certificates.POD_CERTIFICATE_REQUEST",
    ("coordination.k8s.io", "Lease"): "coordination.LEASE",
    ("coordination.k8s.io", "LeaseCandidate"): "coordination.LEASE_CANDIDATE",
    ("discovery.k8s.io", "EndpointSlice"): "services.ENDPOINT_SLICE",
    ("events.k8s.io", "Event"): "events.EVENT",
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): "flowcontrol.FLOW_SCHEMA",
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): "flowcontrol.PRIORITY_LEVEL",
    ("internal.apiserver.k8s.io", "StorageVersion"): "storage_versions.STORAGE_VERSION",
    ("networking.k8s.io", "IPAddress"): "networking.IP_ADDRESS",
    ("networking.k8s.io", "Ingress"): "networking.INGRESS",
    ("networking.k8s.io", "IngressClass"): "networking.INGRESS_CLASS",
    ("networking.k8s.io", "NetworkPolicy"): "networking.NETWORK_POLICY",
    ("networking.k8s.io", "ServiceCIDR"): "networking.SERVICE_CIDR",
    ("node.k8s.io", "RuntimeClass"): "nodes.RUNTIME_CLASS",
    ("policy", "PodDisruptionBudget"): "policy.POD_DISRUPTION_BUDGET",
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): "rbac.BINDING",
    ("rbac.authorization.k8s.io", "RoleBinding"): "rbac.BINDING",
    ("resource.k8s.io", "DeviceClass"): "core.PLAIN",
    ("resource.k8s.io", "DeviceTaintRule"): "resource.DEVICE_TAINT_RULE",
    ("resource.k8s.io", "ResourceClaim"): "resource.RESOURCE_CLAIM",
    ("resource.k8s.io", "ResourceClaimTemplate"): "core.PLAIN",
    ("resource.k8s.io", "ResourcePoolStatusRequest"): "resource.RESOURCE_POOL_STATUS_REQUEST",
    ("resource.k8s.io", "ResourceSlice"): "resource.RESOURCE_SLICE",
    ("scheduling.k8s.io", "PodGroup"): "scheduling.POD_GROUP",
    ("scheduling.k8s.io", "PriorityClass"): "scheduling.PRIORITY_CLASS",
    ("scheduling.k8s.io", "Workload"): "core.PLAIN",
    ("storage.k8s.io", "CSIDriver"): "storage.CSI_DRIVER",
    ("storage.k8s.io", "CSINode"): "storage.CSI_NODE",
    ("storage.k8s.io", "StorageClass"): "storage.STORAGE_CLASS",
    ("storage.k8s.io", "VolumeAttachment"): "storage.VOLUME_ATTACHMENT",
    ("storage.k8s.io", "VolumeAttributesClass"): "storage.VOLUME_ATTRIBUTES_CLASS",
    ("storagemigration.k8s.io", "StorageVersionMigration"): "storage_versions.STORAGE_VERSION_MIGRATION",
}


class Printers(Mapping[tuple[str, str], Printer]):
    """Printers of the kinds that have their own, imported on first use."""

    def __getitem__(self, key: tuple[str, str]) -> Printer:
        module, _, name_of = _PLACES[key].partition(".")
        printer = getattr(import_module(f"mockkube.api.printers.{module}"), name_of)
        assert isinstance(printer, Printer)
        return printer

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


PRINTERS: Final = Printers()


def printer_of(group: str, kind: str) -> Printer:
    """Return the printer of a stored built-in kind."""
    return PRINTERS.get((group, kind), DEFAULT)
