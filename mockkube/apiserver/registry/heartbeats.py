"""Heartbeats: updates that set times of an object and change nothing else, like the renewal of a Lease.

The first heartbeat of a client is processed like any update. It adds a `Heartbeat` to the cached object: the request
that is expected next, and the positions of the times in the stored value. If the same client sends that request, and
nobody has written the object since, the update has the same result with other times. The new value is the stored one
with these times in place; decoding, defaults, managedFields, validation and encoding are left out. Everything else is
as in any update: authorization, the check of the revision, a new resourceVersion, watches.

Heartbeats of many objects that set the same times are sent together, as the names of the objects and the times
(`HeartbeatRound`).
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
    from mockkube_storage.store import BatchStore

    from mockkube.apiserver.registry.cached_object import CachedObject
    from mockkube.apiserver.registry.options import WriteOptions
    from mockkube.apiserver.registry.resource import RequestScope, Resource
    from mockkube.client.protocol import Key

# Times that one heartbeat may set; a node has one per condition.
_TIMES_MAX: Final = 64


class TimePosition(NamedTuple):
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
    """Object as the last one left it and the client sees it; None if that was sent together with others."""
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

    def may_set(self, times: Sequence[Any], written_at: str) -> bool:
        """Return whether a heartbeat with these times is written as it is."""
        # Without a new time nothing would be written. After a step back of the clock managedFields have another order.
        return times != self.times and written_at >= self.written_at


async def repeat_heartbeat(
    resource: Resource, scope: RequestScope, sender: HeartbeatSender, body: Object
) -> RepeatedUpdate | None:
    """Write what an update leads to that repeats the sender's last one; return None if it does not."""
    cached = resource.get_cached(scope.namespace, scope.name)
    if cached is None or (beat := cached.heartbeat) is None or beat.sender != sender:
        return None
    times: list[Any] = [None] * len(beat.formats)
    expected = beat.shown if beat.body is None else beat.body
    if not take_times(body, expected, beat.body_places, times) or not are_canonical(times, beat.formats):
        return None
    written_at = render_time(resource.dependencies.clock.now())
    if not beat.may_set(times, written_at) or _may_be_admitted_anew(resource, scope):
        return None
    dependencies = resource.dependencies
    value = _replace_times(cached.stored_value, beat.positions, _encode(times, written_at))
    try:
        entry = await dependencies.store.update(cached.key, value, expected=cached.revision)
    except store_errors.Conflict:
        return None
    await dependencies.watch_cache.wait_until_at(entry.revision)
    written = find_written(resource, entry)
    _expect_next(cached, written, times, written_at)
    shown = beat.shown = with_times(beat.shown, beat.shown_places, times)
    shown["metadata"] = {**shown["metadata"], "resourceVersion": str(entry.revision)}
    return RepeatedUpdate(written, shown)


class PreparedHeartbeat(NamedTuple):
    """Heartbeat that is ready to be written."""

    cached: CachedObject
    """Object before it."""
    value: bytes
    """Value to store."""


