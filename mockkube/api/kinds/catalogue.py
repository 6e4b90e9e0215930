"""Every kind with rules of its own, and the strategy that holds them. What is not here is plain.

The table names the classes instead of importing them: a server begins with a handful of kinds, and a strategy and
the validation behind it are read when the first object of its kind comes by.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from mockkube.api.kinds.admissionregistration import admission_rules
from mockkube.api.kinds.admissionregistration.admission_rules import PolicyExpressionCheck
from mockkube.api.kinds.apiextensions import crd_schemas
from mockkube.api.kinds.apiextensions.crd_schemas import SchemaCheck
from mockkube.api.kinds.resource import device_expressions
from mockkube.api.kinds.resource.device_expressions import ExpressionCheck
from mockkube.api.object_rules import NO_RULES, ObjectRules, with_rules
from mockkube.api.strategy import Strategy
from mockkube.api.validation.extensions import NO_EXTENSIONS, Extensions


@dataclass(frozen=True, slots=True)
class Hooks:
    """What rooms above lend to strategies: compilers of expressions, and what proposals add to items and objects."""

    device_expression: ExpressionCheck = device_expressions.accept
    policy_expression: PolicyExpressionCheck = admission_rules.accept
    custom_schema: SchemaCheck = crd_schemas.accept
    extensions: Extensions = NO_EXTENSIONS
    objects: ObjectRules = NO_RULES


@dataclass(frozen=True, slots=True)
class Entry:
    """A kind, and where its strategy is: the module in this room, and the class."""

    group: str
    kind: str
    strategy: str
    lends: tuple[str, ...] = ()
    """The hooks it is made with, in the order of its arguments."""


ENTRIES: Final = (
    Entry("", "ConfigMap", "core.config_map.ConfigMapStrategy"),
    Entry("", "Endpoints", "core.endpoints.EndpointsStrategy"),
    Entry("", "Event", "core.event.EventStrategy"),
    Entry("", "LimitRange", "core.limit_range.LimitRangeStrategy"),
    Entry("", "Namespace", "core.namespace.NamespaceStrategy"),
    Entry("", "Node", "core.node.NodeStrategy"),
    Entry("", "PersistentVolume", "core.persistent_volume.PersistentVolumeStrategy", lends=("extensions",)),
    Entry("", "PersistentVolumeClaim", "core.persistent_volume_claim.PersistentVolumeClaimStrategy"),
    Entry("", "Pod", "core.pod.pod.PodStrategy", lends=("extensions",)),
    Entry("", "PodTemplate", "core.pod_template.PodTemplateStrategy", lends=("extensions",)),
    Entry(
        "", "ReplicationController", "core.replication_controller.ReplicationControllerStrategy", lends=("extensions",)
    ),
    Entry("", "ResourceQuota", "core.resource_quota.ResourceQuotaStrategy"),
    Entry("", "Secret", "core.secret.SecretStrategy"),
    Entry("", "Service", "core.service.service.ServiceStrategy"),
    Entry("", "ServiceAccount", "core.service_account.ServiceAccountStrategy"),
    Entry(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "admissionregistration.admission_policy.MutatingAdmissionPolicyStrategy",
        lends=("policy_expression",),
    ),
    Entry(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        "admissionregistration.admission_policy.MutatingAdmissionPolicyBindingStrategy",
    ),
    Entry(
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        "admissionregistration.webhook_configuration.MutatingWebhookConfigurationStrategy",
        lends=("policy_expression",),
    ),
    Entry(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "admissionregistration.admission_policy.ValidatingAdmissionPolicyStrategy",
        lends=("policy_expression",),
    ),
    Entry(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "admissionregistration.admission_policy.AdmissionPolicyBindingStrategy",
    ),
    Entry(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "admissionregistration.webhook_configuration.WebhookConfigurationStrategy",
        lends=("policy_expression",),
    ),
    Entry(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "apiextensions.custom_resource_definition.CustomResourceDefinitionStrategy",
        lends=("custom_schema",),
    ),
    Entry("apiregistration.k8s.io", "APIService", "apiregistration.api_service.APIServiceStrategy"),
    Entry("apps", "ControllerRevision", "apps.controller_revision.ControllerRevisionStrategy"),
    Entry("apps", "DaemonSet", "apps.daemon_set.DaemonSetStrategy", lends=("extensions",)),
    Entry("apps", "Deployment", "apps.deployment.DeploymentStrategy", lends=("extensions",)),
    Entry("apps", "ReplicaSet", "apps.replica_set.ReplicaSetStrategy", lends=("extensions",)),
    Entry("apps", "StatefulSet", "apps.stateful_set.StatefulSetStrategy", lends=("extensions",)),
    Entry(
        "autoscaling",
        "HorizontalPodAutoscaler",
        "autoscaling.horizontal_pod_autoscaler.HorizontalPodAutoscalerStrategy",
    ),
    Entry("batch", "CronJob", "batch.cron_job.CronJobStrategy", lends=("extensions",)),
    Entry("batch", "Job", "batch.job.JobStrategy", lends=("extensions",)),
    Entry(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "certificates.certificate_signing_request.CertificateSigningRequestStrategy",
    ),
    Entry("certificates.k8s.io", "ClusterTrustBundle", "certificates.cluster_trust_bundle.ClusterTrustBundleStrategy"),
    Entry("coordination.k8s.io", "Lease", "coordination.lease.LeaseStrategy"),
    Entry("coordination.k8s.io", "LeaseCandidate", "coordination.lease.LeaseCandidateStrategy"),
    Entry("discovery.k8s.io", "EndpointSlice", "discovery.endpoint_slice.EndpointSliceStrategy"),
    Entry("events.k8s.io", "Event", "core.event.EventsEventStrategy"),
    Entry("flowcontrol.apiserver.k8s.io", "FlowSchema", "flowcontrol.flow_control.FlowSchemaStrategy"),
    Entry(
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        "flowcontrol.flow_control.PriorityLevelConfigurationStrategy",
    ),
    Entry("networking.k8s.io", "IPAddress", "networking.ip_address.IPAddressStrategy"),
    Entry("networking.k8s.io", "Ingress", "networking.ingress.IngressStrategy"),
    Entry("networking.k8s.io", "IngressClass", "networking.ingress_class.IngressClassStrategy"),
    Entry("networking.k8s.io", "NetworkPolicy", "networking.network_policy.NetworkPolicyStrategy"),
    Entry("networking.k8s.io", "ServiceCIDR", "networking.service_cidr.ServiceCIDRStrategy"),
    Entry("node.k8s.io", "RuntimeClass", "node.runtime_class.RuntimeClassStrategy", lends=("extensions",)),
    Entry("policy", "PodDisruptionBudget", "policy.pod_disruption_budget.PodDisruptionBudgetStrategy"),
    Entry("rbac.authorization.k8s.io", "ClusterRole", "rbac.role.ClusterRoleStrategy"),
    Entry("rbac.authorization.k8s.io", "ClusterRoleBinding", "rbac.role_binding.ClusterRoleBindingStrategy"),
    Entry("rbac.authorization.k8s.io", "Role", "rbac.role.RoleStrategy"),
    Entry("rbac.authorization.k8s.io", "RoleBinding", "rbac.role_binding.RoleBindingStrategy"),
    Entry("resource.k8s.io", "DeviceClass", "resource.device_class.DeviceClassStrategy", lends=("device_expression",)),
    Entry("resource.k8s.io", "DeviceTaintRule", "resource.device_taint_rule.DeviceTaintRuleStrategy"),
    Entry(
        "resource.k8s.io",
        "ResourceClaim",
        "resource.resource_claim.ResourceClaimStrategy",
        lends=("device_expression", "extensions"),
    ),
    Entry(
        "resource.k8s.io",
        "ResourceClaimTemplate",
        "resource.resource_claim.ResourceClaimTemplateStrategy",
        lends=("device_expression", "extensions"),
    ),
    Entry("resource.k8s.io", "ResourceSlice", "resource.resource_slice.ResourceSliceStrategy"),
    Entry("scheduling.k8s.io", "PodGroup", "scheduling.pod_group.PodGroupStrategy"),
    Entry("scheduling.k8s.io", "PriorityClass", "scheduling.priority_class.PriorityClassStrategy"),
    Entry("scheduling.k8s.io", "Workload", "scheduling.workload.WorkloadStrategy"),
    Entry("storage.k8s.io", "CSIDriver", "storage.csi_driver.CSIDriverStrategy"),
    Entry("storage.k8s.io", "CSINode", "storage.csi_node.CSINodeStrategy"),
    Entry("storage.k8s.io", "CSIStorageCapacity", "storage.csi_storage_capacity.CSIStorageCapacityStrategy"),
    Entry("storage.k8s.io", "StorageClass", "storage.storage_class.StorageClassStrategy"),
    Entry("storage.k8s.io", "VolumeAttachment", "storage.volume_attachment.VolumeAttachmentStrategy"),
    Entry("storage.k8s.io", "VolumeAttributesClass", "storage.storage_class.VolumeAttributesClassStrategy"),
)

_BY_KIND: Final = {(entry.group, entry.kind): entry for entry in ENTRIES}


class Strategies(Mapping[tuple[str, str], Strategy]):
    """The strategy of each (group, kind) that has rules of its own, made when first asked for."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._made: dict[tuple[str, str], Strategy] = {}

    def __getitem__(self, key: tuple[str, str]) -> Strategy:
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(_BY_KIND)

    def __len__(self) -> int:
        return len(_BY_KIND)

    def _make(self, key: tuple[str, str]) -> Strategy:
        rules = self._hooks.objects.of_kind(key)
        entry = _BY_KIND.get(key)
        if entry is None and rules is None:
            raise KeyError(key)
        strategy = Strategy() if entry is None else self._own(entry)  # a plain kind has no class of its own
        return strategy if rules is None else with_rules(strategy, rules)

    def _own(self, entry: Entry) -> Strategy:
        module, _, name = entry.strategy.rpartition(".")
        strategy: Strategy = getattr(import_module(f"mockkube.api.kinds.{module}"), name)(
            *(getattr(self._hooks, lent) for lent in entry.lends)
        )
        return strategy


def strategies(hooks: Hooks) -> Mapping[tuple[str, str], Strategy]:
    """Return the strategy of each (group, kind) that has rules of its own."""
    return Strategies(hooks)


STRATEGIES: Final = strategies(Hooks())
"""The strategies with nothing lent: expressions are not compiled."""
