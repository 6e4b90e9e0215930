"""Make the checks of a counterexample: steps that hold exactly where an invariant is broken."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.explore.harm_explanations import STUCK
from mockkube.explore.harm_judge import is_running
from mockkube.explore.observation.observations import Observation
from mockkube.explore.observation.operator_intent import Workload, is_ready
from mockkube.explore.observation.stored_objects import EVENTS, PODS
from mockkube.explore.path_runner import PathRunner
from mockkube.explore.plans import invariants
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.scenario_recorder import RecordedStep, to_plain
from mockkube.explore.search import InvariantBreak

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


def make_checks(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> HarmChecks:
    """Return the checks that show a break at the end of the path that caused it."""
    before: tuple[RecordedStep, ...] = ()
    if broken.invariant == invariants.ROLLBACK_RESTORES:
        before = (_remember_running(_find_workload(journey, broken)),)
    checks = [*_CHECKS.get(broken.invariant, _check_expected_object)(plan, broken, journey)]
    harms = _HARMS.get(broken.invariant, ())
    about = (one for one in journey.records[-1].explanations if one.workload == broken.workload and one.harm in harms)
    why = next((one.describe() for one in about), "")
    if why and "description" in checks[-1]:
        checks[-1] = {**checks[-1], "description": f"{checks[-1]['description']}: {why}"}
    return HarmChecks(before, tuple(checks))


def _check_eviction(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> Iterable[RecordedStep]:
    fact = _find_observation(journey, broken, ("evicted", "removed"))
    if fact.harm == "removed":
        manifest = _find_workload(journey, broken).manifest
        kind = manifest["kind"]
        about = {"kind": kind, "name": manifest["metadata"]["name"]}
        yield _check_event(
            journey, "SuccessfulDelete", about, f"{kind} pods are taken away although they are tolerated"
        )
    else:
        yield _check_event(
            journey, "TaintManagerEviction", _event_reference(journey, broken), "a pod is evicted that should stay"
        )


def _check_rejection(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> Iterable[RecordedStep]:
    reason = _find_observation(journey, broken, ("rejected",)).reason
    yield _check_event(journey, reason, _event_reference(journey, broken), "a kubelet refuses a pod that has its node")


def _check_pending(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> Iterable[RecordedStep]:
    own = _find_workload(journey, broken)
    waits: dict[str, Any] = {"spec": {"(nodeName == null)": True}, "status": {"phase": "Pending"}}
    if prefix := _prefix_expression(own):
        waits[f"({prefix})"] = True
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": _pod_selector(own), **waits}
    text = "a pod waits for a node that it would get if all had changed"
    yield {"description": text, "assert": {"resource": pod, "timeout": _NOW}}


def _check_lost_field(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> Iterable[RecordedStep]:
    own, fact = _find_workload(journey, broken), _find_observation(journey, broken, ("lost",))
    text = "what users wrote is not in the pods that are stored"
    if fact.kind != "Pod":
        about = {key: own.manifest[key] for key in ("apiVersion", "kind")}
        named = {**about, "metadata": {"name": own.manifest["metadata"]["name"]}}
        lacks = {f"({fact.reason.partition(': ')[0]} == null)": True}
        yield {"description": text, "assert": {"resource": {**named, **lacks}, "timeout": _NOW}}
        return
    pods = journey.intent.list_pods(own, journey.stored)
    lacking = next(iter(one for pod in pods for one in journey.intent.find_lost_tolerations(pod)), None)
    if lacking is not None:
        encoded = json.dumps(to_plain(lacking), sort_keys=True).replace("`", "\\`")
        without = f"!contains(spec.tolerations || `[]`, `{encoded}`)"
    else:
        without = f"{fact.reason} == null"
    yield _check_count(own, without, "> `0`", text)


def _check_hot_loop(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> Iterable[RecordedStep]:
    yield {"advance": _WINDOW}
    rate = {"writes": PODS, "writeVerb": "create", "window": _WINDOW, "min": plan.creations_max}
    yield {"description": "pods are made over and over", "expectRate": rate}


def _check_missing(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> Iterable[RecordedStep]:
    own = _find_workload(journey, broken)
    pods = [pod for pod in journey.intent.list_pods(own, journey.stored) if is_ready(pod)]
    yield _check_count(own, _READY, f"<= `{len(pods)}`", "not all pods are ready that would be if all had changed")


def _check_gone(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> Iterable[RecordedStep]:
    own = _find_workload(journey, broken)
    pods = journey.intent.list_pods(own, journey.stored)
    left = sum(is_running(pod) and pod["metadata"]["uid"] in journey.judge.running_before_down for pod in pods)
    same = f"contains(${RAN}, metadata.uid) && {_RUNNING}"
    fewer = f"<= `{left}` && length(${RAN}) > `{left}`"
    yield _check_count(own, same, fewer, "of the pods that ran before the way down, one is gone")


def _check_expected_object(plan: RolloutPlan, broken: InvariantBreak, journey: PathRunner) -> Iterable[RecordedStep]:
    demand = next(one for one in plan.invariants if one.name == broken.invariant)
    yield {"description": "it is not as demanded", "error": {"resource": to_plain(demand.expected), "timeout": _NOW}}


_CHECKS: Final[dict[str, Callable[[RolloutPlan, InvariantBreak, PathRunner], Iterable[RecordedStep]]]] = {
    invariants.TOLERATED_STAY: _check_eviction,
    invariants.ADMITTED_SCHEDULABLE: _check_pending,
    invariants.BOUND_RUN: _check_rejection,
    invariants.FIELDS_KEPT: _check_lost_field,
    invariants.NO_HOT_LOOP: _check_hot_loop,
    invariants.ROLLBACK_RESTORES: _check_gone,
    invariants.REPLICAS_UP: _check_missing,
}


# What checks are about


def _find_observation(journey: PathRunner, broken: InvariantBreak, harms: Sequence[str]) -> Observation:
    return next(one for one in journey.records[-1].facts if one.harm in harms and one.describe() == broken.text)


def _find_workload(journey: PathRunner, broken: InvariantBreak) -> Workload:
    """Return the workload of a break: of several with one name the last, which still exists."""
    return next(one for one in reversed(journey.intent.workloads) if one.name == broken.workload)


def _pod_selector(own: Workload) -> dict[str, Any]:
    """Return the metadata that selects the pods of a workload."""
    metadata = own.manifest["metadata"]
    namespace = metadata.get("namespace", "default")
    where = {} if namespace == "default" else {"namespace": namespace}
    if own.manifest["kind"] != "Pod":
        return {**where, "labels": to_plain(own.labels)}
    if _has_generated_name(own):
        return {**where, "labels": to_plain(own.labels)} if own.labels else where
    return {**where, "name": metadata["name"]}


def _has_generated_name(own: Workload) -> bool:
    return own.manifest["kind"] == "Pod" and "generateName" in own.manifest["metadata"]


def _prefix_expression(own: Workload) -> str:
    """Return the expression that selects pods by generateName; empty if there is no need."""
    return (
        f"starts_with(metadata.name, '{own.manifest['metadata']['generateName']}')" if _has_generated_name(own) else ""
    )


def _event_reference(journey: PathRunner, broken: InvariantBreak) -> dict[str, str]:
    """Return the object reference of events about the pods of a workload."""
    own = _find_workload(journey, broken)
    metadata = own.manifest["metadata"]
    if _has_generated_name(own):
        return {"kind": "Pod", "name": f"{metadata['generateName']}*"}
    return {"kind": "Pod", "name": metadata["name"] if own.manifest["kind"] == "Pod" else f"{metadata['name']}-*"}


def _check_event(journey: PathRunner, reason: str, about: dict[str, str], description: str) -> RecordedStep:
    """Return the check that there is one more event than before the last move."""
    expected_event = {"reason": reason, "about": about, "countMin": _count_events_before(journey, reason, about) + 1}
    return {"description": description, "expectEvent": {**expected_event, "timeout": _NOW}}


def _count_events_before(journey: PathRunner, reason: str, about: dict[str, str]) -> int:
    """Return how often the event was recorded before the last move."""
    counts: dict[str, int] = {}
    for step in journey.cluster.trace.steps[: journey.records[-1].first_step]:
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


def _check_count(own: Workload, which: str, compared: str, description: str) -> RecordedStep:
    """Return a check of the number of a workload's pods that fulfill a condition."""
    prefix = _prefix_expression(own)
    all_of = f"{prefix} && ({which})" if prefix else which
    check = {f"(length(items[?{all_of}]) {compared})": True}
    return {"description": description, "get": {"kind": "Pod", **_pod_selector(own), "expect": [{"check": check}]}}


def _remember_running(own: Workload) -> RecordedStep:
    """Return the step that remembers which pods of a workload run."""
    value = f"(items[?{_RUNNING}].metadata.uid)"
    return {"get": {"kind": "Pod", **_pod_selector(own), "outputs": [{"name": RAN, "value": value}]}}
