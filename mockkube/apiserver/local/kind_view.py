"""View of one kind for components of one version: each stored object is decoded once and shared."""

from collections import deque
from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import Expired
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.local.shared_values import SharedValues
from mockkube.apiserver.local.spec_templates import SpecTemplates
from mockkube.apiserver.registry import watching
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType
from mockkube.apiserver.registry.watching import CacheWatchEvent, has_room
from mockkube.client.protocol import Heartbeats, Key, WatchEnded, WatchEvent, WatchEventType
from mockkube.client.versioned_decoder import ObjectDecoder, keep_all_fields
from mockkube.runtime.steps import Signal

# At least so many replaced objects stay decoded: a watcher that is behind still receives them.
REPLACED_MAX: Final = 256
# Total size of these; fewer of larger objects are kept.
REPLACED_BYTES_MAX: Final = 4 * 1024 * 1024

# So many decoded objects wait until their values are shared: most pods are bound, and so replaced, before their turn.
UNSHARED_MAX: Final = 1024

# Replaced objects that stay decoded although every watcher may have received them.
_RECEIVED_MAX: Final = 64

# Smaller objects share no parts: Leases, for one, are replaced every few seconds.
_SHARED_BYTES_MIN: Final = 1024

# Components know the types of the watch protocol, not those of the watch cache.
_TYPES: Final = {
    ChangeType.ADDED: WatchEventType.ADDED,
    ChangeType.MODIFIED: WatchEventType.MODIFIED,
    ChangeType.DELETED: WatchEventType.DELETED,
}


