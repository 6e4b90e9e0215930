"""Build the pod status that the kubelet writes to the API server, and compare it with the stored one.

upstream 1.36: pkg/kubelet/kubelet_pods.go (convertStatusToAPIStatus), pkg/kubelet/status/status_manager.go
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from mockkube.api.pod_amounts import Quantities, calculate_pod_quantities
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.kubelet.containers import first_status
from mockkube.kubelet.pod_status import Facts, conditions_of, dated
from mockkube.kubelet.sync_result import Host

LISTS: Final = (
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)
_SIDES: Final = ("requests", "limits")
# Resources that a pod's cgroup limits.
_AS_A_WHOLE: Final = ("cpu", "memory")


def statuses_of(pod: ReadOnlyObject) -> dict[str, Object]:
    """Return stored container statuses, and initial ones for containers without; init containers first."""
    known = {one["name"]: one for _, key in LISTS for one in (pod.get("status") or {}).get(key) or ()}
    initializing = bool(pod["spec"].get("initContainers"))
    return {
        one["name"]: {"lastState": {}, **known[one["name"]]}
        if one["name"] in known
        else first_status(one, initializing=initializing)
        for listed, _ in LISTS
        for one in pod["spec"].get(listed) or ()
    }


def status_of(
    pod: ReadOnlyObject, host: Host, statuses: Mapping[str, ReadOnlyObject], facts: Facts, now: datetime
) -> Object:
    """Return the part of a pod's status that the kubelet owns."""
    old = pod.get("status") or {}
    on_host = pod["spec"].get("hostNetwork")
    was_networked = facts.sandbox or any(one.get("containerID") for one in statuses.values())
    conditions = conditions_of(pod, statuses, facts, host.rules)
    status: Object = {
        "phase": facts.phase,
        "conditions": dated(conditions, old, render_time(now)),
        "hostIP": host.node_ip,
        "hostIPs": [{"ip": host.node_ip}],
    }
    if host.rules.observed_generation and (generation := pod["metadata"].get("generation")):
        status["observedGeneration"] = generation
    # The API shows the IP of a completed pod (upstream 1.36: pkg/kubelet/pleg/generic.go, getPodIPs).
    pod_ip = old.get("podIP") or (host.node_ip if on_host else host.pod_ip if was_networked else "")
    if pod_ip:
        status |= {"podIP": pod_ip, "podIPs": [{"ip": pod_ip}]}
    for listed, key in LISTS:
        if names := [one["name"] for one in pod["spec"].get(listed) or ()]:
            status[key] = [statuses[name] for name in names]
    if host.rules.pod_resources and host.resizes:
        status |= _resources(pod, host)
    return status


def _resources(pod: ReadOnlyObject, host: Host) -> Object:
    """Return pod-level resources and allocated resources."""
    rules = host.rules
    requests, limits = (
        _shown(calculate_pod_quantities(pod["spec"], side, pod_level=rules.pod_level)) for side in _SIDES
    )
    if not requests and not limits:
        return {}
    whole: Object = {"resources": {}}
    for side, amounts in zip(_SIDES, (requests, limits), strict=True):
        if limited := {name: amount for name, amount in amounts.items() if name in _AS_A_WHOLE}:
            whole["resources"][side] = limited
    return whole | ({"allocatedResources": requests} if requests else {})


def _shown(amounts: Quantities) -> dict[str, str]:
    return {name: str(amount) for name, amount in sorted(amounts.items())}


def changed(pod: ReadOnlyObject, status: Object) -> Object | None:
    """Return the status if it differs from the stored one, else None."""
    old = pod.get("status") or {}
    conditions = {one["type"]: one for one in old.get("conditions") or ()}
    for condition in status["conditions"]:
        known = conditions.get(condition["type"], {})
        # The kubelet never probes here, so lastProbeTime is always null and may be missing in the stored status.
        if any(known.get(name) != value for name, value in condition.items() if name != "lastProbeTime"):
            return status
    same = all(_plain(old.get(name)) == _plain(value) for name, value in status.items() if name != "conditions")
    return None if same else status


def _plain(value: object) -> object:
    """Return a value without empty fields, as the API server returns it."""
    if isinstance(value, dict):
        return {name: plain for name, one in value.items() if (plain := _plain(one)) not in (None, "", {}, [])}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
