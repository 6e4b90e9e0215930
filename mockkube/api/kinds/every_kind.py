"""Source of the index kinds.json: records of all built-in kinds, in the order in which discovery lists them.

A kind without rules of its own is a row here; other kinds define their record in `<group>/<kind>.py`. Importing all of
them takes long, so servers use `api/catalogue.py`: it reads names and scope from the index that `make kinds` generates
from this list, and imports the record of a kind when its first object is written.
"""

import json
import sys
from dataclasses import asdict, fields
from typing import Any, Final

from mockkube.api.catalogue import CREATE_VERBS, STATUS, KindInfo
from mockkube.api.kind import Kind
from mockkube.api.kinds.admissionregistration import admission_policy, webhook_configuration
from mockkube.api.kinds.apiextensions import custom_resource_definition
from mockkube.api.kinds.apiregistration import api_service
from mockkube.api.kinds.apiserverinternal import storage_version
from mockkube.api.kinds.apps import controller_revision, daemon_set, deployment, replica_set, stateful_set
from mockkube.api.kinds.autoscaling import horizontal_pod_autoscaler
from mockkube.api.kinds.batch import cron_job, job
from mockkube.api.kinds.certificates import certificate_signing_request, cluster_trust_bundle, pod_certificate_request
from mockkube.api.kinds.coordination import lease
from mockkube.api.kinds.core import (
    component_status,
    config_map,
    endpoints,
    event,
    limit_range,
    namespace,
    node,
    persistent_volume,
    persistent_volume_claim,
    pod_template,
    replication_controller,
    resource_quota,
    secret,
    service_account,
)
from mockkube.api.kinds.core.pod import pod
from mockkube.api.kinds.core.service import service
from mockkube.api.kinds.discovery import endpoint_slice
from mockkube.api.kinds.flowcontrol import flow_control
from mockkube.api.kinds.networking import ingress, ingress_class, ip_address, network_policy, service_cidr
from mockkube.api.kinds.node import runtime_class
from mockkube.api.kinds.policy import pod_disruption_budget
from mockkube.api.kinds.rbac import role, role_binding
from mockkube.api.kinds.resource import (
    device_class,
    device_taint_rule,
    resource_claim,
    resource_pool_status_request,
    resource_slice,
)
from mockkube.api.kinds.scheduling import pod_group, priority_class, workload
from mockkube.api.kinds.storage import csi_driver, csi_node, csi_storage_capacity, storage_class, volume_attachment
from mockkube.api.kinds.storagemigration import storage_version_migration

KINDS: Final = (
    Kind("", "Binding", "bindings", verbs=CREATE_VERBS),
    component_status.KIND,
    config_map.KIND,
    endpoints.KIND,
    event.EVENT_KIND,
    limit_range.KIND,
    namespace.KIND,
    node.KIND,
    persistent_volume_claim.KIND,
    persistent_volume.KIND,
    pod.KIND,
    pod_template.KIND,
    replication_controller.KIND,
    resource_quota.KIND,
    secret.KIND,
    service_account.KIND,
    service.KIND,
    api_service.KIND,
    controller_revision.KIND,
    daemon_set.KIND,
    deployment.KIND,
    replica_set.KIND,
    stateful_set.KIND,
    event.EVENTS_EVENT_KIND,
    Kind("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", namespaced=False, verbs=CREATE_VERBS),
    Kind("authentication.k8s.io", "TokenReview", "tokenreviews", namespaced=False, verbs=CREATE_VERBS),
    Kind("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=CREATE_VERBS),
    Kind(
        "authorization.k8s.io",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        namespaced=False,
        verbs=CREATE_VERBS,
    ),
    Kind(
        "authorization.k8s.io",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        namespaced=False,
        verbs=CREATE_VERBS,
    ),
    Kind("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", namespaced=False, verbs=CREATE_VERBS),
    horizontal_pod_autoscaler.KIND,
    cron_job.KIND,
    job.KIND,
    certificate_signing_request.KIND,
    cluster_trust_bundle.KIND,
    pod_certificate_request.KIND,
    ingress_class.KIND,
    ingress.KIND,
    ip_address.KIND,
    network_policy.KIND,
    service_cidr.KIND,
    pod_disruption_budget.KIND,
    role_binding.CLUSTER_ROLE_BINDING_KIND,
    role.CLUSTER_ROLE_KIND,
    role_binding.ROLE_BINDING_KIND,
    role.ROLE_KIND,
    csi_driver.KIND,
    csi_node.KIND,
    csi_storage_capacity.KIND,
    storage_class.STORAGE_CLASS_KIND,
    volume_attachment.KIND,
    storage_class.VOLUME_ATTRIBUTES_CLASS_KIND,
    admission_policy.MUTATING_ADMISSION_POLICY_KIND,
    admission_policy.MUTATING_ADMISSION_POLICY_BINDING_KIND,
    webhook_configuration.MUTATING_WEBHOOK_CONFIGURATION_KIND,
    admission_policy.VALIDATING_ADMISSION_POLICY_KIND,
    admission_policy.VALIDATING_ADMISSION_POLICY_BINDING_KIND,
    webhook_configuration.VALIDATING_WEBHOOK_CONFIGURATION_KIND,
    custom_resource_definition.KIND,
    priority_class.KIND,
    pod_group.POD_GROUP_KIND,
    workload.KIND,
    lease.LEASE_KIND,
    lease.LEASE_CANDIDATE_KIND,
    runtime_class.KIND,
    endpoint_slice.KIND,
    device_class.KIND,
    resource_claim.RESOURCE_CLAIM_KIND,
    resource_claim.RESOURCE_CLAIM_TEMPLATE_KIND,
    resource_slice.KIND,
    device_taint_rule.KIND,
    resource_pool_status_request.KIND,
    flow_control.FLOW_SCHEMA_KIND,
    flow_control.PRIORITY_LEVEL_CONFIGURATION_KIND,
    storage_version.KIND,
    storage_version_migration.KIND,
    pod_group.COMPOSITE_POD_GROUP_KIND,
    Kind(
        "lifecycle.k8s.io",
        "EvictionRequest",
        "evictionrequests",
        versions=("v1alpha1",),
        subresources=(STATUS,),
        gate="EvictionRequestAPI",
    ),
    Kind(
        "lifecycle.k8s.io",
        "Eviction",
        "evictions",
        versions=("v1alpha1",),
        subresources=(STATUS,),
        gate="EvictionRequestAPI",
    ),
)


def build_index() -> list[dict[str, Any]]:
    """Return the rows of the index: each kind's names and the location of its record."""
    locations = {
        id(value): f"{name}:{attribute}"
        for name, module in sys.modules.items()
        # Records are found by identity in the modules that define them; no other module imports one.
        if name.startswith("mockkube.api.kinds.") and name != __name__
        for attribute, value in vars(module).items()
        if isinstance(value, Kind)
    }
    return [_row(kind, locations.get(id(kind), "")) for kind in KINDS]


def _row(kind: Kind, location: str) -> dict[str, Any]:
    # Only values that differ from the defaults are written, which keeps the index small and its diffs readable.
    defaults = {one.name: one.default for one in fields(KindInfo)}
    row = {name: value for name, value in asdict(kind).items() if name in defaults and value != defaults[name]}
    if "subresources" in row:
        row["subresources"] = [_without_empty_gate(one) for one in row["subresources"]]
    return {**row, "record": location, **({"converts": True} if kind.conversions else {})}


def _without_empty_gate(subresource: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in subresource.items() if value or name != "gate"}


if __name__ == "__main__":
    json.dump(build_index(), sys.stdout, indent=1)
    sys.stdout.write("\n")
