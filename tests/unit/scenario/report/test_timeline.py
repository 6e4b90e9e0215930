"""Timelines: lanes of components and pods, made of what was written."""

from typing import Any

from mockkube.scenario.report.runs import render
from mockkube.scenario.report.timeline import LIKE_EACH_OTHER_MAX, build
from mockkube.scenario.results import Moment, Outcome, RunResult, WriteTold


def pod(number: int, at: float, verb: str, difference: Any, name: str = "default/web-abcde") -> Moment:
    return Moment(number, at, "kubelet/pods", (WriteTold(verb, "core/pods", name, difference),))


RUN = (
    pod(1, 0.0, "create", {"spec": {}, "status": {"phase": "Pending"}}),
    pod(2, 1.0, "update", {"spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}}),
    Moment(3, 2.0, "component: kubelet gates={'Some': True}", ()),
    pod(4, 3.0, "update", {"status": {"phase": "Failed", "reason": "TaintToleration"}}),
    pod(5, 4.0, "delete", {}),
)


def test_a_pod_has_a_span_for_each_state_and_a_mark_for_its_end() -> None:
    [lane] = build(RUN).pods
    assert [(span.text, span.tone) for span in lane.spans] == [
        ("Pending", "wait"),
        ("Running on node-1", "good"),
        ("Failed on node-1: TaintToleration", "bad"),
    ]
    assert [mark.text for mark in lane.marks] == ["gone"]


def test_a_component_shows_what_it_was_told() -> None:
    [lane] = build(RUN).components
    assert [span.text for span in lane.spans] == ["as it started", "Some=true"]


def test_of_many_alike_a_few_have_a_lane_those_that_went_wrong_first() -> None:
    alike = [pod(n, 0.0, "create", {"status": {"phase": "Pending"}}, f"default/web-aaaa{n}") for n in range(9)]
    failed = pod(9, 1.0, "update", {"status": {"phase": "Failed", "reason": "x"}}, "default/web-aaaa8")
    lanes = build([*alike, failed]).pods
    assert len(lanes) == LIKE_EACH_OTHER_MAX
    assert lanes[-1].name == "web-aaaa8"
    assert lanes[-1].like == 9 - LIKE_EACH_OTHER_MAX


def test_a_run_is_told_with_its_claim_and_its_timeline() -> None:
    run = RunResult("evicted <at once>", "a.yaml", 0, "", Outcome.PASSED, claim="it stays", holds=False, story=RUN)
    page = render([run])
    assert "evicted &lt;at once&gt;" in page
    assert "does not hold" in page
    assert "Failed on node-1: TaintToleration" in page
