"""Heartbeats: updates that set times of an object and change nothing else, like the renewal of a Lease.

The first heartbeat of a client is processed like any update. It adds a `Heartbeat` to the cached object: the request
that is expected next, and the positions of the times in the stored value. If the same client sends that request, and
nobody has written the object since, the update has the same result with other times. The new value is the stored one
with these times in place; decoding, defaults, managedFields, validation and encoding are left out. Everything else is
as in any update: authorization, the check of the revision, a new resourceVersion, watches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import eq
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockkube_storage import errors as store_errors

from mockkube.api.heartbeat_times import (
    AmbiguousItems,
    Canonicalize,
    HeartbeatTimes,
    Places,
    TimePath,
    are_canonical,
    find_places,
    find_times,
    take_times,
    with_times,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.managers import UPDATE
from mockkube.api.times import render_time
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.creation import find_written
from mockkube.apiserver.registry.managed_fields import manager_name
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube_storage.model import Entry
    from mockkube_storage.store import BatchStore

    from mockkube.apiserver.registry.options import WriteOptions
    from mockkube.apiserver.registry.resource import RequestScope, Resource
    from mockkube.apiserver.registry.watch_cache import CachedObject

# Times that one heartbeat may set; a node has one per condition.
_TIMES_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class TimePosition:
    """Place of a time in a stored value: its first byte, the byte after it, and the number of the time."""

    start: int
    end: int
    number: int


class HeartbeatSender(NamedTuple):
    """Sender of equal requests: a client with the same rights and options each time, with a verb and a subresource."""

    client: object
    verb: str
    subresource: str


class RepeatedUpdate(NamedTuple):
    """Object after an update that repeats another: as it is stored, and as the client sees it."""

    object: CachedObject
    shown: ReadOnlyObject


@dataclass(slots=True)
class Heartbeat:
    """Update of an object that is expected to repeat."""

    sender: HeartbeatSender
    shown: Any
    """Object as the last one left it and the client sees it."""
    shown_places: Places
    body: Any
    """Body of the next one but for times; None if it is the object as the client sees it."""
    body_places: Places
    formats: Sequence[Canonicalize]
    positions: Sequence[TimePosition]
    """Positions of the times in the stored value; the number after the last is the time in managedFields."""
    times: list[Any]
    """Times that the last one set."""
    written_at: str
    """Time of the last one in managedFields; empty if the object has none."""


class PreparedHeartbeat(NamedTuple):
    """Heartbeat that is ready to be written."""

    cached: CachedObject
    """Object before it."""
    heartbeat: Heartbeat
    times: list[Any]
    written_at: str
    value: bytes
    """Value to store."""


class HeartbeatRound:
    """Heartbeats of one sender, to objects of one resource, at one moment."""

    def __init__(self, resource: Resource, scope: RequestScope, sender: HeartbeatSender) -> None:
        """Take user and subresource from the scope of one of the requests."""
        self._resource, self._scope, self._sender = resource, scope, sender
        self._written_at = render_time(resource.dependencies.clock.now())
        # Whether admission may decide anew about updates, by namespace.
        self._decides_anew: dict[str, bool] = {}
        # Times that were canonical, and their formats: most heartbeats of a round set the same.
        self._canonical_times: tuple[Sequence[Any], Sequence[Canonicalize]] = ((), ())

    def prepare(self, namespace: str, name: str, body: Object) -> PreparedHeartbeat | None:  # hot: per heartbeat
        """Return what an update leads to that repeats the sender's last one; None if it does not."""
        cached = self._resource.get_cached(namespace, name)
        if cached is None or (beat := cached.heartbeat) is None or beat.sender != self._sender:
            return None
        times: list[Any] = [None] * len(beat.formats)
        expected = beat.shown if beat.body is None else beat.body
        if not take_times(body, expected, beat.body_places, times) or not self._are_canonical(times, beat.formats):
            return None
        written_at = self._written_at
        # Without a new time nothing would be written. After a step back of the clock managedFields have another order.
        if times == beat.times or written_at < beat.written_at or self._may_be_admitted_anew(namespace):
            return None
        value = _replace_times(cached.stored_value, beat.positions, [*times, written_at])
        return PreparedHeartbeat(cached, beat, times, written_at, value)

    def _are_canonical(self, times: Sequence[Any], formats: Sequence[Canonicalize]) -> bool:
        if (times, formats) == self._canonical_times:
            return True
        if not are_canonical(times, formats):
            return False
        self._canonical_times = times, formats
        return True

    def _may_be_admitted_anew(self, namespace: str) -> bool:
        decides_anew = self._decides_anew.get(namespace)
        if decides_anew is None:
            scope = self._scope if namespace == self._scope.namespace else replace(self._scope, namespace=namespace)
            decides_anew = self._decides_anew[namespace] = _may_be_admitted_anew(self._resource, scope)
        return decides_anew


