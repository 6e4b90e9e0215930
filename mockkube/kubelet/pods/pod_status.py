"""Phase and conditions of a pod, computed from its container statuses.

upstream 1.36: pkg/kubelet/kubelet_pods.go (getPhase), pkg/kubelet/status/generate.go
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.kubelet.containers.container_lifecycle import is_sidecar
from mockkube.kubelet.containers.restart_rules import RESTARTING_ALL, RestartRules
from mockkube.lazy_dataclasses import dataclass

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
TERMINAL_PHASES: Final = (SUCCEEDED, FAILED)
RESTARTING_CONDITION: Final = "AllContainersRestarting"
RESIZE_PENDING_CONDITION: Final = "PodResizePending"
RESIZING_CONDITION: Final = "PodResizeInProgress"
OWN_CONDITIONS: Final = (
    RESIZE_PENDING_CONDITION,
    RESIZING_CONDITION,
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
    RESTARTING_CONDITION,
)
# Conditions that are deleted instead of set to False.
_DELETED_WHEN_FALSE: Final = (RESIZE_PENDING_CONDITION, RESIZING_CONDITION)

# Container statuses by name, init containers included.
Statuses = Mapping[str, ReadOnlyObject]


@dataclass(frozen=True, slots=True)
class PodStatusRules:
    """Status fields that a kubelet of one version and set of gates writes."""

    sandbox_condition: bool = True
    observed_generation: bool = True
    # Whether the status shows the allocated resources of containers.
    container_resources_status: bool = True
    # Whether the status shows pod-level allocated resources.
    pod_resources_status: bool = True
    # Whether pod-level resources of the spec count.
    pod_level_resources: bool = True
    restart_rules: RestartRules = field(default_factory=RestartRules)

    @classmethod
    def from_capabilities(cls, caps: Capabilities) -> "PodStatusRules":
        """Return the rules of a kubelet with these capabilities."""
        return cls(
            sandbox_condition=caps.enabled("PodReadyToStartContainersCondition"),
            observed_generation=caps.enabled("PodObservedGenerationTracking"),
            container_resources_status=caps.enabled("InPlacePodVerticalScaling"),
            pod_resources_status=caps.enabled("InPlacePodLevelResourcesVerticalScaling"),
            pod_level_resources=caps.enabled("PodLevelResources"),
            restart_rules=RestartRules.from_capabilities(caps),
        )


def compute_phase(pod: ReadOnlyObject, statuses: Statuses, rules: RestartRules, *, stopped: bool) -> str:
    """Return the phase of a pod; `stopped`: its containers were stopped for good, so none restarts."""
    spec = pod["spec"]
    initial = [one for one in spec.get("initContainers") or () if not is_sidecar(one)]
    if any(_has_failed(one, pod, statuses, rules) for one in initial):
        return FAILED
    if any("running" in statuses[one["name"]]["state"] or not _has_ended(statuses[one["name"]]) for one in initial):
        return PENDING
    main = [statuses[one["name"]] for one in spec["containers"]]
    beside = [statuses[one["name"]] for one in spec.get("initContainers") or () if is_sidecar(one)]
    # A container in CrashLoopBackOff waits too, but it has ended before: the pod counts as running.
    if any("waiting" in one["state"] and not _has_ended(one) for one in (*main, *beside)):
        return PENDING
    if any("running" in one["state"] for one in (*main, *beside)):
        return RUNNING
    return _compute_stopped_phase(pod, statuses, rules, terminal=stopped)


def _compute_stopped_phase(pod: ReadOnlyObject, statuses: Statuses, rules: RestartRules, *, terminal: bool) -> str:
    """Return the phase of a pod without running containers."""
    ends = [(one, _get_termination(statuses[one["name"]])) for one in pod["spec"]["containers"]]
    if not terminal and any(_will_restart(container, pod, end, rules) for container, end in ends):
        return RUNNING
    return SUCCEEDED if all(end["exitCode"] == 0 for _, end in ends) else FAILED


def _will_restart(container: ReadOnlyObject, pod: ReadOnlyObject, end: ReadOnlyObject, rules: RestartRules) -> bool:
    return end.get("reason") == RESTARTING_ALL or rules.may_restart(container, pod, end["exitCode"])


def is_initialized(pod: ReadOnlyObject, statuses: Statuses) -> bool:
    """Return whether all init containers completed, or started if they are sidecars."""
    return not _find_incomplete(pod, statuses)


def _find_incomplete(pod: ReadOnlyObject, statuses: Statuses) -> list[str]:
    """Return names of init containers that are not done."""
    names = []
    for container in pod["spec"].get("initContainers") or ():
        status = statuses[container["name"]]
        # A completed init container stays `ready`, as upstream sets it.
        done = status.get("started") if is_sidecar(container) else status.get("ready")
        if not done:
            names.append(container["name"])
    return names


def _has_ended(status: ReadOnlyObject) -> bool:
    return "terminated" in status["state"] or "terminated" in (status.get("lastState") or {})


def _get_termination(status: ReadOnlyObject) -> ReadOnlyObject:
    end: ReadOnlyObject = status["state"].get("terminated") or (status.get("lastState") or {})["terminated"]
    return end


def _has_failed(container: ReadOnlyObject, pod: ReadOnlyObject, statuses: Statuses, rules: RestartRules) -> bool:
    status = statuses[container["name"]]
    if "running" in status["state"] or not _has_ended(status):
        return False
    end = _get_termination(status)
    return end["exitCode"] != 0 and not _will_restart(container, pod, end, rules)


@dataclass(frozen=True, slots=True)
class PodStatusFacts:
    """Facts about a pod that conditions need besides the container statuses."""

    phase: str
    # Whether the pod sandbox has its network, so that containers can start.
    has_sandbox: bool
    # Reason and message of a pending resize.
    pending_resize: tuple[str, str] | None = None
    # Whether all containers are restarting.
    restarts_all: bool = False


def build_conditions(
    pod: ReadOnlyObject, statuses: Statuses, facts: PodStatusFacts, rules: PodStatusRules
) -> list[Object]:
    """Return the conditions owned by the kubelet in upstream's order, without times."""
    ready = _containers_ready_status(pod, statuses, facts.phase)
    conditions: list[Object] = []
    if facts.pending_resize is not None:
        reason, message = facts.pending_resize
        conditions.append({"type": RESIZE_PENDING_CONDITION, "status": "True", "reason": reason, "message": message})
    if rules.sandbox_condition:
        conditions.append({"type": "PodReadyToStartContainers", "status": "True" if facts.has_sandbox else "False"})
    conditions += [
        _initialized_condition(pod, statuses, facts.phase),
        {"type": "Ready", **(ready if ready["status"] != "True" else _readiness_gates_status(pod))},
        {"type": "ContainersReady", **ready},
        {"type": "PodScheduled", "status": "True"},
    ]
    # Upstream writes this condition only for pods with such a rule, so other statuses stay unchanged by the gate.
    if rules.restart_rules.could_restart_all(pod):
        conditions.append(_restart_condition(facts))
    generation = pod["metadata"].get("generation")
    if rules.observed_generation and generation:
        conditions = [{**one, "observedGeneration": generation} for one in conditions]
    return conditions


