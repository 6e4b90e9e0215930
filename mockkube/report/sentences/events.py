"""Events of a run, merged where they differ only in generated names and times."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.runner.results import TracedStep

_GENERATED_SUFFIX: Final = re.compile(r"-[a-z0-9]{5}\b")
_NODE: Final = re.compile(r"\bnode node-\d+\b")
_UNSUPPORTED: Final = re.compile(r'Unsupported value: "(\w+)": supported values: ([^\]]*)')
# Prefix that the event recorder of Kubernetes gives to events that it aggregates.
_COMBINED: Final = "(combined from similar events): "
_PLACES: Final = ("core/events", "events.k8s.io/events")


@dataclass(frozen=True, slots=True)
class EventSummary:
    """One event, or several that are alike."""

    first: float
    last: float
    reason: str
    object: str
    message: str
    reporter: str
    times: int = 1


def read_events(moments: Iterable[TracedStep]) -> Iterator[tuple[int, EventSummary]]:
    """Yield the events that were written and the index of their moment; a raised count yields the event again."""
    known: dict[str, tuple[EventSummary, int]] = {}
    for index, moment in enumerate(moments):
        for write in moment.writes:
            if write.resource not in _PLACES or write.verb == "delete" or not isinstance(write.difference, dict):
                continue
            summary, before = known.get(write.name, (None, 0))
            if summary is None or write.verb == "create":
                summary, before = _read_event(moment.at, write.difference), 0
            if summary is None:
                continue
            # An update that does not raise the count must not count the event again.
            count = max(_count_occurrences(write.difference), before + (write.verb == "create"))
            known[write.name] = summary, count
            if count > before:
                yield index, replace(summary, first=moment.at, last=moment.at, times=count - before)


def _count_occurrences(event: dict[str, Any]) -> int:
    """Return the count in an event, or in its series."""
    return int(event.get("count") or (event.get("series") or {}).get("count") or 1)


def merge_events(events: Iterable[EventSummary], *, any_object: bool = False) -> list[EventSummary]:
    """Merge events that differ only in generated names and times; with `any_object`, of all objects of a kind."""
    known: dict[tuple[str, str, str], EventSummary] = {}
    for one in events:
        subject = _GENERATED_SUFFIX.sub("-*", one.object)
        message = _GENERATED_SUFFIX.sub("-*", one.message).removeprefix(_COMBINED)
        key = one.reason, one.object.partition("/")[0] if any_object else subject, _NODE.sub("NODE", message)
        before = known.get(key)
        if before is None:
            known[key] = one
        else:
            known[key] = replace(before, object=subject, message=message, last=one.last, times=before.times + one.times)
    return list(known.values())


def annotate_message(message: str, version: str = "1.36") -> str:
    """Add a note to a message that seems to contradict itself."""
    # Upstream lists all operators as supported even if a gate rejects one of them.
    found = _UNSUPPORTED.search(message)
    if found and f'"{found[1]}"' in found[2]:
        return (
            f"{message} (sic: so says Kubernetes {version}, whose list names all operators, with and without gate; a "
            "note, not part of the message)"
        )
    return message


def _read_event(at: float, event: dict[str, Any]) -> EventSummary | None:
    if "reason" not in event:
        return None
    about = event.get("involvedObject") or event.get("regarding") or {}
    reporter = event.get("reportingComponent") or event.get("reportingController") or ""
    reporter = reporter or (event.get("source") or {}).get("component", "")
    name = f"{about.get('kind', '')}/{about.get('name', '')}"
    message = event.get("message") or event.get("note") or ""
    return EventSummary(at, at, event["reason"], name, message, reporter)