class KindView:
    """A resource as one version of a component decodes it."""

    def __init__(self, resource: Resource, decode: ObjectDecoder, *, has_managed_fields: bool = True) -> None:
        """Leave the managedFields out of all objects unless `has_managed_fields`."""
        self.resource = resource
        self._decode_for_version = decode
        self._has_managed_fields = has_managed_fields
        # Open watches. Without one nobody reads a current object again, so none is kept.
        self.watches: dict[LocalWatch, None] = {}
        self._decoded: dict[CachedObject, ReadOnlyObject] = {}
        # Keys and revisions of objects in the order in which they were decoded, as far as their values are not shared
        # yet, and whether the spec is. Most objects are gone before their turn, so they are not held here.
        self._unshared: deque[tuple[str, int, bool]] = deque()
        # Only where objects are decoded as they are stored, without their managedFields.
        is_plain = decode is keep_all_fields and resource.storage_resource is resource and not has_managed_fields
        self._templates = SpecTemplates() if is_plain else None
        self._shared_values = SharedValues()
        self._decoded_max = 2 * REPLACED_MAX
        # Decoded objects that others have replaced, as far as a watcher has seen it.
        self._replaced: dict[CachedObject, None] = {}
        self._bytes = 0
        self._bytes_max = 2 * REPLACED_BYTES_MAX

    def get_object(self, cached: CachedObject) -> ReadOnlyObject:  # hot: per object seen
        """Return the decoded object, the same one for every reader."""
        obj = self._decoded.get(cached)
        return self._decode_and_keep(cached) if obj is None else obj

    def __len__(self) -> int:
        """Return the number of objects kept decoded."""
        return len(self._decoded)

    def find_mutated_objects(self) -> list[str]:
        """Return the keys of kept objects that a reader has changed in place."""
        return [cached.key for cached, obj in self._decoded.items() if self._decode_again(cached) != obj]

    def _decode_again(self, cached: CachedObject) -> Object:
        """Decode an object; return only its metadata if that fails, so that readers fail on that key alone."""
        obj = cached.load() if self._has_managed_fields else cached.load_without_managed_fields()
        try:
            if self.resource.storage_resource is not self.resource:
                obj = self.resource.to_served_version(obj)
            return self._decode_for_version(obj)
        # The store may hold anything, written by another version or by hand; one bad object must not end a list or
        # watch.
        except Exception:
            named = {"name": cached.name, "namespace": cached.namespace, "resourceVersion": str(cached.revision)}
            return {"kind": self.resource.kind.kind, "apiVersion": self.resource.api_version, "metadata": named}

    def _decode_and_keep(self, cached: CachedObject) -> ReadOnlyObject:
        if cached.size < _SHARED_BYTES_MIN:
            obj = self._decode_again(cached)
            self.keep(cached, obj)
            return obj
        known = None if self._templates is None else self._templates.decode(cached.body)
        obj = self._decode_again(cached) if known is None else known
        self.keep(cached, obj)
        self._unshared.append((cached.key, cached.revision, known is not None))
        if len(self._unshared) > UNSHARED_MAX:
            self._share_values(*self._unshared.popleft())
        return obj

    def keep(self, cached: CachedObject, obj: ReadOnlyObject) -> None:
        """Keep a decoded object for all readers."""
        if len(self._decoded) >= self._decoded_max or self._bytes > self._bytes_max:
            self._evict()
        self._decoded[cached] = obj
        self._bytes += cached.size

    def _share_values(self, key: str, revision: int, shares_spec: bool) -> None:
        """Share the values of an object that many others were decoded after, if it is still the current one."""
        # Most objects are replaced soon, a new pod several times within a second: sharing takes longer than decoding.
        current = self.resource.collection.objects
        cached = current.get(key) if self.watches else None
        if cached is not None and cached.revision == revision:
            obj = self._decoded.get(cached)
            if isinstance(obj, dict):
                self._shared_values.share_within(obj, len(current), without_spec=shares_spec)

    def note_replaced(self, cached: CachedObject) -> None:  # hot: per change, per watcher
        """Note that an object is not the current one any more."""
        if cached in self._decoded:
            self._replaced[cached] = None

    def evict_received(self) -> None:  # hot: per batch of events that a watcher takes
        """Drop replaced objects if there are many and no watcher has events waiting."""
        if len(self._replaced) <= _RECEIVED_MAX or any(watch.is_ready() for watch in self.watches):
            return
        decoded = self._decoded
        for cached in self._replaced:
            if decoded.pop(cached, None) is not None:
                self._bytes -= cached.size
        self._replaced = {}

    def _evict(self) -> None:
        """Drop all objects but the current ones of a watched kind and the last ones, which a watcher may still need."""
        current = self.resource.collection.objects if self.watches else {}
        late = self._first_recent_index()
        self._decoded = {
            cached: obj
            for number, (cached, obj) in enumerate(self._decoded.items())
            if number >= late or current.get(cached.key) is cached
        }
        # The bound grows with what remains, so that evictions stay rare in large collections (amortized constant time).
        self._decoded_max = len(self._decoded) * 5 // 4 + REPLACED_MAX
        self._replaced = {cached: None for cached in self._replaced if cached in self._decoded}
        self._bytes = sum(cached.size for cached in self._decoded)
        self._bytes_max = self._bytes * 5 // 4 + REPLACED_BYTES_MAX

    def _first_recent_index(self) -> int:
        """Return the index of the first object recent enough to be kept."""
        number, size = len(self._decoded), 0
        for cached in reversed(self._decoded):
            size += cached.size
            if size > REPLACED_BYTES_MAX or len(self._decoded) - number >= REPLACED_MAX:
                break
            number -= 1
        return number


_TAKEN_BYTES_MAX: Final = 2 * 1024 * 1024


