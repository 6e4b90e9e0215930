"""Event of the core group and of events.k8s.io: strategies, conversion, printer columns."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, number, section, string, value_at
from mockkube.api.printers.ages import UNKNOWN, format_time_since
from mockkube.api.printers.table import NAME_COLUMN, Cell, Column, Printer, text_column, wide_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_format, validate_qualified_name
from mockkube.lazy_dataclasses import dataclass

_EVENT_NAMES: Final = (
    ("message", "note"),
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_TO_EVENTS: Final = dict(_EVENT_NAMES)
_TO_CORE: Final = {new: old for old, new in _EVENT_NAMES}


def _rename_fields(names: dict[str, str]) -> Callable[[Object], Object]:
    return lambda obj: {names.get(key, key): value for key, value in obj.items()}


def to_events_v1(obj: Object) -> Object:
    """Return a core/v1 event in the form of events.k8s.io/v1."""
    converted = _rename_fields(_TO_EVENTS)(obj)
    converted.setdefault("eventTime", None)
    return converted


def to_core_v1(obj: Object) -> Object:
    """Return an events.k8s.io/v1 event in the form of core/v1."""
    converted = _rename_fields(_TO_CORE)(obj)
    for name, empty in (("involvedObject", {}), ("source", {}), ("firstTimestamp", None), ("lastTimestamp", None)):
        converted.setdefault(name, empty)
    converted.setdefault("reportingComponent", "")
    converted.setdefault("reportingInstance", "")
    return converted


_REFERENCE_FIELDS: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_CORE_ONLY_FIELDS: Final = ("firstTimestamp", "lastTimestamp", "count", "source")
# `reason` is listed twice because upstream checks it twice.
_IMMUTABLE_BEFORE_EVENT_TIME: Final = (
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
)
_IMMUTABLE_AFTER_EVENT_TIME: Final = ("action", "related", "reportingController", "reportingInstance")
_STORED_NAMES: Final = {"reportingController": "reportingComponent"}


class EventStrategy(Strategy):
    """Strategy of Event in the core group, which validates little."""

    requires_qualified_finalizers = False
    allow_create_on_update = True
    selectable_field_names = (
        *(f"involvedObject.{name}" for name in _REFERENCE_FIELDS),
        "reason",
        "reportingComponent",
        "source",
        "type",
    )
    # Name of the reporting controller's field in this group.
    controller_field = "reportingComponent"

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a path segment, which is all that upstream requires here."""
        return names.check_path_segment(name)

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return reason, type, source and involved object, under the names of both groups."""
        # Both groups share stored objects and hence these fields; each group has a list of the names it accepts.
        involved, reporter = obj.get("involvedObject") or {}, obj.get("reportingComponent", "")
        fields = {
            "reason": obj.get("reason", ""),
            "reportingComponent": reporter,
            "reportingController": reporter,
            "source": (obj.get("source") or {}).get("component") or reporter,
            "type": obj.get("type", ""),
        }
        for name in _REFERENCE_FIELDS:
            fields[f"involvedObject.{name}"] = fields[f"regarding.{name}"] = involved.get(name, "")
        return fields

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the namespace and, if eventTime is set, the reporting controller."""
        errors = self._validate_namespace(obj)
        if obj.get("eventTime"):
            errors += self._validate_new_style(obj)
        return errors + validate_format(obj["metadata"].get("namespace", ""), "namespace", names.check_dns_subdomain)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation."""
        # The class is named, so that the stricter creation rules of the subclass do not apply to updates.
        return EventStrategy.validate(self, new, context)

    def _validate_namespace(self, obj: ReadOnlyObject) -> list[FieldError]:
        namespace = obj["metadata"].get("namespace", "")
        about = (obj.get("involvedObject") or {}).get("namespace", "")
        # An event about a cluster-scoped object is in `default`, or in `kube-system` if it is of the new style. The
        # namespace of a new-style event is not compared with that of its object.
        if obj.get("eventTime"):
            belongs = bool(about) or namespace in ("default", "kube-system")
        else:
            belongs = namespace == about or (not about and namespace == "default")
        return [] if belongs else [invalid("involvedObject.namespace", about, "does not match event.namespace")]

    def _validate_new_style(self, obj: ReadOnlyObject) -> list[FieldError]:
        controller = obj.get("reportingComponent", "")
        errors = [] if controller else [required(self.controller_field)]
        errors += validate_qualified_name(controller, self.controller_field)
        for name in ("reportingInstance", "action", "reason"):
            errors += _validate_length(obj, name, 128, needed=True)
        return errors + _validate_length(obj, "message", 1024, needed=False)


class EventsEventStrategy(EventStrategy):
    """Strategy of Event in events.k8s.io: eventTime is required, only the series may change."""

    # upstream 1.36: pkg/apis/events/v1/conversion.go
    requires_qualified_finalizers = True
    selectable_field_names = (
        *(f"regarding.{name}" for name in _REFERENCE_FIELDS),
        "reason",
        "reportingController",
        "type",
    )
    controller_field = "reportingController"

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a DNS subdomain."""
        return names.check_dns_subdomain(name, prefix=prefix)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Require eventTime, and reject fields that only core/v1 events use."""
        errors = super().validate(obj, context) + _validate_series(obj)
        if not obj.get("eventTime"):
            errors.append(required("eventTime"))
        if obj.get("type") not in ("Normal", "Warning"):
            errors.append(invalid("type", "", f"has invalid value: {obj.get('type', '')}"))
        return errors + [invalid(name, "", "needs to be unset") for name in _CORE_ONLY_FIELDS if obj.get(name)]

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject changes of anything but the series."""
        errors = super().validate_update(new, old, context)
        if new.get("series") != old.get("series"):
            errors += _validate_series(new)
        for name in ("involvedObject", *_IMMUTABLE_BEFORE_EVENT_TIME, "eventTime", *_IMMUTABLE_AFTER_EVENT_TIME):
            stored = _STORED_NAMES.get(name, name)
            if new.get(stored) != old.get(stored):
                errors.append(invalid(name, _to_internal(new, stored), "field is immutable"))
        return errors


