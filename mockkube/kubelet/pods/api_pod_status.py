"""Build the pod status that the kubelet writes to the API server, and compare it with the stored one.

upstream 1.36: pkg/kubelet/kubelet_pods.go (convertStatusToAPIStatus), pkg/kubelet/status/status_manager.go
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.pod_quantities import Quantities, calculate_pod_quantities
from mockkube.api.times import render_time
from mockkube.kubelet.containers.container_lifecycle import new_container_status
from mockkube.kubelet.pods.pod_status import PodStatusFacts, build_conditions, build_conditions_patch
from mockkube.kubelet.pods.sync_result import PodSyncInput

CONTAINER_LISTS: Final = (
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)
_SIDES: Final = ("requests", "limits")
# Resources that a pod's cgroup limits.
_CGROUP_RESOURCES: Final = ("cpu", "memory")


def get_container_statuses(pod: ReadOnlyObject) -> dict[str, Object]:
    """Return stored container statuses, and initial ones for containers without; init containers first."""
    known = {one["name"]: one for _, key in CONTAINER_LISTS for one in (pod.get("status") or {}).get(key) or ()}
    initializing = bool(pod["spec"].get("initContainers"))
    return {
        one["name"]: {"lastState": {}, **known[one["name"]]}
        if one["name"] in known
        else new_container_status(one, initializing=initializing)
        for listed, _ in CONTAINER_LISTS
        for one in pod["spec"].get(listed) or ()
    }


def build_status(
    pod: ReadOnlyObject,
    sync_input: PodSyncInput,
    statuses: Mapping[str, ReadOnlyObject],
    facts: PodStatusFacts,
    now: datetime,
) -> Object:
    """Return the part of a pod's status that the kubelet owns."""
    old = pod.get("status") or {}
    on_host = pod["spec"].get("hostNetwork")
    was_networked = facts.has_sandbox or any(one.get("containerID") for one in statuses.values())
    conditions = build_conditions(pod, statuses, facts, sync_input.rules)
    status: Object = {
        "phase": facts.phase,
        "conditions": build_conditions_patch(conditions, old, render_time(now)),
        "hostIP": sync_input.node_ip,
        "hostIPs": [{"ip": sync_input.node_ip}],
    }
    if sync_input.rules.observed_generation and (generation := pod["metadata"].get("generation")):
        status["observedGeneration"] = generation
    # The API shows the IP of a completed pod (upstream 1.36: pkg/kubelet/pleg/generic.go, getPodIPs).
    pod_ip = old.get("podIP") or (sync_input.node_ip if on_host else sync_input.pod_ip if was_networked else "")
    if pod_ip:
        status |= {"podIP": pod_ip, "podIPs": [{"ip": pod_ip}]}
    for listed, key in CONTAINER_LISTS:
        if names := [one["name"] for one in pod["spec"].get(listed) or ()]:
            status[key] = [statuses[name] for name in names]
    if sync_input.rules.pod_resources_status and sync_input.applies_resources:
        status |= _pod_level_status(pod, sync_input)
    return status


def _pod_level_status(pod: ReadOnlyObject, sync_input: PodSyncInput) -> Object:
    """Return pod-level resources and allocated resources."""
    rules = sync_input.rules
    requests, limits = (
        _format_amounts(calculate_pod_quantities(pod["spec"], side, pod_level=rules.pod_level_resources))
        for side in _SIDES
    )
    if not requests and not limits:
        return {}
    result: Object = {"resources": {}}
    for side, amounts in zip(_SIDES, (requests, limits), strict=True):
        if limited := {name: amount for name, amount in amounts.items() if name in _CGROUP_RESOURCES}:
            result["resources"][side] = limited
    return result | ({"allocatedResources": requests} if requests else {})


def _format_amounts(amounts: Quantities) -> dict[str, str]:
    return {name: str(amount) for name, amount in sorted(amounts.items())}


def keep_if_changed(pod: ReadOnlyObject, status: Object) -> Object | None:
    """Return the status if it differs from the stored one, else None."""
    old = pod.get("status") or {}
    conditions = {one["type"]: one for one in old.get("conditions") or ()}
    for condition in status["conditions"]:
        known = conditions.get(condition["type"], {})
        # The kubelet never probes here, so lastProbeTime is always null and may be missing in the stored status.
        if any(known.get(name) != value for name, value in condition.items() if name != "lastProbeTime"):
            return status
    same = all(
        _drop_empty(old.get(name)) == _drop_empty(value) for name, value in status.items() if name != "conditions"
    )
    return None if same else status


def _drop_empty(value: object) -> object:
    """Return a value without empty fields, as the API server returns it."""
    if isinstance(value, dict):
        return {name: plain for name, one in value.items() if (plain := _drop_empty(one)) not in (None, "", {}, [])}
    if isinstance(value, list):
        return [_drop_empty(one) for one in value]
    return value
