"""Printers for Events of the core group and of events.k8s.io."""

from dataclasses import dataclass
from datetime import datetime

from mockkube.api.printers.ages import UNKNOWN, since
from mockkube.api.printers.reading import name_of, number, section, string, value_at
from mockkube.api.printers.table import NAME, Cell, Column, Printer, text_column, wide_column
from mockkube.api.types import ReadOnlyObject


@dataclass(frozen=True, slots=True)
class Shape:
    """Field names of events in one of the two groups."""

    about: str
    message: str
    first: str
    last: str
    count: str
    source: str
    controller: str


_CORE = Shape("involvedObject", "message", "firstTimestamp", "lastTimestamp", "count", "source", "reportingComponent")
_EVENTS = Shape(
    about="regarding",
    message="note",
    first="deprecatedFirstTimestamp",
    last="deprecatedLastTimestamp",
    count="deprecatedCount",
    source="deprecatedSource",
    controller="reportingController",
)


def event_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an Event."""
    shape = _EVENTS if string(obj, "apiVersion").startswith("events.k8s.io/") else _CORE
    first = _first_seen(obj, shape, now)
    about = section(obj, shape.about)
    return [
        _last_seen(obj, shape, now, first),
        string(obj, "type"),
        string(obj, "reason"),
        _object(about),
        string(about, "fieldPath"),
        _source(obj, shape),
        string(obj, shape.message).strip(),
        first,
        _count(obj, shape),
        name_of(obj),
    ]


def _first_seen(obj: ReadOnlyObject, shape: Shape, now: datetime) -> str:
    seen = since(string(obj, shape.first), now)
    return since(string(obj, "eventTime"), now) if seen == UNKNOWN else seen


def _last_seen(obj: ReadOnlyObject, shape: Shape, now: datetime, first: str) -> str:
    if value_at(obj, "series") is not None:
        return since(string(obj, "series", "lastObservedTime"), now)
    seen = since(string(obj, shape.last), now)
    return first if seen == UNKNOWN else seen


def _count(obj: ReadOnlyObject, shape: Shape) -> int:
    """Return the number of occurrences; events without a count occurred once."""
    if value_at(obj, "series") is not None:
        return number(obj, "series", "count")
    return number(obj, shape.count) or 1


def _object(about: ReadOnlyObject) -> str:
    kind, named = string(about, "kind").lower(), string(about, "name")
    return f"{kind}/{named}" if named else kind


def _source(obj: ReadOnlyObject, shape: Shape) -> str:
    component = string(obj, shape.source, "component") or string(obj, shape.controller)
    instance = string(obj, shape.source, "host") or string(obj, "reportingInstance")
    return f"{component}, {instance}" if instance else component


EVENT = Printer(
    (
        text_column("Last Seen", "How long ago it was last seen."),
        text_column("Type", "Whether it is as it should be."),
        text_column("Reason", "What happened, in a word."),
        text_column("Object", "What it happened to."),
        wide_column("Subobject", "The part of that."),
        wide_column("Source", "Who says so."),
        text_column("Message", "What happened."),
        wide_column("First Seen", "How long ago it was first seen."),
        wide_column("Count", "How often it was seen."),
        Column(NAME.name, NAME.type, NAME.format, NAME.description, priority=1),
    ),
    event_cells,
)
