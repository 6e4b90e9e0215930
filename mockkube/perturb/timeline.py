"""Timeline of a run: what the controller read and wrote, what others wrote, and the perturbation."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.object_history import RecordedChange, is_noise
from mockkube.perturb.recorder import STARTS, USER, ControllerRequest, RunRecord

CLUSTER: Final = "cluster"
_FIELDS_MAX: Final = 4
_BOOKKEEPING: Final = ("resourceVersion", "managedFields", "generation", "uid", "creationTimestamp")


class EntryKind(StrEnum):
    """Kind of an entry, for colours."""

    STEP = "step"
    READ = "read"
    WRITE = "write"
    FAILED = "failed"
    EVENT = "event"
    CHANGE = "change"
    PERTURBATION = "perturbation"


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One line of a timeline."""

    # Seconds since the beginning of the run.
    at: float
    actor: str
    kind: EntryKind
    text: str


def build_timeline(record: RunRecord) -> list[TimelineEntry]:
    """Return all entries of a run in order of time."""
    entries = [*_list_steps(record), *_list_requests(record), *_list_events(record), *_list_process_events(record),
               *_list_changes(record)]  # fmt: skip
    return sorted(entries, key=lambda one: one.at)


def cut_timeline(all_entries: Sequence[TimelineEntry], before: int = 12, after: int = 25) -> list[TimelineEntry]:
    """Return the entries around the first perturbation, and the last ones; equal ones in a row once."""
    entries = [_merge(list(alike)) for _, alike in groupby(all_entries, lambda one: (one.actor, one.text))]
    # The first events of processes are their starts.
    disturbed = (index for index, one in enumerate(entries) if one.kind is EntryKind.PERTURBATION)
    first = next((index for index in disturbed if entries[index].text != STARTS), len(entries))
    start, end = max(first - before, 0), first + after
    return [*entries[start:end], *entries[max(end, len(entries) - before) :]]


def _merge(alike: Sequence[TimelineEntry]) -> TimelineEntry:
    first = alike[0]
    return first if len(alike) == 1 else replace(first, text=f"{first.text} ({len(alike)} times)")


def _list_steps(record: RunRecord) -> Iterator[TimelineEntry]:
    for step in record.steps:
        text = f"step {step.index}: {step.text}" + (f" fails: {step.message}" if step.message else "")
        yield TimelineEntry(step.began_at - record.began_at, USER, EntryKind.STEP, text)


def _list_requests(record: RunRecord) -> Iterator[TimelineEntry]:
    for one in record.requests:
        if one.is_noise or not one.resource:
            continue
        failed = one.observed.status >= 400
        kind = EntryKind.FAILED if failed else EntryKind.WRITE if one.is_write else EntryKind.READ
        yield TimelineEntry(one.at - record.began_at, one.process, kind, _describe_request(one))


def _describe_request(one: ControllerRequest) -> str:
    observed = one.observed
    place = "/".join(filter(None, (observed.namespace, one.name)))
    cached = " from a cache" if observed.from_cache else ""
    answer = f": {observed.status}" if observed.status else ": open" if observed.verb == "watch" else ": no answer"
    return f"{observed.verb} {one.resource}{f' {place}' if place else ''}{cached}{answer}"


def _list_events(record: RunRecord) -> Iterator[TimelineEntry]:
    for one in record.delivered:
        if not is_noise(one.identity):
            text = f"receives {one.type} {one.identity} at resourceVersion {one.revision}"
            yield TimelineEntry(one.at - record.began_at, one.process, EntryKind.EVENT, text)


def _list_process_events(record: RunRecord) -> Iterator[TimelineEntry]:
    for one in record.process_events:
        yield TimelineEntry(one.at - record.began_at, one.process or "perturbation", EntryKind.PERTURBATION, one.text)


def _list_changes(record: RunRecord) -> Iterator[TimelineEntry]:
    last: dict[object, ReadOnlyObject] = {}
    for change in record.changes:
        before = last.get(change.identity)
        last[change.identity] = change.object
        if not is_noise(change.identity) and change.has_new_content:
            text = f"{change.identity} {_describe_change(change, before)} (resourceVersion {change.revision})"
            yield TimelineEntry(change.at - record.began_at, CLUSTER, EntryKind.CHANGE, text)
        if change.is_deletion:
            last.pop(change.identity, None)


def _describe_change(change: RecordedChange, before: ReadOnlyObject | None) -> str:
    if change.is_deletion:
        return "is deleted"
    if before is None:
        return "changes" if change.is_known else "is created"
    fields = [
        f"{name}.{key}" if key else name
        for name in change.object
        for key in _list_changed_keys(change.object.get(name), before.get(name))
        if key not in _BOOKKEEPING
    ]
    more = f" and {len(fields) - _FIELDS_MAX} more" if len(fields) > _FIELDS_MAX else ""
    return f"changes in {', '.join(fields[:_FIELDS_MAX])}{more}" if fields else "is written again"


def _list_changed_keys(new: Any, old: Any) -> list[str]:
    if new == old:
        return []
    if not isinstance(new, dict) or not isinstance(old, dict):
        return [""]
    return sorted(key for key in {*new, *old} if new.get(key) != old.get(key))