class LocalWatch:
    """Watch within the process; it takes over the registry watch's place as a listener, and its filter."""

    def __init__(self, watch: watching.CacheWatcher, view: KindView, siblings: "dict[LocalWatch, None]") -> None:
        self.signal = Signal()
        self._watch, self._view = watch, view
        self._collection = watch.resource.collection
        self._selects_all = watch.selects_all
        self._pending: deque[CacheWatchEvent] = deque(watch.take_events())
        self._pending_bytes = 0
        self._lagged = self._ended = self._keeps_heartbeats = False
        # Heartbeats that were left out before the first pending event.
        self._heartbeats: list[Heartbeats] = []
        self._end_revision = ""
        """Resource version at which the watch ended."""
        # The registry's watch only serves as a filter from here on; its own listener would queue every event twice.
        watch.close()
        self._collection.listeners[self._receive] = watch.has_selector
        self._collection.watch_stoppers[self.end] = None
        self._siblings = siblings
        siblings[self] = None
        view.watches[self] = None

    def is_ready(self) -> bool:
        """Return whether `take` returns events or raises."""
        return bool(self._pending) or bool(self._heartbeats) or self._lagged or self._ended

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        """Return events in order, at most `count_max`; raise Expired or WatchEnded after the last one."""
        # Events are decoded here and not when they arrive: a watcher that lists again never pays for those it missed.
        waiting, show, current = self._pending, self._view.get_object, self._collection.objects
        if not waiting:
            self._raise_end()
        taken, size = list[CacheWatchEvent](), 0
        # What is left is taken in the next step: decoding many large objects would keep others waiting.
        while waiting and size < _TAKEN_BYTES_MAX and (not count_max or len(taken) < count_max):
            taken.append(waiting.popleft())
            size += taken[-1].object.size
        if self._pending_bytes:  # what was there at the start is not counted
            self._pending_bytes = max(0, self._pending_bytes - size) if waiting else 0
        events = [WatchEvent(_TYPES[event.type], show(event.object)) for event in taken]
        for event in taken:
            if current.get(event.object.key) is not event.object:
                self._view.note_replaced(event.object)
        if not waiting:
            self._view.evict_received()
        return events

    def _raise_end(self) -> None:
        if self._lagged:
            raise Expired("the client fell too far behind: list again")
        if self._ended:
            raise WatchEnded(self._end_revision)

    def skip_heartbeats(self, *, keep: bool) -> None:
        """Leave out heartbeats that are sent together from now on; with `keep`, `take_heartbeats` returns them."""
        if not self._watch.has_selector:
            self._keeps_heartbeats = keep
            self._collection.heartbeat_listeners[self._receive] = self._receive_heartbeats

    def take_heartbeats(self) -> Sequence[Heartbeats]:
        """Return the heartbeats that were left out before the first pending event."""
        taken, self._heartbeats = self._heartbeats, []
        return taken

    async def close(self) -> None:
        """Stop the watch and drop its events."""
        self._unsubscribe()
        self._pending.clear()
        self._heartbeats.clear()
        self._ended = True

    def end(self) -> None:
        """End the watch; events that wait can still be taken."""
        self._end_revision = self._end_revision or str(self._watch.revision)
        self._unsubscribe()
        self._ended = True
        self.signal.notify()

    def _unsubscribe(self) -> None:
        self._collection.listeners.pop(self._receive, None)
        self._collection.heartbeat_listeners.pop(self._receive, None)
        self._collection.watch_stoppers.pop(self.end, None)
        # `close` may follow `end`: only the first call finds the watch and counts it off.
        if self._siblings.pop(self, self) is None:
            self._view.watches.pop(self, None)

    def _receive(self, change: CacheChange) -> None:  # hot: per change, per watcher
        if change.previous is not None:
            self._view.note_replaced(change.previous)
        event: CacheWatchEvent | None
        if self._selects_all and change.revision > self._watch.start_revision:
            event = CacheWatchEvent(change.type, change.object)
        elif (event := self._watch.select(change)) is None:
            return
        size = event.object.size
        if not self._pending or has_room(len(self._pending), self._pending_bytes + size):
            self._pending.append(event)
            self._pending_bytes += size
        else:
            self._end_lagged()
        self.signal.notify()

    def _end_lagged(self) -> None:
        """End the watch of a watcher that is too far behind: it lists again, instead of slowing down the writer."""
        self._lagged = True
        self._pending.clear()
        self._heartbeats.clear()
        self._unsubscribe()

    def _receive_heartbeats(self, changes: Sequence[CacheChange], change: ReadOnlyObject) -> None:
        """Receive the heartbeats of one commit."""
        for one in changes:
            if one.previous is not None:
                self._view.note_replaced(one.previous)
        if not self._keeps_heartbeats:
            return
        # Behind an event that waits they keep their place as events.
        if self._pending or changes[0].revision <= self._watch.start_revision:
            for one in changes:
                self._receive(one)
            return
        prefix = self._watch.prefix
        keys = [Key(one.object.namespace, one.object.name) for one in changes if one.object.key.startswith(prefix)]
        if not keys:
            return
        if has_room(sum([len(one.keys) for one in self._heartbeats]), 0):
            self._heartbeats.append(Heartbeats(keys, change))
        else:
            self._end_lagged()
        self.signal.notify()