async def repeat_heartbeat(
    resource: Resource, scope: RequestScope, sender: HeartbeatSender, body: Object
) -> RepeatedUpdate | None:
    """Write what an update leads to that repeats the sender's last one; return None if it does not."""
    prepared = HeartbeatRound(resource, scope, sender).prepare(scope.namespace, scope.name, body)
    if prepared is None:
        return None
    dependencies, cached = resource.dependencies, prepared.cached
    try:
        entry = await dependencies.store.update(cached.key, prepared.value, expected=cached.revision)
    except store_errors.Conflict:
        return None
    await dependencies.watch_cache.wait_until_at(entry.revision)
    return _finish(resource, prepared, entry)


async def repeat_heartbeats(
    resource: Resource, store: BatchStore, prepared: Sequence[PreparedHeartbeat]
) -> list[RepeatedUpdate | None]:
    """Write heartbeats of one moment in one commit; return None for each object that was written meanwhile."""
    entries = await store.update_all([(one.cached.key, one.value, one.cached.revision) for one in prepared])
    revisions = [entry.revision for entry in entries if entry is not None]
    being_applied = resource.collection.heartbeat_revisions
    being_applied.update(revisions)
    try:
        await resource.dependencies.watch_cache.wait_until_at(max(revisions, default=0))
    finally:
        being_applied.difference_update(revisions)
    return [
        None if entry is None else _finish(resource, one, entry) for one, entry in zip(prepared, entries, strict=True)
    ]


def _finish(resource: Resource, prepared: PreparedHeartbeat, entry: Entry) -> RepeatedUpdate:  # hot: per heartbeat
    """Return the object after a heartbeat, and expect the next one."""
    written, beat = find_written(resource, entry), prepared.heartbeat
    prepared.cached.heartbeat, written.heartbeat = None, beat
    beat.times, beat.written_at = prepared.times, prepared.written_at
    shown = beat.shown = with_times(beat.shown, beat.shown_places, prepared.times)
    shown["metadata"] = {**shown["metadata"], "resourceVersion": str(entry.revision)}
    return RepeatedUpdate(written, shown)


def _may_be_admitted_anew(resource: Resource, scope: RequestScope) -> bool:
    attributes = AdmissionAttributes(Operation.UPDATE, resource, scope, None, None)
    return resource.dependencies.admission.may_decide_anew(attributes)


def _replace_times(value: bytes, positions: Sequence[TimePosition], times: Sequence[str]) -> bytes:
    parts, at = list[bytes](), 0
    for position in positions:
        parts += (value[at : position.start], times[position.number].encode())
        at = position.end
    return b"".join((*parts, value[at:]))


@dataclass(frozen=True, slots=True)
class ObservedUpdate:
    """Update that was processed in full, and may be the first of many heartbeats."""

    sender: HeartbeatSender
    body: Object
    before: CachedObject
    after: CachedObject
    shown: ReadOnlyObject
    """Object after it as the client sees it."""


def note_heartbeat(resource: Resource, scope: RequestScope, options: WriteOptions, update: ObservedUpdate) -> None:
    """Expect another heartbeat if an update was one."""
    before, after, body, shown = update.before, update.after, update.body, update.shown
    declared = resource.strategy.heartbeat_times[scope.subresource]
    is_plain = resource.storage_resource is resource and before.stored_value and after.stored_value
    if not is_plain or before is after or scope.warnings or _may_be_admitted_anew(resource, scope):
        return
    try:
        formats = find_times(body, declared)
        numbers = {path: number for number, path in enumerate(formats)}
        body_places, shown_places = (find_places(one, declared, numbers) for one in (body, shown))
        times = _read_times(body, body_places, len(numbers))
        if not 0 < len(times) <= _TIMES_MAX or _read_times(shown, shown_places, len(numbers)) != times:
            return
        stored = _StoredTimes.find(resource, scope, options, declared, numbers, before, after)
    except AmbiguousItems:
        return
    # A time that was not set anew may not come from the request.
    if stored is None or stored.new != times or any(map(eq, stored.new, stored.old)):
        return
    is_patch = update.sender.verb == "patch"
    if not is_patch and not _is_shown_object(body, body_places, before, shown):
        return
    after.heartbeat = Heartbeat(
        update.sender,
        shown,
        shown_places,
        encoding.loads(encoding.dumps(body)) if is_patch else None,  # the caller may change its body later
        body_places,
        tuple(formats.values()),
        stored.positions,
        times,
        stored.written_at,
    )


