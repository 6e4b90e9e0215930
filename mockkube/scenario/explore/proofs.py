"""Make the checks of a counterexample: steps that hold exactly where an invariant is broken."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.scenario.explore import invariants
from mockkube.scenario.explore.explaining import STUCK
from mockkube.scenario.explore.intent import Workload, ready
from mockkube.scenario.explore.judging import runs
from mockkube.scenario.explore.mirror import EVENTS, PODS
from mockkube.scenario.explore.observing import Fact
from mockkube.scenario.explore.plan import Plan
from mockkube.scenario.explore.script import ScriptStep, plain
from mockkube.scenario.explore.search import Break
from mockkube.scenario.explore.stepping import Journey

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
class Proof:
    """Checks to insert before the direction down, and at the end."""

    at_turning: tuple[ScriptStep, ...]
    at_end: tuple[ScriptStep, ...]


def proof(plan: Plan, broken: Break, journey: Journey) -> Proof:
    """Return the checks that show a break at the end of the path that caused it."""
    before: tuple[ScriptStep, ...] = ()
    if broken.invariant == invariants.ROLLBACK_RESTORES:
        before = (_ran(_workload(journey, broken)),)
    checks = [*_CHECKS.get(broken.invariant, _demanded)(plan, broken, journey)]
    harms = _HARMS.get(broken.invariant, ())
    about = (one for one in journey.told[-1].why if one.workload == broken.workload and one.harm in harms)
    why = next((one.told() for one in about), "")
    if why and "description" in checks[-1]:
        checks[-1] = {**checks[-1], "description": f"{checks[-1]['description']}: {why}"}
    return Proof(before, tuple(checks))


def _evicted(plan: Plan, broken: Break, journey: Journey) -> Iterable[ScriptStep]:
    fact = _fact(journey, broken, ("evicted", "removed"))
    if fact.harm == "removed":
        manifest = _workload(journey, broken).manifest
        kind = manifest["kind"]
        about = {"kind": kind, "name": manifest["metadata"]["name"]}
        yield _told(journey, "SuccessfulDelete", about, f"{kind} pods are taken away although they are tolerated")
    else:
        yield _told(journey, "TaintManagerEviction", _pods_of(journey, broken), "a pod is evicted that should stay")


def _rejected(plan: Plan, broken: Break, journey: Journey) -> Iterable[ScriptStep]:
    reason = _fact(journey, broken, ("rejected",)).reason
    yield _told(journey, reason, _pods_of(journey, broken), "a kubelet refuses a pod that has its node")


def _waiting(plan: Plan, broken: Break, journey: Journey) -> Iterable[ScriptStep]:
    own = _workload(journey, broken)
    waits: dict[str, Any] = {"spec": {"(nodeName == null)": True}, "status": {"phase": "Pending"}}
    if prefix := _of_prefix(own):
        waits[f"({prefix})"] = True
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": _naming(own), **waits}
    text = "a pod waits for a node that it would get if all had changed"
    yield {"description": text, "assert": {"resource": pod, "timeout": _NOW}}


def _lost(plan: Plan, broken: Break, journey: Journey) -> Iterable[ScriptStep]:
    own, fact = _workload(journey, broken), _fact(journey, broken, ("lost",))
    text = "what users wrote is not in the pods that are stored"
    if fact.kind != "Pod":
        about = {key: own.manifest[key] for key in ("apiVersion", "kind")}
        named = {**about, "metadata": {"name": own.manifest["metadata"]["name"]}}
        lacks = {f"({fact.reason.partition(': ')[0]} == null)": True}
        yield {"description": text, "assert": {"resource": {**named, **lacks}, "timeout": _NOW}}
        return
    pods = journey.intent.pods(own, journey.mirror)
    lacking = next(iter(one for pod in pods for one in journey.intent.lost(pod)), None)
    if lacking is not None:
        written = json.dumps(plain(lacking), sort_keys=True).replace("`", "\\`")
        without = f"!contains(spec.tolerations || `[]`, `{written}`)"
    else:
        without = f"{fact.reason} == null"
    yield _count(own, without, "> `0`", text)


def _looping(plan: Plan, broken: Break, journey: Journey) -> Iterable[ScriptStep]:
    yield {"advance": _WINDOW}
    rate = {"writes": PODS, "writeVerb": "create", "window": _WINDOW, "min": plan.creations_max}
    yield {"description": "pods are made over and over", "expectRate": rate}


def _missing(plan: Plan, broken: Break, journey: Journey) -> Iterable[ScriptStep]:
    own = _workload(journey, broken)
    pods = [pod for pod in journey.intent.pods(own, journey.mirror) if ready(pod)]
    yield _count(own, _READY, f"<= `{len(pods)}`", "not all pods are ready that would be if all had changed")


def _gone(plan: Plan, broken: Break, journey: Journey) -> Iterable[ScriptStep]:
    own = _workload(journey, broken)
    pods = journey.intent.pods(own, journey.mirror)
    left = sum(runs(pod) and pod["metadata"]["uid"] in journey.judging.ran for pod in pods)
    same = f"contains(${RAN}, metadata.uid) && {_RUNNING}"
    fewer = f"<= `{left}` && length(${RAN}) > `{left}`"
    yield _count(own, same, fewer, "of the pods that ran before the way down, one is gone")


def _demanded(plan: Plan, broken: Break, journey: Journey) -> Iterable[ScriptStep]:
    demand = next(one for one in plan.demands if one.name == broken.invariant)
    yield {"description": "it is not as demanded", "error": {"resource": plain(demand.expected), "timeout": _NOW}}


_CHECKS: Final[dict[str, Callable[[Plan, Break, Journey], Iterable[ScriptStep]]]] = {
    invariants.TOLERATED_STAY: _evicted,
    invariants.ADMITTED_SCHEDULABLE: _waiting,
    invariants.BOUND_RUN: _rejected,
    invariants.FIELDS_KEPT: _lost,
    invariants.NO_HOT_LOOP: _looping,
    invariants.ROLLBACK_RESTORES: _gone,
    invariants.REPLICAS_UP: _missing,
}


# What checks are about


def _fact(journey: Journey, broken: Break, harms: Sequence[str]) -> Fact:
    return next(one for one in journey.told[-1].facts if one.harm in harms and one.told() == broken.text)


def _workload(journey: Journey, broken: Break) -> Workload:
    """Return the workload of a break: of several with one name the last, which still exists."""
    return next(one for one in reversed(journey.intent.workloads) if one.name == broken.workload)


def _naming(own: Workload) -> dict[str, Any]:
    """Return the metadata that selects the pods of a workload."""
    metadata = own.manifest["metadata"]
    namespace = metadata.get("namespace", "default")
    where = {} if namespace == "default" else {"namespace": namespace}
    if own.manifest["kind"] != "Pod":
        return {**where, "labels": plain(own.labels)}
    if _is_drawn(own):
        return {**where, "labels": plain(own.labels)} if own.labels else where
    return {**where, "name": metadata["name"]}


def _is_drawn(own: Workload) -> bool:
    return own.manifest["kind"] == "Pod" and "generateName" in own.manifest["metadata"]


def _of_prefix(own: Workload) -> str:
    """Return the expression that selects pods by generateName; empty if there is no need."""
    return f"starts_with(metadata.name, '{own.manifest['metadata']['generateName']}')" if _is_drawn(own) else ""


def _pods_of(journey: Journey, broken: Break) -> dict[str, str]:
    """Return the object reference of events about the pods of a workload."""
    own = _workload(journey, broken)
    metadata = own.manifest["metadata"]
    if _is_drawn(own):
        return {"kind": "Pod", "name": f"{metadata['generateName']}*"}
    return {"kind": "Pod", "name": metadata["name"] if own.manifest["kind"] == "Pod" else f"{metadata['name']}-*"}


def _told(journey: Journey, reason: str, about: dict[str, str], description: str) -> ScriptStep:
    """Return the check that there is one more event than before the last move."""
    told = {"reason": reason, "about": about, "countMin": _told_before(journey, reason, about) + 1}
    return {"description": description, "expectEvent": {**told, "timeout": _NOW}}


def _told_before(journey: Journey, reason: str, about: dict[str, str]) -> int:
    """Return how often the event was recorded before the last move."""
    counts: dict[str, int] = {}
    for step in journey.laboratory.trace.steps[: journey.told[-1].first]:
        for write in step.writes:
            event = write.object() if write.resource == EVENTS else {}
            if event.get("reason") == reason and _is_about(event, about):
                counts[write.name] = int(event.get("count") or 1)
    return sum(counts.values())


def _is_about(event: ReadOnlyObject, about: dict[str, str]) -> bool:
    reference = event.get("involvedObject") or {}
    name, wanted = reference.get("name", ""), about["name"]
    same = name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted
    return reference.get("kind") == about["kind"] and same


def _count(own: Workload, which: str, compared: str, description: str) -> ScriptStep:
    """Return a check of the number of a workload's pods that fulfill a condition."""
    prefix = _of_prefix(own)
    all_of = f"{prefix} && ({which})" if prefix else which
    check = {f"(length(items[?{all_of}]) {compared})": True}
    return {"description": description, "get": {"kind": "Pod", **_naming(own), "expect": [{"check": check}]}}


def _ran(own: Workload) -> ScriptStep:
    """Return the step that remembers which pods of a workload run."""
    value = f"(items[?{_RUNNING}].metadata.uid)"
    return {"get": {"kind": "Pod", **_naming(own), "outputs": [{"name": RAN, "value": value}]}}
