"""Try single changes that might let a pod be scheduled: gates, versions, the pod, nodes, volumes."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.explain import object_changes
from mockkube.explain.component_variants import ComponentFeatures
from mockkube.explain.fact_formatting import format_taint
from mockkube.explain.gates import find_proposal_gates, find_relevant_gates
from mockkube.explain.object_changes import ObjectEdit
from mockkube.explain.recorded_cluster import SCHEDULER_NAME
from mockkube.explain.scheduling import NodeRejection, SchedulingCase, SchedulingExplanation, SchedulingRemedy
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.loading import trains_for
from mockkube.scheduler.plugins.node_unschedulable import UNSCHEDULABLE_TAINT

# Bound for each kind of change, on nodes, taints and volumes alike: every attempt runs a scheduling cycle.
NODES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class SchedulingAttempt:
    """A scheduling case with one change: of a component, or, if that is empty, of an object."""

    kind: str
    component: str
    change: str
    case: SchedulingCase


@dataclass(frozen=True, slots=True)
class SuccessfulAttempt:
    """An attempt after which the pod would be scheduled, and its node."""

    attempt: SchedulingAttempt
    node: str


async def add_remedies(
    case: SchedulingCase, explanation: SchedulingExplanation, overrides: Mapping[str, bool]
) -> SchedulingExplanation:
    """Return the explanation with the changes that would help; `overrides` are the gates that were set."""
    if explanation.node:
        return explanation
    found = [one async for one in find_successes(case, list_attempts(case, explanation, overrides))]
    remedies = (
        SchedulingRemedy(one.attempt.kind, one.attempt.component, one.attempt.change, one.node) for one in found
    )
    return replace(explanation, what_if=tuple(remedies))


async def find_successes(case: SchedulingCase, tried: Iterable[SchedulingAttempt]) -> AsyncIterator[SuccessfulAttempt]:
    """Yield the attempts after which the pod would be scheduled."""
    current_scheduler = await case.build_scheduler()
    for attempt in tried:
        await case.clock.sleep(0)  # who else works in this process is not kept waiting for all of them
        # Only the pod differs then, so the scheduler of the present cluster serves again: building one is the costly
        # part.
        is_same_cluster = attempt.case.caps is case.caps and attempt.case.recording is case.recording
        scheduler = current_scheduler if is_same_cluster else await attempt.case.build_scheduler()
        if node := attempt.case.find_node_with(scheduler):
            yield SuccessfulAttempt(attempt, node)


def list_attempts(
    case: SchedulingCase, explanation: SchedulingExplanation, overrides: Mapping[str, bool]
) -> Iterator[SchedulingAttempt]:
    """Yield the changes worth trying, given the reasons why nodes were rejected."""
    gates = find_relevant_gates(case.pod, case.recording.objects, trains_for(case.caps))
    for one in ComponentFeatures(SCHEDULER_NAME, case.caps, overrides).list_variants(gates):
        yield SchedulingAttempt(one.kind, SCHEDULER_NAME, one.change, replace(case, caps=one.caps))
    for edit in (
        *_pod_edits(case, explanation),
        *_node_edits(case, explanation.refused),
        *_volume_edits(case, explanation),
    ):
        yield SchedulingAttempt(edit.kind, "", edit.description, _apply_edit(case, edit))


def list_upgrade_attempts(case: SchedulingCase, overrides: Mapping[str, bool]) -> Iterator[SchedulingAttempt]:
    """Yield schedulers of other versions with a proposal's gate flipped, for when nothing simpler helps."""
    gates = find_proposal_gates(case.pod, case.recording.objects, trains_for(case.caps))
    for one in ComponentFeatures(SCHEDULER_NAME, case.caps, overrides).list_upgrades(gates):
        yield SchedulingAttempt(one.kind, SCHEDULER_NAME, one.change, replace(case, caps=one.caps))


