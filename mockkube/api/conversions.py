"""The same object in another version of its group, or in another group. Most versions differ by name only."""

from collections.abc import Callable
from typing import Any, Final

from mockkube.api.kinds.autoscaling import versions
from mockkube.api.types import Object

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


def convert(obj: Object, origin: str, target: str) -> Object:
    """The object, of version `origin`, as the version `target` shows it. May share parts with what was given."""
    special = _SPECIAL.get((obj["kind"], origin, target))
    converted = obj if special is None else special(obj)
    return {**converted, "apiVersion": target}


def _renamed(names: dict[str, str]) -> Callable[[Object], Object]:
    return lambda obj: {names.get(key, key): value for key, value in obj.items()}


def events_from_core(obj: Object) -> Object:
    """Return a core/v1 event in the form of events.k8s.io/v1."""
    converted = _renamed(_TO_EVENTS)(obj)
    converted.setdefault("eventTime", None)
    return converted


def core_from_events(obj: Object) -> Object:
    """Return an events.k8s.io/v1 event in the form of core/v1."""
    converted = _renamed(_TO_CORE)(obj)
    for name, empty in (("involvedObject", {}), ("source", {}), ("firstTimestamp", None), ("lastTimestamp", None)):
        converted.setdefault(name, empty)
    converted.setdefault("reportingComponent", "")
    converted.setdefault("reportingInstance", "")
    return converted


_SPECIAL: Final[dict[tuple[str, str, str], Callable[[Object], Any]]] = {
    ("Event", "v1", "events.k8s.io/v1"): events_from_core,
    ("Event", "events.k8s.io/v1", "v1"): core_from_events,
    ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1"): versions.to_v1,
    ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2"): versions.to_v2,
}
