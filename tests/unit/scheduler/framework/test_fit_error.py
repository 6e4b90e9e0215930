"""The message of a pod that no node takes."""

import pytest

from mockkube.scheduler.cycle.failure_handler import truncate_message
from mockkube.scheduler.framework.fit_error import Diagnosis, FitError, fit_error_on_node
from mockkube.scheduler.framework.interface import NodeToStatus, PostFilterResult
from mockkube.scheduler.framework.status import Code, Status

CPU, TAINT = Status.unschedulable("Insufficient cpu"), Status.unresolvable("node(s) had untolerated taint(s)")
BOTH = Status.unschedulable("Insufficient cpu", "Insufficient memory")


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        pytest.param(FitError(0), "no nodes available to schedule pods", id="no nodes"),
        pytest.param(
            FitError(2, NodeToStatus({"a": CPU, "b": TAINT})),
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).",
            id="one each",
        ),
        pytest.param(
            FitError(12, NodeToStatus({**{f"n{i}": CPU for i in range(10)}, "x": TAINT, "y": TAINT})),
            "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) had untolerated taint(s).",
            id="sorted as text",
        ),
        pytest.param(
            FitError(1, NodeToStatus({"a": BOTH})),
            "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.",
            id="several reasons of one node",
        ),
        pytest.param(
            FitError(3, NodeToStatus({"a": CPU}, Status.unresolvable("left out"))),
            "0/3 nodes are available: 1 Insufficient cpu, 2 left out.",
            id="nodes not looked at",
        ),
        pytest.param(
            FitError(3, pre_filter_message="not found"), "0/3 nodes are available: not found.", id="of the pod itself"
        ),
        pytest.param(
            FitError(
                1, NodeToStatus({"a": CPU}), post_filter_result=PostFilterResult(Status.unschedulable("one", "two"))
            ),
            "0/1 nodes are available: 1 Insufficient cpu. one, two",
            id="with what was tried",
        ),
    ],
)
def test_the_message_of_a_refusal(refusal, message):
    assert refusal.message == message


def test_rejectors_are_told_apart():
    answers = [("A", Code.UNSCHEDULABLE), ("B", Code.PENDING), ("", Code.UNRESOLVABLE), ("C", Code.ERROR)]
    assert Diagnosis.from_rejections(answers, ["D"]) == Diagnosis(frozenset("ABD"), frozenset("B"))


def test_a_refusal_by_the_chosen_node_counts_one_node():
    assert fit_error_on_node("a", CPU.with_plugin("X")).message == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_note_is_cut_to_what_an_event_may_hold():
    assert truncate_message("x" * 1024) == "x" * 1024
    assert truncate_message("x" * 1025) == "x" * 1020 + " ..."
    assert len(truncate_message("é" * 600).encode()) <= 1024