class HeartbeatRound:
    """Heartbeats of one sender at one moment, to objects of one resource, with the same change."""

    def __init__(self, resource: Resource, scope: RequestScope, sender: HeartbeatSender, change: Object) -> None:
        """Take user and subresource from the scope of one of the requests."""
        self._resource, self._scope, self._sender, self._change = resource, scope, sender, change
        declared = resource.strategy.heartbeat_times[scope.subresource]
        formats = find_times(change, declared)
        self._places = find_places(change, declared, {path: number for number, path in enumerate(formats)})
        self._times = _read_times(change, self._places, len(formats))
        self._written_at = render_time(resource.dependencies.clock.now())
        self._encoded_times = list[bytes]()
        # Only times may be changed. Items of lists are found by their keys, which are no times.
        if _has_only(change, self._places) and are_canonical(self._times, tuple(formats.values())):
            self._encoded_times = _encode(self._times, self._written_at)
        # Whether admission may decide anew about updates, by namespace.
        self._decides_anew: dict[str, bool] = {}

    def prepare(self, keys: Sequence[Key]) -> list[PreparedHeartbeat | None]:
        """Return for each object what the update leads to; None if it does not repeat the sender's last one."""
        times, encoded_times, places, written_at = self._times, self._encoded_times, self._places, self._written_at
        if not encoded_times:
            return [None] * len(keys)
        sender, get_cached = self._sender, self._resource.get_cached
        prepared: list[PreparedHeartbeat | None] = []
        for namespace, name in keys:  # hot: per heartbeat
            cached = get_cached(namespace, name)
            beat = None if cached is None else cached.heartbeat
            if (
                cached is None
                or beat is None
                or beat.sender != sender
                or beat.body is not None
                or beat.body_places != places
                or not beat.may_set(times, written_at)
                or self._may_be_admitted_anew(namespace)
            ):
                prepared.append(None)
            else:
                value = _replace_times(cached.stored_value, beat.positions, encoded_times)
                prepared.append(PreparedHeartbeat(cached, value))
        return prepared

    def _may_be_admitted_anew(self, namespace: str) -> bool:
        decides_anew = self._decides_anew.get(namespace)
        if decides_anew is None:
            scope = self._scope if namespace == self._scope.namespace else replace(self._scope, namespace=namespace)
            decides_anew = self._decides_anew[namespace] = _may_be_admitted_anew(self._resource, scope)
        return decides_anew

    async def write(self, store: BatchStore, prepared: Sequence[PreparedHeartbeat]) -> list[bool]:
        """Write heartbeats in one commit; return for each whether it was written, as no other write came before."""
        collection = self._resource.collection
        entries = await store.update_all([(one.cached.key, one.value, one.cached.revision) for one in prepared])
        revisions = [entry.revision for entry in entries if entry is not None]
        if not revisions:
            return [False] * len(entries)
        collection.heartbeats[revisions[0]] = self._change
        try:
            await self._resource.dependencies.watch_cache.wait_until_at(revisions[-1])
        finally:
            del collection.heartbeats[revisions[0]]
        for one, entry in zip(prepared, entries, strict=True):  # hot: per heartbeat
            if entry is not None:
                written = collection.objects.get(entry.key)
                if written is not None and written.revision == entry.revision:
                    _expect_next(one.cached, written, self._times, self._written_at)
                    # Sent alone, the next one would name the new resourceVersion, which the client has not seen.
                    if written.heartbeat is not None:
                        written.heartbeat.shown = None
        return [entry is not None for entry in entries]


def _expect_next(before: CachedObject, written: CachedObject, times: list[Any], written_at: str) -> None:
    """Expect another heartbeat after one."""
    beat, before.heartbeat = before.heartbeat, None
    if beat is not None:
        beat.times, beat.written_at = times, written_at
        written.heartbeat = beat


def _has_only(change: Any, places: Places) -> bool:
    """Return whether a change sets nothing but times at some places."""
    return (
        isinstance(change, dict)
        and change.keys() == places.keys()
        and all(isinstance(place, int) or _has_only(change[name], place) for name, place in places.items())
    )


def _may_be_admitted_anew(resource: Resource, scope: RequestScope) -> bool:
    attributes = AdmissionAttributes(Operation.UPDATE, resource, scope, None, None)
    return resource.dependencies.admission.may_decide_anew(attributes)


def _encode(times: Sequence[str], written_at: str) -> list[bytes]:
    """Return the bytes of times in stored values; the last is the time in managedFields."""
    return [time.encode() for time in (*times, written_at)]


def _replace_times(value: bytes, positions: Sequence[TimePosition], times: Sequence[bytes]) -> bytes:
    # hot: per heartbeat
    parts, at = [], 0
    for start, end, number in positions:
        parts.append(value[at:start])
        parts.append(times[number])
        at = end
    parts.append(value[at:])
    return b"".join(parts)


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
        encoded_before, encoded = ([text.encode() for text in one] for one in (texts_before, texts))
        same_before = len(texts) == len(texts_before) and _replace_times(value, positions, encoded_before)
        same_after = _replace_times(value, positions, encoded)
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
