from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.core.event import EVENT

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
CORE = {
    "apiVersion": "v1",
    "metadata": {"name": "e"},
    "type": "Warning",
    "reason": "Failed",
    "message": "  no such image\n",
    "involvedObject": {"kind": "Pod", "name": "web", "fieldPath": "spec.containers{c}"},
    "source": {"component": "kubelet", "host": "n1"},
    "firstTimestamp": "2026-03-14T11:50:00Z",
    "lastTimestamp": "2026-03-14T11:59:00Z",
    "count": 4,
}
EVENTS = {
    "apiVersion": "events.k8s.io/v1",
    "metadata": {"name": "e"},
    "type": "Normal",
    "reason": "Scheduled",
    "note": "assigned",
    "regarding": {"kind": "Pod", "name": "web"},
    "reportingController": "default-scheduler",
    "reportingInstance": "s-1",
    "eventTime": "2026-03-14T11:59:30.500000Z",
}


def test_an_event_of_the_core_group() -> None:
    shown = ["60s", "Warning", "Failed", "pod/web", "spec.containers{c}", "kubelet, n1", "no such image"]
    assert EVENT.row(CORE, NOW).cells == [*shown, "10m", 4, "e"]


def test_an_event_of_its_own_group() -> None:
    shown = ["29s", "Normal", "Scheduled", "pod/web", "", "default-scheduler, s-1", "assigned"]
    assert EVENT.row(EVENTS, NOW).cells == [*shown, "29s", 1, "e"]


@pytest.mark.parametrize("event", [pytest.param(CORE, id="core"), pytest.param(EVENTS, id="own group")])
def test_a_series_has_the_last_word(event: Object) -> None:
    series = {"count": 9, "lastObservedTime": "2026-03-14T11:59:55.000000Z"}
    cells = EVENT.row({**event, "series": series}, NOW).cells
    assert (cells[0], cells[8]) == ("5s", 9)


def test_an_event_about_nothing_in_particular() -> None:
    cells = EVENT.row({"metadata": {"name": "e"}, "involvedObject": {"kind": "Node"}}, NOW).cells
    assert cells == ["<unknown>", "", "", "node", "", "", "", "<unknown>", 1, "e"]


def test_the_reporting_component_stands_in_for_the_source() -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {}, "reportingComponent": "c"}
    assert EVENT.row(event, NOW).cells[5] == "c"