def _apply_edit(case: SchedulingCase, edit: ObjectEdit) -> SchedulingCase:
    kind = edit.obj["kind"]
    if kind == "Pod":
        return replace(case, pod=edit.obj)
    return replace(case, recording=case.recording.with_replaced(kind, edit.obj))


# The pod


def _pod_edits(case: SchedulingCase, explanation: SchedulingExplanation) -> Iterator[ObjectEdit]:
    pod = case.pod
    for taint in _distinct_taints(_rejecting_taint(answer) for answer in explanation.refused):
        yield object_changes.add_toleration(pod, taint)
    yield from object_changes.remove_constraints(pod)
    if pod["spec"].get("schedulingGates"):
        yield object_changes.remove_scheduling_gates(pod)
    for profile in explanation.profiles:
        yield object_changes.set_profile(pod, profile)


def _rejecting_taint(rejection: NodeRejection) -> ReadOnlyObject | None:
    if rejection.status.plugin == "NodeUnschedulable":
        return UNSCHEDULABLE_TAINT
    taint: ReadOnlyObject | None = rejection.status.facts.get("taint")
    return taint


def _distinct_taints(taints: Iterable[ReadOnlyObject | None]) -> Sequence[ReadOnlyObject]:
    found = {format_taint(taint): taint for taint in taints if taint is not None}
    return list(found.values())[:NODES_MAX]


# Nodes


def _node_edits(case: SchedulingCase, rejections: Sequence[NodeRejection]) -> Iterator[ObjectEdit]:
    """Yield node changes for the rejections that a change of the node can lift."""
    nodes = {key_of(node).name: node for node in case.recording.objects["Node"]}
    for answer in _first_few(rejections, "TaintToleration"):
        yield object_changes.remove_taint(nodes[answer.node], answer.status.facts["taint"])
    for answer in _first_few(rejections, "NodeUnschedulable"):
        yield object_changes.uncordon(nodes[answer.node])
    # The nodes that lack least come first: the smallest change is the likeliest to be made.
    for answer in _first_few(
        rejections, "NodeResourcesFit", order=lambda one: _missing_amount(one.status.facts["shortages"][0])
    ):
        missing = {one["resource"]: _missing_amount(one) for one in answer.status.facts["shortages"]}
        yield object_changes.add_capacity(nodes[answer.node], missing)
    for answer in (*_first_few(rejections, "NodeAffinity"), *_first_few(rejections, "VolumeBinding")):
        for labels in object_changes.find_matching_labels(*_node_requirements(answer.status.facts)):
            yield object_changes.add_labels(nodes[answer.node], labels)


def _node_requirements(facts: Mapping[str, Any]) -> tuple[ReadOnlyObject, ReadOnlyObject]:
    """Return node selector and required terms of a pod, or of its volume."""
    if "required" in facts:
        return facts["node_selector"], facts["required"]
    return {}, (facts.get("node_affinity") or {}).get("required") or {}


def _missing_amount(shortage: Mapping[str, int]) -> int:
    return shortage["used"] + shortage["requested"] - shortage["capacity"]


def _first_few(
    rejections: Iterable[NodeRejection], plugin: str, order: Callable[[NodeRejection], Any] | None = None
) -> Sequence[NodeRejection]:
    """Return the first rejections by a plugin, or the least in the given order."""
    found = [answer for answer in rejections if answer.status.plugin == plugin]
    return (found if order is None else sorted(found, key=order))[:NODES_MAX]


# Volumes


def _volume_edits(case: SchedulingCase, explanation: SchedulingExplanation) -> Iterator[ObjectEdit]:
    names = (answer.status.facts.get("volume") for answer in explanation.refused)
    wanted = list(dict.fromkeys(name for name in names if name))[:NODES_MAX]
    for volume in case.recording.objects.get("PersistentVolume", ()):
        if key_of(volume).name in wanted and (volume["spec"].get("nodeAffinity") or {}).get("required"):
            yield object_changes.remove_volume_affinity(volume)
