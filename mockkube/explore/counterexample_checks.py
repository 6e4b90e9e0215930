"""Make the checks of a counterexample: steps that hold exactly where an invariant is broken."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.explore.harm_explanations import STUCK
from mockkube.explore.harm_judge import is_running
from mockkube.explore.observation.observations import Observation, ObservationKind
from mockkube.explore.observation.operator_intent import Workload, is_ready
from mockkube.explore.observation.stored_objects import EVENTS, PODS
from mockkube.explore.path_runner import PathRunner
from mockkube.explore.plans import invariants
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.scenario_recorder import RecordedStep, to_plain
from mockkube.explore.search import InvariantBreak
from mockkube.lazy_dataclasses import dataclass

# Variable with the uids of pods that ran before the direction down.
RAN: Final = "ran"
_RUNNING: Final = "status.phase=='Running' && metadata.deletionTimestamp == null"
_READY: Final = f"status.phase=='Succeeded' || ({_RUNNING} && status.conditions[?type=='Ready' && status=='True'])"
# Harm to explain for pods that break an invariant.
_HARMS: Final = {
    invariants.TOLERATED_STAY: ("evicted", "removed"),
    invariants.BOUND_RUN: ("rejected",),
    invariants.ADMITTED_SCHEDULABLE: (STUCK,),
}
_NOW: Final = "0s"
# Long enough to tell a hot loop from a rollout; it sees a third of the pods of a minute.
_WINDOW: Final = "20s"


@dataclass(frozen=True, slots=True)
class HarmChecks:
    """Checks to insert before the direction down, and at the end."""

    before_down: tuple[RecordedStep, ...]
    at_end: tuple[RecordedStep, ...]


def make_checks(plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner) -> HarmChecks:
    """Return the checks that show a break at the end of the path that caused it."""
    before: tuple[RecordedStep, ...] = ()
    if invariant_break.invariant == invariants.ROLLBACK_RESTORES:
        before = (_remember_running(_find_workload(runner, invariant_break)),)
    checks = [*_CHECKS.get(invariant_break.invariant, _check_expected_object)(plan, invariant_break, runner)]
    harms = _HARMS.get(invariant_break.invariant, ())
    about = (
        one for one in runner.records[-1].explanations if one.workload == invariant_break.workload and one.harm in harms
    )
    why = next((one.describe() for one in about), "")
    if why and "description" in checks[-1]:
        checks[-1] = {**checks[-1], "description": f"{checks[-1]['description']}: {why}"}
    return HarmChecks(before, tuple(checks))


def _check_eviction(plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner) -> Iterable[RecordedStep]:
    observation = _find_observation(runner, invariant_break, (ObservationKind.EVICTED, ObservationKind.REMOVED))
    if observation.kind is ObservationKind.REMOVED:
        manifest = _find_workload(runner, invariant_break).manifest
        kind = manifest["kind"]
        about = {"kind": kind, "name": manifest["metadata"]["name"]}
        yield _check_event(
            runner, "SuccessfulDelete", about, f"{kind} pods are deleted although they tolerate the taint"
        )
    else:
        yield _check_event(
            runner,
            "TaintManagerEviction",
            _event_reference(runner, invariant_break),
            "a pod is evicted that should stay",
        )


def _check_rejection(plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner) -> Iterable[RecordedStep]:
    reason = _find_observation(runner, invariant_break, (ObservationKind.REJECTED,)).reason
    yield _check_event(
        runner, reason, _event_reference(runner, invariant_break), "a kubelet rejects a pod that is bound to its node"
    )


def _check_pending(plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner) -> Iterable[RecordedStep]:
    workload = _find_workload(runner, invariant_break)
    waits: dict[str, Any] = {"spec": {"(nodeName == null)": True}, "status": {"phase": "Pending"}}
    if prefix := _prefix_expression(workload):
        waits[f"({prefix})"] = True
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": _pod_selector(workload), **waits}
    text = "a pod waits for a node that it would get if all components had changed"
    yield {"description": text, "assert": {"resource": pod, "timeout": _NOW}}


def _check_lost_field(plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner) -> Iterable[RecordedStep]:
    observation = _find_observation(runner, invariant_break, (ObservationKind.LOST,))
    if observation.object_kind != "Pod":
        namespace, _, name = observation.object.rpartition("/")
        about = {"apiVersion": observation.api_version, "kind": observation.object_kind}
        named = {**about, "metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}
        lacks = {f"({observation.reason.partition(': ')[0]} == null)": True}
        text = "what users wrote is not in the object that is stored"
        yield {"description": text, "assert": {"resource": {**named, **lacks}, "timeout": _NOW}}
        return
    workload, text = _find_workload(runner, invariant_break), "what users wrote is not in the pods that are stored"
    pods = runner.intent.list_pods(workload, runner.stored)
    lacking = next(iter(one for pod in pods for one in runner.intent.find_lost_tolerations(pod)), None)
    if lacking is not None:
        encoded = json.dumps(to_plain(lacking), sort_keys=True).replace("`", "\\`")
        without = f"!contains(spec.tolerations || `[]`, `{encoded}`)"
    else:
        without = f"{observation.reason} == null"
    yield _check_count(workload, without, "> `0`", text)


def _check_hot_loop(plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner) -> Iterable[RecordedStep]:
    yield {"advance": _WINDOW}
    rate = {"writes": PODS, "writeVerb": "create", "window": _WINDOW, "min": plan.creations_max}
    yield {"description": "a controller creates pods in a hot loop", "expectRate": rate}


def _check_missing(plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner) -> Iterable[RecordedStep]:
    workload = _find_workload(runner, invariant_break)
    pods = [pod for pod in runner.intent.list_pods(workload, runner.stored) if is_ready(pod)]
    yield _check_count(
        workload, _READY, f"<= `{len(pods)}`", "not all pods are ready that would be if all components had changed"
    )


def _check_gone(plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner) -> Iterable[RecordedStep]:
    workload = _find_workload(runner, invariant_break)
    pods = runner.intent.list_pods(workload, runner.stored)
    left = sum(is_running(pod) and pod["metadata"]["uid"] in runner.judge.running_before_down for pod in pods)
    same = f"contains(${RAN}, metadata.uid) && {_RUNNING}"
    fewer = f"<= `{left}` && length(${RAN}) > `{left}`"
    yield _check_count(workload, same, fewer, "at least one pod that ran before the rollback is gone")


def _check_expected_object(
    plan: RolloutPlan, invariant_break: InvariantBreak, runner: PathRunner
) -> Iterable[RecordedStep]:
    invariant = next(one for one in plan.invariants if one.name == invariant_break.invariant)
    yield {
        "description": "the invariant of the plan does not hold",
        "error": {"resource": to_plain(invariant.expected), "timeout": _NOW},
    }


_CHECKS: Final[dict[str, Callable[[RolloutPlan, InvariantBreak, PathRunner], Iterable[RecordedStep]]]] = {
    invariants.TOLERATED_STAY: _check_eviction,
    invariants.ADMITTED_SCHEDULABLE: _check_pending,
    invariants.BOUND_RUN: _check_rejection,
    invariants.FIELDS_KEPT: _check_lost_field,
    invariants.NO_HOT_LOOP: _check_hot_loop,
    invariants.ROLLBACK_RESTORES: _check_gone,
    invariants.REPLICAS_UP: _check_missing,
}


# Objects that checks refer to


def _find_observation(
    runner: PathRunner, invariant_break: InvariantBreak, kinds: Sequence[ObservationKind]
) -> Observation:
    return next(
        one for one in runner.records[-1].observations if one.kind in kinds and one.describe() == invariant_break.text
    )


def _find_workload(runner: PathRunner, invariant_break: InvariantBreak) -> Workload:
    """Return the workload of a break: of several with one name the last, which still exists."""
    return next(one for one in reversed(runner.intent.workloads) if one.name == invariant_break.workload)


def _pod_selector(workload: Workload) -> dict[str, Any]:
    """Return the metadata that selects the pods of a workload."""
    metadata = workload.manifest["metadata"]
    namespace = metadata.get("namespace", "default")
    where = {} if namespace == "default" else {"namespace": namespace}
    if workload.manifest["kind"] != "Pod":
        return {**where, "labels": to_plain(workload.labels)}
    if _has_generated_name(workload):
        return {**where, "labels": to_plain(workload.labels)} if workload.labels else where
    return {**where, "name": metadata["name"]}


def _has_generated_name(workload: Workload) -> bool:
    return workload.manifest["kind"] == "Pod" and "generateName" in workload.manifest["metadata"]


def _prefix_expression(workload: Workload) -> str:
    """Return the expression that selects pods by generateName; empty if there is no need."""
    return (
        f"starts_with(metadata.name, '{workload.manifest['metadata']['generateName']}')"
        if _has_generated_name(workload)
        else ""
    )


def _event_reference(runner: PathRunner, invariant_break: InvariantBreak) -> dict[str, str]:
    """Return the object reference of events about the pods of a workload."""
    workload = _find_workload(runner, invariant_break)
    metadata = workload.manifest["metadata"]
    if _has_generated_name(workload):
        return {"kind": "Pod", "name": f"{metadata['generateName']}*"}
    return {"kind": "Pod", "name": metadata["name"] if workload.manifest["kind"] == "Pod" else f"{metadata['name']}-*"}


def _check_event(runner: PathRunner, reason: str, about: dict[str, str], description: str) -> RecordedStep:
    """Return the check that there is one more event than before the last move."""
    expected_event = {"reason": reason, "about": about, "countMin": _count_events_before(runner, reason, about) + 1}
    return {"description": description, "expectEvent": {**expected_event, "timeout": _NOW}}


def _count_events_before(runner: PathRunner, reason: str, about: dict[str, str]) -> int:
    """Return how often the event was recorded before the last move."""
    counts: dict[str, int] = {}
    for step in runner.cluster.trace.steps[: runner.records[-1].first_step]:
        for write in step.writes:
            event = write.load_object() if write.resource == EVENTS else {}
            if event.get("reason") == reason and _is_about(event, about):
                counts[write.name] = int(event.get("count") or 1)
    return sum(counts.values())


def _is_about(event: ReadOnlyObject, about: dict[str, str]) -> bool:
    reference = event.get("involvedObject") or {}
    name, wanted = reference.get("name", ""), about["name"]
    same = name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted
    return reference.get("kind") == about["kind"] and same


def _check_count(workload: Workload, which: str, compared: str, description: str) -> RecordedStep:
    """Return a check of the number of a workload's pods that fulfill a condition."""
    prefix = _prefix_expression(workload)
    all_of = f"{prefix} && ({which})" if prefix else which
    check = {f"(length(items[?{all_of}]) {compared})": True}
    return {"description": description, "get": {"kind": "Pod", **_pod_selector(workload), "expect": [{"check": check}]}}


def _remember_running(workload: Workload) -> RecordedStep:
    """Return the step that remembers which pods of a workload run."""
    value = f"(items[?{_RUNNING}].metadata.uid)"
    return {"get": {"kind": "Pod", **_pod_selector(workload), "outputs": [{"name": RAN, "value": value}]}}
