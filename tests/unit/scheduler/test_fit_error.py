"""The message of a pod that no node takes."""

import pytest

from mockkube.scheduler.failure_handler import cut
from mockkube.scheduler.fit_error import FitError, Rejectors, fit_error_on_node
from mockkube.scheduler.framework.interface import Remedy, Verdicts
from mockkube.scheduler.framework.status import Code, Status

CPU, TAINT = Status.unschedulable("Insufficient cpu"), Status.unresolvable("node(s) had untolerated taint(s)")
BOTH = Status.unschedulable("Insufficient cpu", "Insufficient memory")


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        pytest.param(FitError(0), "no nodes available to schedule pods", id="no nodes"),
        pytest.param(
            FitError(2, Verdicts({"a": CPU, "b": TAINT})),
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).",
            id="one each",
        ),
        pytest.param(
            FitError(12, Verdicts({**{f"n{i}": CPU for i in range(10)}, "x": TAINT, "y": TAINT})),
            "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) had untolerated taint(s).",
            id="sorted as text",
        ),
        pytest.param(
            FitError(1, Verdicts({"a": BOTH})),
            "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.",
            id="several reasons of one node",
        ),
        pytest.param(
            FitError(3, Verdicts({"a": CPU}, Status.unresolvable("left out"))),
            "0/3 nodes are available: 1 Insufficient cpu, 2 left out.",
            id="nodes not looked at",
        ),
        pytest.param(FitError(3, for_all="not found"), "0/3 nodes are available: not found.", id="of the pod itself"),
        pytest.param(
            FitError(1, Verdicts({"a": CPU}), remedy=Remedy(Status.unschedulable("one", "two"))),
            "0/1 nodes are available: 1 Insufficient cpu. one, two",
            id="with what was tried",
        ),
    ],
)
def test_the_message_of_a_refusal(refusal, message):
    assert refusal.message == message


def test_rejectors_are_told_apart():
    answers = [("A", Code.UNSCHEDULABLE), ("B", Code.PENDING), ("", Code.UNRESOLVABLE), ("C", Code.ERROR)]
    assert Rejectors.of(answers, ["D"]) == Rejectors(frozenset("ABD"), frozenset("B"))


def test_a_refusal_by_the_chosen_node_counts_one_node():
    assert fit_error_on_node("a", CPU.of("X")).message == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_note_is_cut_to_what_an_event_may_hold():
    assert cut("x" * 1024) == "x" * 1024
    assert cut("x" * 1025) == "x" * 1020 + " ..."
    assert len(cut("é" * 600).encode()) <= 1024
