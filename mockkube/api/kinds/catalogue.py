"""Every kind with rules of its own, and the strategy that holds them. What is not here is plain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mockkube.api.kinds import admission_rules, crd_schemas, device_expressions
from mockkube.api.kinds.admission_policy import (
    AdmissionPolicyBindingStrategy,
    MutatingAdmissionPolicyBindingStrategy,
    MutatingAdmissionPolicyStrategy,
    ValidatingAdmissionPolicyStrategy,
)
from mockkube.api.kinds.admission_rules import PolicyExpressionCheck
from mockkube.api.kinds.api_service import APIServiceStrategy
from mockkube.api.kinds.certificate_signing_request import CertificateSigningRequestStrategy
from mockkube.api.kinds.cluster_trust_bundle import ClusterTrustBundleStrategy
from mockkube.api.kinds.config_map import ConfigMapStrategy
from mockkube.api.kinds.controller_revision import ControllerRevisionStrategy
from mockkube.api.kinds.crd_schemas import SchemaCheck
from mockkube.api.kinds.cron_job import CronJobStrategy
from mockkube.api.kinds.csi_driver import CSIDriverStrategy
from mockkube.api.kinds.csi_node import CSINodeStrategy
from mockkube.api.kinds.csi_storage_capacity import CSIStorageCapacityStrategy
from mockkube.api.kinds.custom_resource_definition import CustomResourceDefinitionStrategy
from mockkube.api.kinds.daemon_set import DaemonSetStrategy
from mockkube.api.kinds.deployment import DeploymentStrategy
from mockkube.api.kinds.device_class import DeviceClassStrategy
from mockkube.api.kinds.device_expressions import ExpressionCheck
from mockkube.api.kinds.device_taint_rule import DeviceTaintRuleStrategy
from mockkube.api.kinds.endpoint_slice import EndpointSliceStrategy
from mockkube.api.kinds.endpoints import EndpointsStrategy
from mockkube.api.kinds.event import EventsEventStrategy, EventStrategy
from mockkube.api.kinds.flow_control import FlowSchemaStrategy, PriorityLevelConfigurationStrategy
from mockkube.api.kinds.horizontal_pod_autoscaler import HorizontalPodAutoscalerStrategy
from mockkube.api.kinds.ingress import IngressStrategy
from mockkube.api.kinds.ingress_class import IngressClassStrategy
from mockkube.api.kinds.ip_address import IPAddressStrategy
from mockkube.api.kinds.job import JobStrategy
from mockkube.api.kinds.lease import LeaseCandidateStrategy, LeaseStrategy
from mockkube.api.kinds.limit_range import LimitRangeStrategy
from mockkube.api.kinds.namespace import NamespaceStrategy
from mockkube.api.kinds.network_policy import NetworkPolicyStrategy
from mockkube.api.kinds.node import NodeStrategy
from mockkube.api.kinds.persistent_volume import PersistentVolumeStrategy
from mockkube.api.kinds.persistent_volume_claim import PersistentVolumeClaimStrategy
from mockkube.api.kinds.pod import PodStrategy
from mockkube.api.kinds.pod_disruption_budget import PodDisruptionBudgetStrategy
from mockkube.api.kinds.pod_group import PodGroupStrategy
from mockkube.api.kinds.pod_template import PodTemplateStrategy
from mockkube.api.kinds.priority_class import PriorityClassStrategy
from mockkube.api.kinds.replica_set import ReplicaSetStrategy
from mockkube.api.kinds.replication_controller import ReplicationControllerStrategy
from mockkube.api.kinds.resource_claim import ResourceClaimStrategy, ResourceClaimTemplateStrategy
from mockkube.api.kinds.resource_quota import ResourceQuotaStrategy
from mockkube.api.kinds.resource_slice import ResourceSliceStrategy
from mockkube.api.kinds.role import ClusterRoleStrategy, RoleStrategy
from mockkube.api.kinds.role_binding import ClusterRoleBindingStrategy, RoleBindingStrategy
from mockkube.api.kinds.runtime_class import RuntimeClassStrategy
from mockkube.api.kinds.secret import SecretStrategy
from mockkube.api.kinds.service import ServiceStrategy
from mockkube.api.kinds.service_account import ServiceAccountStrategy
from mockkube.api.kinds.service_cidr import ServiceCIDRStrategy
from mockkube.api.kinds.stateful_set import StatefulSetStrategy
from mockkube.api.kinds.storage_class import StorageClassStrategy, VolumeAttributesClassStrategy
from mockkube.api.kinds.volume_attachment import VolumeAttachmentStrategy
from mockkube.api.kinds.webhook_configuration import MutatingWebhookConfigurationStrategy, WebhookConfigurationStrategy
from mockkube.api.kinds.workload import WorkloadStrategy
from mockkube.api.strategy import Strategy
from mockkube.api.validation.extensions import NO_EXTENSIONS, Extensions


@dataclass(frozen=True, slots=True)
class Hooks:
    """What rooms above lend to strategies: compilers of expressions, and what proposals add."""

    device_expression: ExpressionCheck = device_expressions.accept
    policy_expression: PolicyExpressionCheck = admission_rules.accept
    custom_schema: SchemaCheck = crd_schemas.accept
    extensions: Extensions = NO_EXTENSIONS


def strategies(hooks: Hooks) -> Mapping[tuple[str, str], Strategy]:
    """Return the strategy of each (group, kind) that has rules of its own."""
    return {
        ("", "ConfigMap"): ConfigMapStrategy(),
        ("", "Endpoints"): EndpointsStrategy(),
        ("", "Event"): EventStrategy(),
        ("", "LimitRange"): LimitRangeStrategy(),
        ("", "Namespace"): NamespaceStrategy(),
        ("", "Node"): NodeStrategy(),
        ("", "PersistentVolume"): PersistentVolumeStrategy(hooks.extensions),
        ("", "PersistentVolumeClaim"): PersistentVolumeClaimStrategy(),
        ("", "Pod"): PodStrategy(hooks.extensions),
        ("", "PodTemplate"): PodTemplateStrategy(hooks.extensions),
        ("", "ReplicationController"): ReplicationControllerStrategy(hooks.extensions),
        ("", "ResourceQuota"): ResourceQuotaStrategy(),
        ("", "Secret"): SecretStrategy(),
        ("", "Service"): ServiceStrategy(),
        ("", "ServiceAccount"): ServiceAccountStrategy(),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): MutatingAdmissionPolicyStrategy(
            hooks.policy_expression
        ),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): MutatingAdmissionPolicyBindingStrategy(),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): MutatingWebhookConfigurationStrategy(
            hooks.policy_expression
        ),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): ValidatingAdmissionPolicyStrategy(
            hooks.policy_expression
        ),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): AdmissionPolicyBindingStrategy(),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): WebhookConfigurationStrategy(
            hooks.policy_expression
        ),
        ("apiextensions.k8s.io", "CustomResourceDefinition"): CustomResourceDefinitionStrategy(hooks.custom_schema),
        ("apiregistration.k8s.io", "APIService"): APIServiceStrategy(),
        ("apps", "ControllerRevision"): ControllerRevisionStrategy(),
        ("apps", "DaemonSet"): DaemonSetStrategy(hooks.extensions),
        ("apps", "Deployment"): DeploymentStrategy(hooks.extensions),
        ("apps", "ReplicaSet"): ReplicaSetStrategy(hooks.extensions),
        ("apps", "StatefulSet"): StatefulSetStrategy(hooks.extensions),
        ("autoscaling", "HorizontalPodAutoscaler"): HorizontalPodAutoscalerStrategy(),
        ("batch", "CronJob"): CronJobStrategy(hooks.extensions),
        ("batch", "Job"): JobStrategy(hooks.extensions),
        ("certificates.k8s.io", "CertificateSigningRequest"): CertificateSigningRequestStrategy(),
        ("certificates.k8s.io", "ClusterTrustBundle"): ClusterTrustBundleStrategy(),
        ("coordination.k8s.io", "Lease"): LeaseStrategy(),
        ("coordination.k8s.io", "LeaseCandidate"): LeaseCandidateStrategy(),
        ("discovery.k8s.io", "EndpointSlice"): EndpointSliceStrategy(),
        ("events.k8s.io", "Event"): EventsEventStrategy(),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"): FlowSchemaStrategy(),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): PriorityLevelConfigurationStrategy(),
        ("networking.k8s.io", "IPAddress"): IPAddressStrategy(),
        ("networking.k8s.io", "Ingress"): IngressStrategy(),
        ("networking.k8s.io", "IngressClass"): IngressClassStrategy(),
        ("networking.k8s.io", "NetworkPolicy"): NetworkPolicyStrategy(),
        ("networking.k8s.io", "ServiceCIDR"): ServiceCIDRStrategy(),
        ("node.k8s.io", "RuntimeClass"): RuntimeClassStrategy(),
        ("policy", "PodDisruptionBudget"): PodDisruptionBudgetStrategy(),
        ("rbac.authorization.k8s.io", "ClusterRole"): ClusterRoleStrategy(),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ClusterRoleBindingStrategy(),
        ("rbac.authorization.k8s.io", "Role"): RoleStrategy(),
        ("rbac.authorization.k8s.io", "RoleBinding"): RoleBindingStrategy(),
        ("resource.k8s.io", "DeviceClass"): DeviceClassStrategy(hooks.device_expression),
        ("resource.k8s.io", "DeviceTaintRule"): DeviceTaintRuleStrategy(),
        ("resource.k8s.io", "ResourceClaim"): ResourceClaimStrategy(hooks.device_expression, hooks.extensions),
        ("resource.k8s.io", "ResourceClaimTemplate"): ResourceClaimTemplateStrategy(
            hooks.device_expression, hooks.extensions
        ),
        ("resource.k8s.io", "ResourceSlice"): ResourceSliceStrategy(),
        ("scheduling.k8s.io", "PodGroup"): PodGroupStrategy(),
        ("scheduling.k8s.io", "PriorityClass"): PriorityClassStrategy(),
        ("scheduling.k8s.io", "Workload"): WorkloadStrategy(),
        ("storage.k8s.io", "CSIDriver"): CSIDriverStrategy(),
        ("storage.k8s.io", "CSINode"): CSINodeStrategy(),
        ("storage.k8s.io", "CSIStorageCapacity"): CSIStorageCapacityStrategy(),
        ("storage.k8s.io", "StorageClass"): StorageClassStrategy(),
        ("storage.k8s.io", "VolumeAttachment"): VolumeAttachmentStrategy(),
        ("storage.k8s.io", "VolumeAttributesClass"): VolumeAttributesClassStrategy(),
    }


STRATEGIES: Final = strategies(Hooks())
"""The strategies with nothing lent: expressions are not compiled."""