def _validate_length(obj: ReadOnlyObject, name: str, bytes_max: int, *, needed: bool) -> list[FieldError]:
    text = obj.get(name, "")
    if needed and not text:
        return [required(name)]
    if len(text.encode()) > bytes_max:
        return [invalid(name, "", f"can have at most {bytes_max} characters")]
    return []


def _validate_series(obj: ReadOnlyObject) -> list[FieldError]:
    series = obj.get("series")
    if series is None:
        return []
    errors = [] if series.get("count", 0) >= 2 else [invalid("series.count", "", "should be at least 2")]
    return errors if series.get("lastObservedTime") else [*errors, required("series.lastObservedTime")]


def _to_internal(obj: ReadOnlyObject, name: str) -> object:
    """Return a field as error messages print it."""
    value = obj.get(name)
    match name:
        case "involvedObject" | "related":
            return value and {
                go: value.get(go[0].lower() + go[1:], "") for go in _GO_REFERENCE_FIELDS
            } | _go_initialisms(value)
        case "source":
            source = value or {}
            return {"Component": source.get("component", ""), "Host": source.get("host", "")}
        case "count":
            return value or 0
        case "firstTimestamp" | "lastTimestamp" | "eventTime":
            return value
        case _:
            return value or ""


_GO_REFERENCE_FIELDS: Final = ("Kind", "Namespace", "Name", "UID", "APIVersion", "ResourceVersion", "FieldPath")


def _go_initialisms(reference: ReadOnlyObject) -> dict[str, str]:
    return {"UID": reference.get("uid", ""), "APIVersion": reference.get("apiVersion", "")}


@dataclass(frozen=True, slots=True)
class EventFields:
    """Field names of events in one of the two groups."""

    about: str
    message: str
    first: str
    last: str
    count: str
    source: str
    controller: str


_CORE_FIELDS = EventFields(
    "involvedObject", "message", "firstTimestamp", "lastTimestamp", "count", "source", "reportingComponent"
)
_EVENTS_FIELDS = EventFields(
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
    field_names = _EVENTS_FIELDS if string(obj, "apiVersion").startswith("events.k8s.io/") else _CORE_FIELDS
    first = _format_first_seen(obj, field_names, now)
    about = section(obj, field_names.about)
    return [
        _format_last_seen(obj, field_names, now, first),
        string(obj, "type"),
        string(obj, "reason"),
        _format_object(about),
        string(about, "fieldPath"),
        _format_source(obj, field_names),
        string(obj, field_names.message).strip(),
        first,
        _count_occurrences(obj, field_names),
        name_of(obj),
    ]


def _format_first_seen(obj: ReadOnlyObject, field_names: EventFields, now: datetime) -> str:
    first = format_time_since(string(obj, field_names.first), now)
    return format_time_since(string(obj, "eventTime"), now) if first == UNKNOWN else first


def _format_last_seen(obj: ReadOnlyObject, field_names: EventFields, now: datetime, first: str) -> str:
    if value_at(obj, "series") is not None:
        return format_time_since(string(obj, "series", "lastObservedTime"), now)
    last = format_time_since(string(obj, field_names.last), now)
    return first if last == UNKNOWN else last


def _count_occurrences(obj: ReadOnlyObject, field_names: EventFields) -> int:
    """Return the number of occurrences; events without a count occurred once."""
    if value_at(obj, "series") is not None:
        return number(obj, "series", "count")
    return number(obj, field_names.count) or 1


def _format_object(about: ReadOnlyObject) -> str:
    kind, name = string(about, "kind").lower(), string(about, "name")
    return f"{kind}/{name}" if name else kind


def _format_source(obj: ReadOnlyObject, field_names: EventFields) -> str:
    component = string(obj, field_names.source, "component") or string(obj, field_names.controller)
    instance = string(obj, field_names.source, "host") or string(obj, "reportingInstance")
    return f"{component}, {instance}" if instance else component


EVENT = Printer(
    (
        text_column("Last Seen", "Time since the last occurrence."),
        text_column("Type", "Type of the event: Normal or Warning."),
        text_column("Reason", "Reason of the event."),
        text_column("Object", "The involved object."),
        wide_column("Subobject", "The involved part of the object."),
        wide_column("Source", "The component that reports the event."),
        text_column("Message", "Description of the event."),
        wide_column("First Seen", "Time since the first occurrence."),
        wide_column("Count", "Number of occurrences."),
        Column(NAME_COLUMN.name, NAME_COLUMN.type, NAME_COLUMN.format, NAME_COLUMN.description, priority=1),
    ),
    event_cells,
)

EVENT_KIND: Final = Kind(
    "",
    "Event",
    "events",
    short_names=("ev",),
    strategy=lambda _: EventStrategy(),
    printer=EVENT,
    conversions={("v1", "events.k8s.io/v1"): to_events_v1, ("events.k8s.io/v1", "v1"): to_core_v1},
)
EVENTS_EVENT_KIND: Final = Kind(
    "events.k8s.io",
    "Event",
    "events",
    short_names=("ev",),
    stored_as=("", "events"),
    strategy=lambda _: EventsEventStrategy(),
    printer=EVENT,
    conversions={("v1", "events.k8s.io/v1"): to_events_v1, ("events.k8s.io/v1", "v1"): to_core_v1},
)