def _is_shown_object(body: Object, places: Places, before: CachedObject, shown: ReadOnlyObject) -> bool:
    """Return whether the body of an update is the object as the client sees it, but for times."""
    metadata = body["metadata"]
    if metadata.get("resourceVersion") != str(before.revision):
        return False
    version = shown["metadata"]["resourceVersion"]
    alike = {**body, "metadata": {**metadata, "resourceVersion": version}}
    return take_times(alike, shown, places, [None] * _TIMES_MAX)


def _read_times(value: ReadOnlyObject, places: Places, count: int) -> list[Any]:
    times: list[Any] = [None] * count
    take_times(value, value, places, times)
    return times


@dataclass(frozen=True, slots=True)
class _StoredTimes:
    """Times in two stored values that differ in nothing else."""

    old: list[Any]
    new: list[Any]
    written_at: str
    positions: Sequence[TimePosition]

    @classmethod
    def find(
        cls,
        resource: Resource,
        scope: RequestScope,
        options: WriteOptions,
        declared: HeartbeatTimes,
        numbers: Mapping[TimePath, int],
        before: CachedObject,
        after: CachedObject,
    ) -> _StoredTimes | None:
        """Return the times before and after an update; None if it changed anything else."""
        old, new = before.load(), after.load()
        places_before, places = (find_places(one, declared, numbers) for one in (old, new))
        old_times, new_times = _read_times(old, places_before, len(numbers)), _read_times(new, places, len(numbers))
        written_before, written = (_find_written_at(resource, scope, options, one) for one in (old, new))
        texts_before, texts = [*old_times, *written_before], [*new_times, *written]
        written_at = texts[-1] if written else ""
        if None in texts or None in texts_before:
            return None
        # Encoded once more with marks in place of the times, which show where each is.
        marks = [f"~time-{number}".ljust(len(text), "~") for number, text in enumerate(texts)]
        marked = with_times(new, places, marks)
        if written:
            *others, own = new["metadata"]["managedFields"]
            marked["metadata"] = {**new["metadata"], "managedFields": [*others, {**own, "time": marks[-1]}]}
        value = encoding.encode_stored(marked, resource.tag)
        positions = _find_marks(value, marks)
        same_before = len(texts) == len(texts_before) and _replace_times(value, positions, texts_before)
        same_after = _replace_times(value, positions, texts)
        is_heartbeat = (same_before, same_after) == (before.stored_value, after.stored_value)
        return cls(old_times, new_times, written_at, positions) if positions and is_heartbeat else None


def _find_marks(value: bytes, marks: Sequence[str]) -> Sequence[TimePosition]:
    """Return where each mark is; nothing unless each is there once."""
    if any(value.count(mark.encode()) != 1 for mark in marks):
        return ()
    found = [TimePosition(at := value.index(mark.encode()), at + len(mark), i) for i, mark in enumerate(marks)]
    return tuple(sorted(found, key=lambda one: one.start))


def _find_written_at(
    resource: Resource, scope: RequestScope, options: WriteOptions, obj: ReadOnlyObject
) -> tuple[str | None, ...]:
    """Return the time of the manager's entry in managedFields; nothing if an object has none, None otherwise."""
    entries = obj["metadata"].get("managedFields")
    # An object that is stored without managers stays without.
    if not entries:
        return ()
    name = manager_name(options.field_manager, scope.user_agent) or "unknown"
    own = (name, UPDATE, resource.api_version, scope.subresource)
    # A later time does not change the place of the last entry.
    last = entries[-1]
    found = (last.get("manager"), last.get("operation"), last.get("apiVersion"), last.get("subresource", ""))
    return (last.get("time") if found == own else None,)
