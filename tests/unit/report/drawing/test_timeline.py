"""Timelines: lanes of components and pods, made of what was written."""

from typing import Any

from mockkube.report.drawing.run_timelines import summarize_pods
from mockkube.report.drawing.timeline import Boundary, Timeline, build_timelines
from mockkube.scenario.runner.results import TracedStep, TracedWrite


def pod(number: int, at: float, verb: str, difference: Any, name: str = "default/web-abcde") -> TracedStep:
    return TracedStep(number, at, "kubelet/pods", (TracedWrite(verb, "core/pods", name, difference),))


RUN = (
    pod(1, 0.0, "create", {"spec": {}, "status": {"phase": "Pending"}}),
    pod(2, 1.0, "update", {"spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}}),
    TracedStep(3, 2.0, "component: kubelet gates={'Some': True}", ()),
    pod(4, 3.0, "update", {"status": {"phase": "Failed", "reason": "TaintToleration"}}),
    pod(5, 4.0, "delete", {}),
)


def drawn(*moments: TracedStep, **given: Any) -> Timeline:
    [timeline] = build_timelines(moments, **given)
    return timeline


def test_a_pod_has_a_span_for_each_state_and_a_mark_for_its_end() -> None:
    [lane] = drawn(*RUN).pods
    assert [(span.text, span.tone) for span in lane.spans] == [
        ("Pending", "wait"),
        ("Running on node-1", "good"),
        ("Failed on node-1: TaintToleration", "bad"),
    ]
    assert [mark.text for mark in lane.marks] == ["gone"]


def test_a_component_shows_what_it_was_told_in_the_words_for_its_states() -> None:
    class Words:
        def describe_start(self, component: str) -> str:
            return "gate off"

        def describe_settings(self, component: str, version: str, gates: Any) -> str:
            return f"gate {'on' if gates['Some'] else 'off'}"

    off = TracedStep(6, 5.0, "component: kubelet gates={'Some': False}", ())
    [lane] = drawn(*RUN, off, describer=Words()).components
    assert [(span.text, span.tone) for span in lane.spans] == [
        ("gate off", "idle"),
        ("gate on", "configured"),
        ("gate off", "idle"),
    ]


def test_a_pod_is_gone_when_it_went_and_not_when_something_changes_next() -> None:
    later = TracedStep(6, 90.0, "component: kubelet gates={'Some': False}", ())
    [lane] = drawn(*RUN, later).pods
    assert [(mark.text, mark.at) for mark in lane.marks] == [("gone", 4.0)]


def test_pods_that_lived_alike_share_a_lane_and_no_others() -> None:
    alike = [pod(n, 0.0, "create", {"status": {"phase": "Pending"}}, f"default/web-aaaa{n}") for n in range(9)]
    failed = pod(9, 1.0, "update", {"status": {"phase": "Failed", "reason": "x"}}, "default/web-aaaa8")
    lanes = drawn(*alike, failed).pods
    assert [(lane.name, lane.like) for lane in lanes] == [("web-aaaa0", 7), ("web-aaaa8", 0)]


def test_who_deleted_a_pod_is_told() -> None:
    deleted = TracedStep(3, 2.0, "operator", (TracedWrite("delete", "core/pods", "default/web-abcde", {}),))
    [lane] = drawn(*RUN[:2], deleted).pods
    assert [mark.text for mark in lane.marks] == ["deleted by the user"]


def test_a_chart_goes_to_the_end_of_the_run_and_shows_where_steps_begin() -> None:
    chart = drawn(*RUN[:2], boundaries=[Boundary(0, "1", "1 create"), Boundary(2, "2", "2 advance")], end=600.0)
    assert (chart.moments[-1], [mark.text for mark in chart.boundaries]) == (600.0, ["1 create", "2 advance"])


def test_a_restored_snapshot_begins_a_trial_of_its_own() -> None:
    delete, again = (TracedWrite("delete", "core/pods", "default/late", {}), RUN[0].writes[0])
    moments = [
        RUN[0],
        pod(2, 1.0, "create", {}, "default/late"),
        pod(3, 2.0, "delete", {}),
        TracedStep(4, 3.0, "operator", (delete, again)),
        TracedStep(5, 3.0, "restore: before", ()),
        pod(6, 4.0, "delete", {}),
    ]
    steps = [Boundary(1, "1", "1 snapshot", snapshot="before"), Boundary(3, "2", "2 restore", restores="before")]
    first, second = build_timelines(moments, steps)
    assert [lane.name for lane in first.pods] == ["web-abcde", "late"]
    assert [lane.name for lane in second.pods] == ["web-abcde"]
    assert second.title == 'after step 2 restored the snapshot "before"'


def test_counts_of_pods_add_up() -> None:
    others = [pod(n, 5.0, "create", {}, f"default/web-aaaa{n}") for n in range(6, 9)]
    told = summarize_pods(drawn(*RUN, *others))
    assert told == "**Pods:** 4 pods made (of these, some time: 1 failed). At the end: 3 Pending and 1 gone."
