"""Try single changes that might let a pod be scheduled: gates, versions, the pod, nodes, volumes."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.explain import object_changes
from mockkube.explain.component_variants import Standing
from mockkube.explain.facts import taint_text
from mockkube.explain.gates import gates_for, proposed_for
from mockkube.explain.object_changes import Edit
from mockkube.explain.recorded_cluster import NAME
from mockkube.explain.scheduling import Case, Explanation, NodeAnswer, WhatIf
from mockkube.proposals.outside import trains_for
from mockkube.scheduler.plugins.node_unschedulable import UNSCHEDULABLE_TAINT

# Bound for each kind of change, on nodes, taints and volumes alike: every attempt runs a scheduling cycle.
NODES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Attempt:
    """A scheduling case with one change: of a component, or, if that is empty, of an object."""

    kind: str
    component: str
    change: str
    case: Case


@dataclass(frozen=True, slots=True)
class Success:
    """An attempt after which the pod would be scheduled, and its node."""

    attempt: Attempt
    node: str


async def what_if(case: Case, explanation: Explanation, overrides: Mapping[str, bool]) -> Explanation:
    """Return the explanation with the changes that would help; `overrides` are the gates that were set."""
    if explanation.node:
        return explanation
    found = [one async for one in successes(case, attempts(case, explanation, overrides))]
    remedies = (WhatIf(one.attempt.kind, one.attempt.component, one.attempt.change, one.node) for one in found)
    return replace(explanation, what_if=tuple(remedies))


async def successes(case: Case, tried: Iterable[Attempt]) -> AsyncIterator[Success]:
    """Yield the attempts after which the pod would be scheduled."""
    current_scheduler = await case.scheduler()
    for attempt in tried:
        await case.clock.sleep(0)  # who else works in this process is not kept waiting for all of them
        # Only the pod differs then, so the scheduler of the present cluster serves again: building one is the costly
        # part.
        is_same_cluster = attempt.case.caps is case.caps and attempt.case.recording is case.recording
        scheduler = current_scheduler if is_same_cluster else await attempt.case.scheduler()
        if node := attempt.case.goes_by(scheduler):
            yield Success(attempt, node)


def attempts(case: Case, explanation: Explanation, overrides: Mapping[str, bool]) -> Iterator[Attempt]:
    """Yield the changes worth trying, given the reasons why nodes were rejected."""
    gates = gates_for(case.pod, case.recording.objects, trains_for(case.caps))
    for one in Standing(NAME, case.caps, overrides).variants(gates):
        yield Attempt(one.kind, NAME, one.change, replace(case, caps=one.caps))
    for edit in (*_of_pod(case, explanation), *_of_nodes(case, explanation.refused), *_of_volumes(case, explanation)):
        yield Attempt(edit.kind, "", edit.told, _edited(case, edit))


def upgrades(case: Case, overrides: Mapping[str, bool]) -> Iterator[Attempt]:
    """Yield schedulers of other versions with a proposal's gate flipped, for when nothing simpler helps."""
    gates = proposed_for(case.pod, case.recording.objects, trains_for(case.caps))
    for one in Standing(NAME, case.caps, overrides).upgrades(gates):
        yield Attempt(one.kind, NAME, one.change, replace(case, caps=one.caps))


def _edited(case: Case, edit: Edit) -> Case:
    kind = edit.obj["kind"]
    if kind == "Pod":
        return replace(case, pod=edit.obj)
    return replace(case, recording=case.recording.replacing(kind, edit.obj))


# The pod


def _of_pod(case: Case, explanation: Explanation) -> Iterator[Edit]:
    pod = case.pod
    for taint in _distinct(_taint_of(answer) for answer in explanation.refused):
        yield object_changes.tolerating(pod, taint)
    yield from object_changes.relaxed(pod)
    if pod["spec"].get("schedulingGates"):
        yield object_changes.ungated(pod)
    for profile in explanation.profiles:
        yield object_changes.of_profile(pod, profile)


def _taint_of(answer: NodeAnswer) -> ReadOnlyObject | None:
    if answer.status.plugin == "NodeUnschedulable":
        return UNSCHEDULABLE_TAINT
    taint: ReadOnlyObject | None = answer.status.facts.get("taint")
    return taint


def _distinct(taints: Iterable[ReadOnlyObject | None]) -> Sequence[ReadOnlyObject]:
    found = {taint_text(taint): taint for taint in taints if taint is not None}
    return list(found.values())[:NODES_MAX]


# Nodes


def _of_nodes(case: Case, refused: Sequence[NodeAnswer]) -> Iterator[Edit]:
    """Yield node changes for the rejections that a change of the node can lift."""
    nodes = {key_of(node).name: node for node in case.recording.objects["Node"]}
    for answer in _first_few(refused, "TaintToleration"):
        yield object_changes.without_taint(nodes[answer.node], answer.status.facts["taint"])
    for answer in _first_few(refused, "NodeUnschedulable"):
        yield object_changes.uncordoned(nodes[answer.node])
    # The nodes that lack least come first: the smallest change is the likeliest to be made.
    for answer in _first_few(refused, "NodeResourcesFit", order=lambda one: _missing(one.status.facts["shortages"][0])):
        missing = {one["resource"]: _missing(one) for one in answer.status.facts["shortages"]}
        yield object_changes.roomier(nodes[answer.node], missing)
    for answer in (*_first_few(refused, "NodeAffinity"), *_first_few(refused, "VolumeBinding")):
        for labels in object_changes.labels_for(*_wishes(answer.status.facts)):
            yield object_changes.labelled(nodes[answer.node], labels)


def _wishes(facts: Mapping[str, Any]) -> tuple[ReadOnlyObject, ReadOnlyObject]:
    """Return node selector and required terms of a pod, or of its volume."""
    if "required" in facts:
        return facts["node_selector"], facts["required"]
    return {}, (facts.get("node_affinity") or {}).get("required") or {}


def _missing(shortage: Mapping[str, int]) -> int:
    return shortage["used"] + shortage["requested"] - shortage["capacity"]


def _first_few(
    refused: Iterable[NodeAnswer], plugin: str, order: Callable[[NodeAnswer], Any] | None = None
) -> Sequence[NodeAnswer]:
    """Return the first rejections by a plugin, or the least in the given order."""
    found = [answer for answer in refused if answer.status.plugin == plugin]
    return (found if order is None else sorted(found, key=order))[:NODES_MAX]


# Volumes


def _of_volumes(case: Case, explanation: Explanation) -> Iterator[Edit]:
    names = (answer.status.facts.get("volume") for answer in explanation.refused)
    wanted = list(dict.fromkeys(name for name in names if name))[:NODES_MAX]
    for volume in case.recording.objects.get("PersistentVolume", ()):
        if key_of(volume).name in wanted and (volume["spec"].get("nodeAffinity") or {}).get("required"):
            yield object_changes.free(volume)
