"""Events in reports."""

from typing import Any

from mockkube.report.sentences.events import annotate_message, merge_events, read_events
from mockkube.scenario.runner.results import TracedStep, TracedWrite


def event(at: float, verb: str, name: str, difference: Any) -> TracedStep:
    return TracedStep(1, at, "w", (TracedWrite(verb, "core/events", name, difference),))


def made(pod: str) -> dict[str, Any]:
    return {
        "reason": "Scheduled",
        "message": f"assigned {pod}",
        "involvedObject": {"kind": "Pod", "name": pod},
        "count": 1,
    }


def test_events_that_differ_in_drawn_names_alone_are_told_once() -> None:
    moments = [event(0.0, "create", "a", made("web-aaaaa")), event(3.0, "create", "b", made("web-bbbbb"))]
    [one] = merge_events(told for _, told in read_events(moments))
    assert (one.object, one.times, one.first, one.last) == ("Pod/web-*", 2, 0.0, 3.0)


def test_an_event_that_is_counted_on_counts() -> None:
    moments = [event(0.0, "create", "a", made("web-aaaaa")), event(3.0, "update", "a", {"count": 7})]
    [one] = merge_events(told for _, told in read_events(moments))
    assert one.times == 7


def test_a_message_that_contradicts_itself_is_marked_as_upstreams_own() -> None:
    odd = 'spec.operator: Unsupported value: "Gt": supported values: "Equal", "Gt"'
    assert annotate_message(odd).startswith(f"{odd} (sic: ")
    assert annotate_message(odd.replace(', "Gt"', "")) == odd.replace(', "Gt"', "")
