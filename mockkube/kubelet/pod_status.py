"""A pod's phase and conditions, as they follow from its containers.

upstream 1.36: pkg/kubelet/kubelet_pods.go (getPhase), pkg/kubelet/status/generate.go
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.kubelet.containers import is_sidecar
from mockkube.kubelet.restart_rules import RESTARTING_ALL, RestartRules

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
TERMINAL: Final = (SUCCEEDED, FAILED)
RESTARTING: Final = "AllContainersRestarting"
RESIZE_PENDING: Final = "PodResizePending"
RESIZING: Final = "PodResizeInProgress"
OWN_CONDITIONS: Final = (
    RESIZE_PENDING, RESIZING, "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
    RESTARTING,
)  # fmt: skip
_PASSING: Final = (RESIZE_PENDING, RESIZING)
"""Conditions that are taken away when they hold no longer."""

Statuses = Mapping[str, ReadOnlyObject]
"""Container statuses by name, those of init containers included."""


@dataclass(frozen=True, slots=True)
class StatusRules:
    """What a kubelet of some version and gates writes."""

    sandbox_condition: bool = True
    observed_generation: bool = True
    pod_resources: bool = True
    """Whether the status says what the pod has been given as a whole."""
    pod_level: bool = True
    """Whether what a pod states as a whole counts."""
    restarts: RestartRules = field(default_factory=RestartRules)

    @classmethod
    def of(cls, caps: Capabilities) -> "StatusRules":
        """Return the rules of a kubelet."""
        return cls(
            sandbox_condition=caps.enabled("PodReadyToStartContainersCondition"),
            observed_generation=caps.enabled("PodObservedGenerationTracking"),
            pod_resources=caps.enabled("InPlacePodLevelResourcesVerticalScaling"),
            pod_level=caps.enabled("PodLevelResources"),
            restarts=RestartRules.of(caps),
        )


def phase_of(pod: ReadOnlyObject, statuses: Statuses, rules: RestartRules, *, terminal: bool) -> str:
    """Return the phase. `terminal`: its containers have been stopped for good, whatever the restart policy."""
    spec = pod["spec"]
    initial = [one for one in spec.get("initContainers") or () if not is_sidecar(one)]
    if any(_has_failed(one, pod, statuses, rules) for one in initial):
        return FAILED
    if any("running" in statuses[one["name"]]["state"] or not _has_ended(statuses[one["name"]]) for one in initial):
        return PENDING
    main = [statuses[one["name"]] for one in spec["containers"]]
    beside = [statuses[one["name"]] for one in spec.get("initContainers") or () if is_sidecar(one)]
    if any("waiting" in one["state"] and not _has_ended(one) for one in (*main, *beside)):
        return PENDING
    if any("running" in one["state"] for one in (*main, *beside)):
        return RUNNING
    return _phase_when_stopped(pod, statuses, rules, terminal=terminal)


def _phase_when_stopped(pod: ReadOnlyObject, statuses: Statuses, rules: RestartRules, *, terminal: bool) -> str:
    ends = [(one, _end_of(statuses[one["name"]])) for one in pod["spec"]["containers"]]
    if not terminal and any(_is_restarted(container, pod, end, rules) for container, end in ends):
        return RUNNING
    return SUCCEEDED if all(end["exitCode"] == 0 for _, end in ends) else FAILED


def _is_restarted(container: ReadOnlyObject, pod: ReadOnlyObject, end: ReadOnlyObject, rules: RestartRules) -> bool:
    return end.get("reason") == RESTARTING_ALL or rules.may_restart(container, pod, end["exitCode"])


def is_initialized(pod: ReadOnlyObject, statuses: Statuses) -> bool:
    """Whether every init container has done its part."""
    return not _incomplete(pod, statuses)


def _incomplete(pod: ReadOnlyObject, statuses: Statuses) -> list[str]:
    names = []
    for container in pod["spec"].get("initContainers") or ():
        status = statuses[container["name"]]
        done = status.get("started") if is_sidecar(container) else status.get("ready")
        if not done:
            names.append(container["name"])
    return names


def _has_ended(status: ReadOnlyObject) -> bool:
    return "terminated" in status["state"] or "terminated" in (status.get("lastState") or {})


def _end_of(status: ReadOnlyObject) -> ReadOnlyObject:
    end: ReadOnlyObject = status["state"].get("terminated") or (status.get("lastState") or {})["terminated"]
    return end


def _has_failed(container: ReadOnlyObject, pod: ReadOnlyObject, statuses: Statuses, rules: RestartRules) -> bool:
    status = statuses[container["name"]]
    if "running" in status["state"] or not _has_ended(status):
        return False
    end = _end_of(status)
    return end["exitCode"] != 0 and not _is_restarted(container, pod, end, rules)


@dataclass(frozen=True, slots=True)
class Facts:
    """What conditions say of a pod beside what its containers do."""

    phase: str
    sandbox: bool
    """Whether it has its network, so that containers can start."""
    pending: tuple[str, str] | None = None
    """Reason and message of a resize that is not done."""
    restarting: bool = False
    """Whether all of its containers are being started again."""


def conditions_of(pod: ReadOnlyObject, statuses: Statuses, facts: Facts, rules: StatusRules) -> list[Object]:
    """Return the kubelet's own conditions in their order, without times."""
    ready = _containers_ready(pod, statuses, facts.phase)
    conditions: list[Object] = []
    if facts.pending is not None:
        reason, message = facts.pending
        conditions.append({"type": RESIZE_PENDING, "status": "True", "reason": reason, "message": message})
    if rules.sandbox_condition:
        conditions.append({"type": "PodReadyToStartContainers", "status": "True" if facts.sandbox else "False"})
    conditions += [
        _initialized(pod, statuses, facts.phase),
        {"type": "Ready", **(ready if ready["status"] != "True" else _gates_ready(pod))},
        {"type": "ContainersReady", **ready},
        {"type": "PodScheduled", "status": "True"},
    ]
    if rules.restarts.could_restart_all(pod):
        conditions.append(_restarting(facts))
    generation = pod["metadata"].get("generation")
    if rules.observed_generation and generation:
        conditions = [{**one, "observedGeneration": generation} for one in conditions]
    return conditions


