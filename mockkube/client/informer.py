"""Informers: lists and watches of a kind, kept in a cache with indexes and event handlers.

An `Informer` is a worker: processing what a watch delivered is a step, so a simulation can let a component work with a
stale cache. Event handlers run inside that step, one change after the other; they are quick and never wait.

A handler or index function that raises on an object affects nothing else. The handler gets no further changes of the
object until it changes again, and then as if nothing had happened since the last change that the handler processed;
the component's `BadObjects` show the object in the meantime.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mockkube.api.errors import ApiError, Expired
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.bad_objects import BadObjects, find_suspects, reader_name
from mockkube.client.protocol import (
    EVERYTHING,
    Client,
    Heartbeats,
    HeartbeatSkippingWatch,
    Key,
    Selection,
    Watch,
    WatchEnded,
    WatchEvent,
    WatchEventType,
    key_of,
)
from mockkube.client.unreachable_servers import UnreachableServers
from mockkube.runtime.clock import Clock
from mockkube.runtime.hot_loops import HotLoops
from mockkube.runtime.rate_limiters import ItemExponentialFailureRateLimiter
from mockkube.runtime.steps import Signal

RETRY_SECONDS: Final = 0.8
# Backoff between failed lists and watches, as in upstream's reflector: 800 ms at first, 30 s at most.
RETRY_SECONDS_MAX: Final = 30.0
# Up to this many values a linear search is faster than building a set of them.
_LINEAR_SEARCH_MAX: Final = 16


class ObjectChange(NamedTuple):
    """Change of one object: `old` is None when it is new, `object` is the last state when it is deleted."""

    type: WatchEventType
    object: ReadOnlyObject
    old: ReadOnlyObject | None


def is_deletion(change: ObjectChange) -> bool:
    """Return whether an object was deleted; another one may have its name since."""
    recreated = change.old is not None and change.old["metadata"]["uid"] != change.object["metadata"]["uid"]
    return change.type is WatchEventType.DELETED or recreated


EventHandler = Callable[[ObjectChange], None]
HeartbeatHandler = Callable[[Heartbeats], None]
# Index function: returns the values under which an object is found in an index.
IndexFunc = Callable[[ReadOnlyObject], Iterable[str]]


class Indexer:
    """Objects of an informer by an indexed value, in the order in which their keys arrived."""

    def __init__(self, values: IndexFunc) -> None:
        self._values = values
        self._keys: dict[str, dict[Key, ReadOnlyObject]] = {}

    def replace(self, key: Key, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> None:
        """Index `new` in place of `old`; raise what the index function raises on `new`."""
        failure: Exception | None = None
        try:
            after = () if new is None else self._values_of(new)
        # The old entries must go even if the new object cannot be indexed, or lookups would return a state that is
        # gone.
        except Exception as error:
            after, failure = (), error
        self._replace_entries(key, old, new, after)
        if failure is not None:
            raise failure

    def _values_of(self, obj: ReadOnlyObject) -> tuple[str, ...]:
        values = tuple(self._values(obj))
        # Fail before anything is changed: an unhashable value (a list where a string belongs) would break the index
        # half-way.
        hash(values)
        return values

    def _old_values(self, old: ReadOnlyObject) -> tuple[str, ...]:
        try:
            return self._values_of(old)
        except Exception:  # then it was never indexed
            return ()

    def _replace_entries(
        self, key: Key, old: ReadOnlyObject | None, new: ReadOnlyObject | None, after: tuple[str, ...]
    ) -> None:
        # A user controls how many values an object has (owner references, say), so the search must not be quadratic.
        kept = after if len(after) < _LINEAR_SEARCH_MAX else frozenset(after)
        for value in () if old is None else self._old_values(old):
            if value not in kept and (keys := self._keys.get(value)) is not None:
                keys.pop(key, None)
                if not keys:
                    del self._keys[value]
        for value in after:
            assert new is not None
            self._keys.setdefault(value, {})[key] = new

    def get(self, value: str) -> list[ReadOnlyObject]:
        """Return the objects indexed under a value."""
        return list(self._keys.get(value, {}).values())


class Informer:
    """Cache of one selection of one kind, filled by its steps; incomplete until `has_synced`."""

    def __init__(
        self,
        client: Client,
        kind: str,
        clock: Clock,
        *,
        selection: Selection = EVERYTHING,
        owner: str = "",
        batch_max: int = 0,
        unreachable_servers: UnreachableServers | None = None,
        bad: BadObjects | None = None,
        skips_heartbeats: bool = False,
    ) -> None:
        """Create an informer of `owner`; `unreachable_servers` and `bad` are shared with its other informers.

        With `skips_heartbeats`, times of heartbeats in its objects may be old.
        """
        self.name = f"{owner}/cache/{kind}" if owner else f"cache/{kind}"
        self.kind = kind
        self._objects: dict[Key, ReadOnlyObject] = {}
        self._synced = False
        self.signal = Signal()
        self._client, self._clock, self._selection = client, clock, selection
        self._unreachable_servers = unreachable_servers or UnreachableServers(owner or self.name)
        self.bad = BadObjects() if bad is None else bad
        # Number of changes that one step processes; 0 processes all that are pending.
        self.batch_max = batch_max
        self._skips_heartbeats = skips_heartbeats
        self._handlers: list[EventHandler] = []
        self._heartbeat_handlers: list[HeartbeatHandler] = []
        # Objects that a handler (by its number) failed on, with the last state of each that the handler processed.
        self._failed_handlers: dict[tuple[int, Key], ReadOnlyObject | None] = {}
        self._indexes: dict[str, Indexer] = {}
        self._watch: Watch | None = None
        # The watch, if it leaves out heartbeats.
        self._skipping_watch: HeartbeatSkippingWatch | None = None
        # The resourceVersion to watch from; empty means that a list comes first.
        self._resource_version = ""
        self._retries = ItemExponentialFailureRateLimiter(RETRY_SECONDS, RETRY_SECONDS_MAX)
        self._retry_at: float | None = None
        self._sync_signals: list[Signal] = []

    # Reading

    @property
    def objects(self) -> Mapping[Key, ReadOnlyObject]:
        """All objects by key."""
        return self._objects

    @property
    def has_synced(self) -> bool:
        """True once the first list was processed."""
        return self._synced

    @property
    def resource_version(self) -> str:
        """Version of the last list or event; empty before the first list, and when a new list is due."""
        return self._resource_version

    @property
    def failures(self) -> int:
        """Number of lists and watches that failed in a row."""
        return self._retries.num_requeues(self.kind)

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return the cached object of a key."""
        return self._objects.get(key)

    def list(self, namespace: str = "") -> Sequence[ReadOnlyObject]:
        """Return all objects, or those of a namespace."""
        if not namespace:
            return list(self._objects.values())
        return self.index("namespace", _index_by_namespace).get(namespace)

    def index(self, name: str, values: IndexFunc) -> Indexer:
        """Return the index with this name; the first call creates and fills it."""
        index = self._indexes.get(name)
        if index is None:
            index = self._indexes[name] = Indexer(values)
            for key, obj in self._objects.items():
                self._update_index(index, key, None, obj)
        return index

    def add_event_handler(self, handler: EventHandler) -> None:
        """Call a handler for every change from now on, and with ADDED for every object that exists."""
        self._handlers.append(handler)
        for key, obj in list(self._objects.items()):
            self._call_handler(len(self._handlers) - 1, key, ObjectChange(WatchEventType.ADDED, obj, None))

    def add_heartbeat_handler(self, handler: HeartbeatHandler) -> None:
        """Call a handler with heartbeats that are sent together, instead of every event handler with each of them.

        Times of heartbeats in the objects may then be old. For a handler that never raises.
        """
        self._heartbeat_handlers.append(handler)

    def notify_when_synced(self, signal: Signal) -> None:
        """Notify a signal once the first list was processed."""
        self._sync_signals.append(signal)

    def is_cached(self, obj: ReadOnlyObject) -> bool:
        """Return whether this very object is the cached state."""
        key = _key_or_none(obj)
        return key is not None and self.get(key) is obj

    def hide(self, obj: ReadOnlyObject, reader: str, error: Exception) -> bool:
        """Treat an object that a reader failed on as deleted until it changes; always True."""
        key = key_of(obj)
        self._apply(WatchEvent(WatchEventType.DELETED, obj))
        self.bad.record_failure(reader, self.kind, key, error)
        return True

    def clear(self) -> None:
        """Treat all objects as deleted, because their kind is no longer served."""
        self._replace(())

    # Working

    def is_ready(self) -> bool:
        """Return whether a list, a watch or an event is to be processed."""
        if self._retry_at is not None:
            return self._clock.monotonic() >= self._retry_at
        return self._watch is None or self._watch.is_ready()

    def wake_at(self) -> float | None:
        """Return when the next retry is due."""
        return self._retry_at

    async def step(self) -> None:
        """List, open the watch, or process pending events."""
        self._retry_at = None
        try:
            if self._watch is None:
                await self._list_and_watch()
            else:
                self._process_events(self._watch)
        # Events were compacted away before they were read: only a new list shows the present state.
        except Expired:
            self._resource_version = ""
            await self._close_watch()
        # Nothing was missed, so the next watch continues from the last resourceVersion without a list.
        except WatchEnded as ended:
            self._resource_version = ended.resource_version or self._resource_version
            await self._close_watch()
        except ApiError as error:
            # upstream 1.36: staging/src/k8s.io/client-go/tools/cache/reflector.go; differs: without jitter
            seconds = self._retries.when(self.kind)
            self._unreachable_servers.log_failure(self.name, error, seconds)
            await self._close_watch()
            self._retry_at = self._clock.monotonic() + seconds

    async def close(self) -> None:
        """Stop watching."""
        await self._close_watch()

    async def _close_watch(self) -> None:
        watch, self._watch, self._skipping_watch = self._watch, None, None
        if watch is not None:
            await watch.close()

    async def _list_and_watch(self) -> None:
        if not self._resource_version:
            listed = await self._client.list(self.kind, self._selection)
            self._replace(listed.items)
            self._resource_version = listed.resource_version
            self._set_synced()
        self._watch = await self._client.watch(self.kind, self._selection, self._resource_version)
        skips_heartbeats = self._skips_heartbeats or self._heartbeat_handlers
        if skips_heartbeats and isinstance(self._watch, HeartbeatSkippingWatch):
            self._watch.skip_heartbeats(keep=bool(self._heartbeat_handlers))
            self._skipping_watch = self._watch
        # The watch notifies this worker directly, without a task that forwards its events.
        self._watch.signal = self.signal
        self._retries.forget(self.kind)
        self._unreachable_servers.clear(self.name)

    def _set_synced(self) -> None:
        if not self._synced:
            self._synced = True
            for signal in self._sync_signals:
                signal.notify()

    def _replace(self, items: Sequence[ReadOnlyObject]) -> None:
        present = {key_of(obj): obj for obj in items}
        for key, obj in list(self._objects.items()):
            if key not in present:
                self._apply(WatchEvent(WatchEventType.DELETED, obj))
        for key, obj in present.items():
            old = self._objects.get(key)
            # A relist after an outage returns mostly unchanged objects; handlers are not called for these.
            if old is None or old["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                self._apply(WatchEvent(WatchEventType.ADDED if old is None else WatchEventType.MODIFIED, obj))

    def _process_events(self, watch: Watch) -> None:
        if self._skipping_watch is not None and (taken := self._skipping_watch.take_heartbeats()):
            for heartbeats in taken:
                for handler in self._heartbeat_handlers:
                    handler(heartbeats)
            return  # events that came after them are a step of their own
        for event in watch.take(self.batch_max):
            self._resource_version = event.object["metadata"]["resourceVersion"]
            self._apply(event)

    def _apply(self, event: WatchEvent) -> None:  # hot: per change
        """Update cache and indexes for a change, then call all handlers."""
        key, obj = key_of(event.object), event.object
        old = self._objects.get(key)
        # Any change gives the object another chance with readers that failed on it.
        if self.bad:
            self.bad.forget(self.kind, key)
        if event.type is WatchEventType.DELETED:
            if old is None:
                return
            del self._objects[key]
        else:
            self._objects[key] = obj
        for index in self._indexes.values():
            self._update_index(index, key, old, None if event.type is WatchEventType.DELETED else obj)
        # After a relist or a gap the event type of the watch can disagree with the cache; the cache decides.
        kind = event.type
        if kind is not WatchEventType.DELETED:
            kind = WatchEventType.ADDED if old is None else WatchEventType.MODIFIED
        change = ObjectChange(kind, obj, old)
        for number, handler in enumerate(self._handlers):
            if self._failed_handlers:
                self._call_handler(number, key, change)
                continue
            try:
                handler(change)
            except Exception as error:
                self._handle_failure(number, key, change, error)

    def _update_index(self, index: Indexer, key: Key, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> None:
        try:
            index.replace(key, old, new)
        except Exception as error:
            self.bad.record_failure(self.name, self.kind, key, error)

    def _call_handler(self, number: int, key: Key, change: ObjectChange) -> None:
        """Call one handler with a change; it may have missed changes of the object before."""
        if (number, key) in self._failed_handlers:
            change = _change_since(change, self._failed_handlers.pop((number, key)))
        try:
            self._handlers[number](change)
        except Exception as error:
            self._handle_failure(number, key, change, error)

    def _handle_failure(self, number: int, key: Key, change: ObjectChange, error: Exception) -> None:
        """Report an object that a handler failed on."""
        # Handlers read objects of users; one malformed object must not end the informer for all others.
        handler = self._handlers[number]
        if _skips_other_object(handler, change, error):
            self._call_handler(number, key, change)
            return
        reader = reader_name(handler)
        if change.type is WatchEventType.DELETED:
            self.bad.log_failure(reader, self.kind, key, error)
        else:
            self._failed_handlers[number, key] = change.old
            self.bad.record_failure(reader, self.kind, key, error)


def _skips_other_object(handler: EventHandler, change: ObjectChange, error: Exception) -> bool:
    """Return whether the handler's owner skips another object, which made it fail on this change."""
    # Only some owners of handlers (controllers, for one) can skip objects; functions and lambdas cannot.
    hide_bad_object = getattr(getattr(handler, "__self__", None), "hide_bad_object", None)
    if hide_bad_object is None:
        return False
    for obj in find_suspects(error):
        if obj is change.object or obj is change.old:
            return False  # the failed function held nothing further in than the changed object
        if hide_bad_object(obj, error):
            return True
    return False


def _change_since(change: ObjectChange, taken: ReadOnlyObject | None) -> ObjectChange:
    """Return the change from the state that a handler processed last to the present one."""
    if change.type is WatchEventType.DELETED:
        return ObjectChange(WatchEventType.DELETED, taken or change.object, taken or change.object)
    return ObjectChange(WatchEventType.ADDED if taken is None else WatchEventType.MODIFIED, change.object, taken)


def _key_or_none(obj: ReadOnlyObject) -> Key | None:
    """Return the key of a value; None if it is no object."""
    try:
        key = key_of(obj)
        hash(key)
    except (KeyError, TypeError):
        return None
    return key


def _index_by_namespace(obj: ReadOnlyObject) -> tuple[str, ...]:
    return (obj["metadata"].get("namespace", ""),)


class InformerFactory:
    """Informers that the parts of one component share: one per kind and selection."""

    def __init__(
        self, client: Client, clock: Clock, *, owner: str, batch_max: int = 0, hot_loops: HotLoops | None = None
    ) -> None:
        """Report objects that cannot be read as hot loops."""
        self._client, self._clock, self._owner, self._batch_max = client, clock, owner, batch_max
        self.unreachable_servers = UnreachableServers(owner)
        self.bad = BadObjects(hot_loops)
        self._informers: dict[tuple[str, Selection], Informer] = {}

    def informer_for(self, kind: str, selection: Selection = EVERYTHING) -> Informer:
        """Return the informer of a kind, created on first use, before the component's workers run."""
        key = (kind, selection)
        if key not in self._informers:
            self._informers[key] = Informer(
                self._client,
                kind,
                self._clock,
                selection=selection,
                owner=self._owner,
                batch_max=self._batch_max,
                unreachable_servers=self.unreachable_servers,
                bad=self.bad,
            )
        return self._informers[key]

    def hide_culprit(self, reader: str, error: Exception, *, own: Key) -> bool:
        """Hide the object that most likely made a reader fail on a pod; False if that is the pod or unknown."""
        for obj in find_suspects(error, lambda one: one.get("kind") == "Pod" and _key_or_none(one) == own):
            for cache in self._informers.values():
                if cache.is_cached(obj) and cache.hide(obj, reader, error):
                    return True
        return False

    @property
    def workers(self) -> list[Informer]:
        """Informers, as workers."""
        return list(self._informers.values())

    def has_synced(self) -> bool:
        """Return whether all informers have synced; nothing is decided before that."""
        return all(cache.has_synced for cache in self._informers.values())

    async def close(self) -> None:
        """Close every informer."""
        for cache in self._informers.values():
            await cache.close()
