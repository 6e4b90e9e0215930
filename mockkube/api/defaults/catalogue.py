"""Defaulting functions by group, version and kind."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from mockkube.api.defaults import (
    admissionregistration,
    apps,
    autoscaling,
    batch,
    claims,
    core,
    device_taints,
    devices,
    extensions,
    flowcontrol,
    identity,
    networking,
    rbac,
    scheduling,
    services,
    storage,
)
from mockkube.api.kinds.core.pod import defaults
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

Default = Callable[[Object, Capabilities], None]
Stamp = Callable[[Object, datetime], None]

DEFAULTS: Final[Mapping[tuple[str, str, str], Default]] = {
    ("", "v1", "Endpoints"): core.default_endpoints,
    ("", "v1", "LimitRange"): core.default_limit_range,
    ("", "v1", "Namespace"): core.default_namespace,
    ("", "v1", "Node"): core.default_node,
    ("", "v1", "PersistentVolume"): storage.default_persistent_volume,
    ("", "v1", "PersistentVolumeClaim"): claims.default_claim,
    ("", "v1", "Pod"): defaults.default_pod,
    ("", "v1", "PodTemplate"): core.default_pod_template,
    ("", "v1", "ReplicationController"): core.default_replication_controller,
    ("", "v1", "ResourceQuota"): core.default_resource_quota,
    ("", "v1", "Secret"): core.default_secret,
    ("", "v1", "Service"): services.default_service,
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy"): admissionregistration.default_policy,
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding"): (
        admissionregistration.default_policy_binding
    ),
    ("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"): (
        admissionregistration.default_mutating_webhooks
    ),
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"): admissionregistration.default_policy,
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"): (
        admissionregistration.default_policy_binding
    ),
    ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"): (
        admissionregistration.default_validating_webhooks
    ),
    ("admissionregistration.k8s.io", "v1alpha1", "MutatingAdmissionPolicy"): admissionregistration.default_policy,
    ("admissionregistration.k8s.io", "v1alpha1", "MutatingAdmissionPolicyBinding"): (
        admissionregistration.default_policy_binding_v1alpha1
    ),
    ("admissionregistration.k8s.io", "v1beta1", "MutatingAdmissionPolicy"): admissionregistration.default_policy,
    ("admissionregistration.k8s.io", "v1beta1", "MutatingAdmissionPolicyBinding"): (
        admissionregistration.default_policy_binding
    ),
    ("admissionregistration.k8s.io", "v1beta1", "ValidatingAdmissionPolicy"): admissionregistration.default_policy,
    ("admissionregistration.k8s.io", "v1beta1", "ValidatingAdmissionPolicyBinding"): (
        admissionregistration.default_policy_binding
    ),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): extensions.default_custom_resource_definition,
    ("apiregistration.k8s.io", "v1", "APIService"): extensions.default_api_service,
    ("apps", "v1", "DaemonSet"): apps.default_daemon_set,
    ("apps", "v1", "Deployment"): apps.default_deployment,
    ("apps", "v1", "ReplicaSet"): apps.default_replica_set,
    ("apps", "v1", "StatefulSet"): apps.default_stateful_set,
    ("authentication.k8s.io", "v1", "TokenRequest"): identity.default_token_request,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v1,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler,
    ("batch", "v1", "CronJob"): batch.default_cron_job,
    ("batch", "v1", "Job"): batch.default_job,
    ("certificates.k8s.io", "v1", "PodCertificateRequest"): identity.default_pod_certificate_request,
    ("certificates.k8s.io", "v1alpha1", "PodCertificateRequest"): identity.default_pod_certificate_request,
    ("certificates.k8s.io", "v1beta1", "PodCertificateRequest"): identity.default_pod_certificate_request,
    ("discovery.k8s.io", "v1", "EndpointSlice"): networking.default_endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"): flowcontrol.default_flow_schema,
    ("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"): flowcontrol.default_priority_level,
    ("networking.k8s.io", "v1", "IngressClass"): networking.default_ingress_class,
    ("networking.k8s.io", "v1", "NetworkPolicy"): networking.default_network_policy,
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"): rbac.default_binding,
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"): rbac.default_binding,
    ("resource.k8s.io", "v1", "ResourceClaim"): devices.default_claim,
    ("resource.k8s.io", "v1", "ResourceClaimTemplate"): devices.default_claim_template,
    ("resource.k8s.io", "v1", "ResourceSlice"): devices.default_slice,
    ("resource.k8s.io", "v1alpha3", "ResourceClaim"): devices.default_claim_v1beta1,
    ("resource.k8s.io", "v1alpha3", "ResourceClaimTemplate"): devices.default_claim_template_v1beta1,
    ("resource.k8s.io", "v1alpha3", "ResourcePoolStatusRequest"): devices.default_pool_status_request,
    ("resource.k8s.io", "v1alpha3", "ResourceSlice"): devices.default_slice_v1beta1,
    ("resource.k8s.io", "v1beta1", "ResourceClaim"): devices.default_claim_v1beta1,
    ("resource.k8s.io", "v1beta1", "ResourceClaimTemplate"): devices.default_claim_template_v1beta1,
    ("resource.k8s.io", "v1beta1", "ResourceSlice"): devices.default_slice_v1beta1,
    ("resource.k8s.io", "v1beta2", "ResourceClaim"): devices.default_claim,
    ("resource.k8s.io", "v1beta2", "ResourceClaimTemplate"): devices.default_claim_template,
    ("resource.k8s.io", "v1beta2", "ResourceSlice"): devices.default_slice,
    ("scheduling.k8s.io", "v1", "PriorityClass"): scheduling.default_priority_class,
    ("scheduling.k8s.io", "v1alpha2", "PodGroup"): scheduling.default_pod_group_v1alpha2,
    ("scheduling.k8s.io", "v1alpha3", "CompositePodGroup"): scheduling.default_pod_group,
    ("scheduling.k8s.io", "v1alpha3", "PodGroup"): scheduling.default_pod_group,
    ("scheduling.k8s.io", "v1beta1", "PodGroup"): scheduling.default_pod_group,
    ("storage.k8s.io", "v1", "CSIDriver"): storage.default_csi_driver,
    ("storage.k8s.io", "v1", "StorageClass"): storage.default_storage_class,
    ("storage.k8s.io", "v1", "VolumeAttachment"): storage.default_volume_attachment,
}
"""Defaulting function by (group, version, kind); other kinds have no defaults."""

STAMPS: Final[Mapping[tuple[str, str, str], Stamp]] = {
    ("resource.k8s.io", "v1", "DeviceTaintRule"): device_taints.stamp_rule,
    ("resource.k8s.io", "v1", "ResourceSlice"): device_taints.stamp_slice,
    ("resource.k8s.io", "v1alpha3", "DeviceTaintRule"): device_taints.stamp_rule,
    ("resource.k8s.io", "v1alpha3", "ResourceSlice"): device_taints.stamp_slice,
    ("resource.k8s.io", "v1beta1", "ResourceSlice"): device_taints.stamp_slice,
    ("resource.k8s.io", "v1beta2", "DeviceTaintRule"): device_taints.stamp_rule,
    ("resource.k8s.io", "v1beta2", "ResourceSlice"): device_taints.stamp_slice,
}
"""Functions that fill in the present time, called after `DEFAULTS` with the time of the request."""