def _restarting(facts: Facts) -> Object:
    if facts.phase == FAILED:
        return {"type": RESTARTING, "status": "False", "reason": "PodFailed"}
    if not facts.restarting:
        return {"type": RESTARTING, "status": "False"}
    message = "container exited with restart policy rule"
    return {"type": RESTARTING, "status": "True", "reason": "RestartAllContainersStarted", "message": message}


def _initialized(pod: ReadOnlyObject, statuses: Statuses, phase: str) -> Object:
    condition: Object = {"type": "Initialized", "status": "True"}
    if phase == SUCCEEDED:
        return {**condition, "reason": "PodCompleted"}
    started = any(
        "waiting" not in one["state"] or _has_ended(one)
        for one in (statuses[container["name"]] for container in pod["spec"]["containers"])
    )
    incomplete = _incomplete(pod, statuses)
    if started or not incomplete:
        return condition
    message = f"containers with incomplete status: {_bracketed(incomplete)}"
    return {"type": "Initialized", "status": "False", "reason": "ContainersNotInitialized", "message": message}


def _containers_ready(pod: ReadOnlyObject, statuses: Statuses, phase: str) -> Object:
    if phase in TERMINAL:
        return {"status": "False", "reason": "PodCompleted" if phase == SUCCEEDED else "PodFailed"}
    spec = pod["spec"]
    counted = [one for one in spec.get("initContainers") or () if is_sidecar(one)] + list(spec["containers"])
    unready = [one["name"] for one in counted if not statuses[one["name"]].get("ready")]
    if not unready:
        return {"status": "True"}
    message = f"containers with unready status: {_bracketed(unready)}"
    return {"status": "False", "reason": "ContainersNotReady", "message": message}


def _gates_ready(pod: ReadOnlyObject) -> Object:
    present = {one["type"]: one["status"] for one in (pod.get("status") or {}).get("conditions") or ()}
    complaints = []
    for gate in pod["spec"].get("readinessGates") or ():
        name = gate["conditionType"]
        if name not in present:
            complaints.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif present[name] != "True":
            complaints.append(f'the status of pod readiness gate "{name}" is not "True", but {present[name]}')
    if not complaints:
        return {"status": "True"}
    return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(complaints)}


def _bracketed(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"


def dated(conditions: Sequence[Object], old: ReadOnlyObject, time: str) -> list[Object]:
    """Return the conditions with their times: a transition is a change of status. What was said before and is not said
    any more becomes null, for the patch that takes it away."""
    before = {one["type"]: one for one in old.get("conditions") or ()}
    result = []
    for condition in conditions:
        known = before.get(condition["type"], {})
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
    passing = (name for name in _PASSING if name in before and name not in stated)
    return [*result, *({"$patch": "delete", "type": name} for name in passing)]