def _restart_condition(facts: PodStatusFacts) -> Object:
    """Return the condition about the restart of all containers."""
    if facts.phase == FAILED:
        return {"type": RESTARTING_CONDITION, "status": "False", "reason": "PodFailed"}
    if not facts.restarts_all:
        return {"type": RESTARTING_CONDITION, "status": "False"}
    message = "container exited with restart policy rule"
    return {"type": RESTARTING_CONDITION, "status": "True", "reason": "RestartAllContainersStarted", "message": message}


def _initialized_condition(pod: ReadOnlyObject, statuses: Statuses, phase: str) -> Object:
    """Return the condition Initialized."""
    condition: Object = {"type": "Initialized", "status": "True"}
    if phase == SUCCEEDED:
        return {**condition, "reason": "PodCompleted"}
    # A main container that started proves that initialization completed, even if statuses of init containers are lost.
    started = any(
        "waiting" not in one["state"] or _has_ended(one)
        for one in (statuses[container["name"]] for container in pod["spec"]["containers"])
    )
    incomplete = _find_incomplete(pod, statuses)
    if started or not incomplete:
        return condition
    message = f"containers with incomplete status: {_format_names(incomplete)}"
    return {"type": "Initialized", "status": "False", "reason": "ContainersNotInitialized", "message": message}


def _containers_ready_status(pod: ReadOnlyObject, statuses: Statuses, phase: str) -> Object:
    """Return status, reason and message of the condition ContainersReady."""
    if phase in TERMINAL_PHASES:
        return {"status": "False", "reason": "PodCompleted" if phase == SUCCEEDED else "PodFailed"}
    spec = pod["spec"]
    counted = [one for one in spec.get("initContainers") or () if is_sidecar(one)] + list(spec["containers"])
    unready = [one["name"] for one in counted if not statuses[one["name"]].get("ready")]
    if not unready:
        return {"status": "True"}
    message = f"containers with unready status: {_format_names(unready)}"
    return {"status": "False", "reason": "ContainersNotReady", "message": message}


def _readiness_gates_status(pod: ReadOnlyObject) -> Object:
    """Return status, reason and message of the condition Ready as readiness gates decide it."""
    present = {one["type"]: one["status"] for one in (pod.get("status") or {}).get("conditions") or ()}
    messages = []
    for gate in pod["spec"].get("readinessGates") or ():
        name = gate["conditionType"]
        if name not in present:
            messages.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif present[name] != "True":
            messages.append(f'the status of pod readiness gate "{name}" is not "True", but {present[name]}')
    if not messages:
        return {"status": "True"}
    return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(messages)}


def _format_names(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"


def build_conditions_patch(conditions: Sequence[Object], old: ReadOnlyObject, time: str) -> list[Object]:
    """Return a strategic merge patch of the conditions, with their times; a transition is a change of status.

    The patch merges by condition type, so what it leaves out would stay: fields and conditions that no longer apply
    become null or a deletion.
    """
    old_conditions = {one["type"]: one for one in old.get("conditions") or ()}
    result = []
    for condition in conditions:
        known = old_conditions.get(condition["type"], {})
        same = known.get("status") == condition["status"] and known.get("lastTransitionTime")
        gone = {name: None for name in ("reason", "message", "observedGeneration") if name in known}
        result.append(
            {
                **gone,
                "lastProbeTime": None,
                "lastTransitionTime": known["lastTransitionTime"] if same else time,
                **condition,
            }
        )
    stated = {condition["type"] for condition in conditions}
    removed = (name for name in _DELETED_WHEN_FALSE if name in old_conditions and name not in stated)
    return [*result, *({"$patch": "delete", "type": name} for name in removed)]
