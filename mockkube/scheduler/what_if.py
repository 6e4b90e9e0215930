"""Changes that might let a pod be scheduled, each tried by itself: gates, versions, tolerations, taints, room."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import effective
from mockkube.features.versions import NEWEST, OLDEST, Version
from mockkube.matching.taints import NUMERIC_GATE
from mockkube.proposals.catalogue import PROPOSALS
from mockkube.scheduler.plugins.node_unschedulable import CORDON
from mockkube.scheduler.recorded import NAME
from mockkube.scheduler.why import Case, Explanation, NodeAnswer, WhatIf, amount_text, taint_text

NODES_MAX: Final = 5
"""On how many nodes a change of one node is tried, for each kind of change."""
_GATES: Final = (
    NUMERIC_GATE,
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
    "DRAConsumableCapacity",
    "DRAAdminAccess",
    "NodeDeclaredFeatures",
    "PodLevelResources",
)
"""The released gates that decide whether a node can take a pod."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    kind: str
    component: str
    change: str
    case: Case


async def what_if(case: Case, explanation: Explanation, overrides: Mapping[str, bool]) -> Explanation:
    """Return the explanation with what would let the pod be scheduled; `overrides` are the gates that were set."""
    if explanation.node:
        return explanation
    found = []
    for attempt in _attempts(case, explanation, overrides):
        await case.clock.sleep(0)  # who else works in this process is not kept waiting for all of them
        node = await attempt.case.goes_to()
        if node:
            found.append(WhatIf(attempt.kind, attempt.component, attempt.change, node))
    return replace(explanation, what_if=tuple(found))


def _attempts(case: Case, explanation: Explanation, overrides: Mapping[str, bool]) -> Iterator[_Attempt]:
    yield from _gates(case, overrides)
    yield from _versions(case, overrides)
    yield from _tolerations(case, explanation.refused)
    yield from _taints(case, explanation.refused)
    yield from _cordons(case, explanation.refused)
    yield from _capacity(case, explanation.refused)


# The scheduler itself


def _gates(case: Case, overrides: Mapping[str, bool]) -> Iterator[_Attempt]:
    version = case.caps.version
    for gate in dict.fromkeys((*(proposal.gate for proposal in PROPOSALS), *_GATES)):
        on = not case.caps.enabled(gate)
        caps = _capabilities(version, {**overrides, gate: on})
        if caps.enabled(gate) is on:
            yield _Attempt("gate", NAME, f"{gate}={str(on).lower()}", replace(case, caps=caps))


def _versions(case: Case, overrides: Mapping[str, bool]) -> Iterator[_Attempt]:
    for minor in range(OLDEST.minor, NEWEST.minor + 1):
        version = Version(OLDEST.major, minor)
        if version != case.caps.version:
            caps = _capabilities(version, overrides)
            yield _Attempt("version", NAME, str(version), replace(case, caps=caps))


def _capabilities(version: Version, overrides: Mapping[str, bool]) -> Capabilities:
    return Capabilities(version, effective(version, overrides, component=NAME))


# The pod


def _tolerations(case: Case, refused: Iterable[NodeAnswer]) -> Iterator[_Attempt]:
    for taint in _distinct(_taint_of(answer) for answer in refused):
        toleration = {name: value for name, value in taint.items() if name in ("key", "value", "effect")}
        toleration["operator"] = "Equal" if taint.get("value") else "Exists"
        given = case.pod["spec"].get("tolerations") or []
        pod = {**case.pod, "spec": {**case.pod["spec"], "tolerations": [*given, toleration]}}
        yield _Attempt("toleration", "", f"the pod tolerates {taint_text(taint)}", replace(case, pod=pod))


def _taint_of(answer: NodeAnswer) -> ReadOnlyObject | None:
    if answer.status.plugin == "NodeUnschedulable":
        return CORDON
    taint: ReadOnlyObject | None = answer.status.facts.get("taint")
    return taint


# Nodes


def _taints(case: Case, refused: Iterable[NodeAnswer]) -> Iterator[_Attempt]:
    for answer in _first_few(refused, "TaintToleration"):
        node, taint = _node(case, answer.node), answer.status.facts["taint"]
        left = [one for one in node["spec"].get("taints") or () if one != taint]
        changed = {**node, "spec": {**node["spec"], "taints": left}}
        yield _on_node(case, "taint", f"node {answer.node} loses its taint {taint_text(taint)}", changed)


def _cordons(case: Case, refused: Iterable[NodeAnswer]) -> Iterator[_Attempt]:
    for answer in _first_few(refused, "NodeUnschedulable"):
        node = _node(case, answer.node)
        spec = {name: value for name, value in node["spec"].items() if name != "unschedulable"}
        yield _on_node(case, "cordon", f"node {answer.node} is uncordoned", {**node, "spec": spec})


def _capacity(case: Case, refused: Iterable[NodeAnswer]) -> Iterator[_Attempt]:
    """Yield the nodes with more room, those first that lack least."""
    short = [answer for answer in refused if answer.status.plugin == "NodeResourcesFit"]
    for answer in sorted(short, key=lambda one: _missing(one.status.facts["shortages"][0]))[:NODES_MAX]:
        node, shortages = _node(case, answer.node), answer.status.facts["shortages"]
        more = {one["resource"]: amount_text(one["resource"], one["used"] + one["requested"]) for one in shortages}
        allocatable = {**node["status"].get("allocatable", {}), **more}
        told = ", ".join(f"{amount_text(one['resource'], _missing(one))} more {one['resource']}" for one in shortages)
        changed = {**node, "status": {**node["status"], "allocatable": allocatable}}
        yield _on_node(case, "capacity", f"node {answer.node} has {told}", changed)


def _missing(shortage: Mapping[str, int]) -> int:
    return shortage["used"] + shortage["requested"] - shortage["capacity"]


def _on_node(case: Case, kind: str, change: str, node: Object) -> _Attempt:
    return _Attempt(kind, "", change, replace(case, recording=case.recording.replacing("Node", node)))


def _node(case: Case, name: str) -> ReadOnlyObject:
    return next(node for node in case.recording.objects["Node"] if key_of(node).name == name)


def _first_few(refused: Iterable[NodeAnswer], plugin: str) -> Sequence[NodeAnswer]:
    return [answer for answer in refused if answer.status.plugin == plugin][:NODES_MAX]


def _distinct(taints: Iterable[ReadOnlyObject | None]) -> Sequence[ReadOnlyObject]:
    found = {taint_text(taint): taint for taint in taints if taint is not None}
    return list(found.values())[:NODES_MAX]
