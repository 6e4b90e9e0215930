"""A kind's objects, listed once and then followed: what a component decides from.

A `ListWatch` is a worker: taking in what a watch delivered is a step, so a simulation can let a component look at a
stale cache. Handlers are called inside that step, one change after the other; they are quick and never wait.

An object that a handler or an index fails on stops nothing else. That handler is not told of it until it changes, and
then as if it had not been there since the last change the handler took; the component's `BadObjects` show it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mockkube.api.errors import ApiError, Expired
from mockkube.api.types import ReadOnlyObject
from mockkube.client.bad_objects import BadObjects, name_of, suspects
from mockkube.client.outages import Outages
from mockkube.client.protocol import EVERYTHING, Client, Ended, EventType, Key, Selection, Watch, WatchEvent, key_of
from mockkube.runtime.clock import Clock
from mockkube.runtime.loop_board import LoopBoard
from mockkube.runtime.rate_limits import ItemExponentialFailure
from mockkube.runtime.steps import Bell

RETRY_SECONDS: Final = 0.8
RETRY_SECONDS_MAX: Final = 30.0
"""How long after a server did not answer it is asked again: at first, and after many times."""


class Change(NamedTuple):
    """What became of one object: `old` is None when it is new, `object` is the last state when it is gone."""

    type: EventType
    object: ReadOnlyObject
    old: ReadOnlyObject | None


Handler = Callable[[Change], None]
Indexer = Callable[[ReadOnlyObject], Iterable[str]]
"""The values under which an object is found in an index."""


class Index:
    """The objects of a cache by some value, in the order of their keys' arrival."""

    def __init__(self, values: Indexer) -> None:
        self._values = values
        self._keys: dict[str, dict[Key, ReadOnlyObject]] = {}

    def replace(self, key: Key, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> None:
        """Take the place of an object by another, or by nothing; raises what an index of the new one raises."""
        failure: Exception | None = None
        try:
            after = () if new is None else self._values_of(new)
        except Exception as error:
            after, failure = (), error
        self._replace(key, old, new, after)
        if failure is not None:
            raise failure

    def _values_of(self, obj: ReadOnlyObject) -> tuple[str, ...]:
        values = tuple(self._values(obj))
        hash(values)
        return values

    def _before(self, old: ReadOnlyObject) -> tuple[str, ...]:
        try:
            return self._values_of(old)
        except Exception:  # it was not to be found by anything then
            return ()

    def _replace(
        self, key: Key, old: ReadOnlyObject | None, new: ReadOnlyObject | None, after: tuple[str, ...]
    ) -> None:
        for value in () if old is None else self._before(old):
            if value not in after and (keys := self._keys.get(value)) is not None:
                keys.pop(key, None)
                if not keys:
                    del self._keys[value]
        for value in after:
            assert new is not None
            self._keys.setdefault(value, {})[key] = new

    def get(self, value: str) -> list[ReadOnlyObject]:
        """Return the objects of a value."""
        return list(self._keys.get(value, {}).values())


class ListWatch:
    """The cache of one selection of one kind. It is filled by its steps; until `synced` it holds nothing to go by."""

    def __init__(
        self,
        client: Client,
        kind: str,
        clock: Clock,
        *,
        selection: Selection = EVERYTHING,
        owner: str = "",
        batch_max: int = 0,
        outages: Outages | None = None,
        bad: BadObjects | None = None,
    ) -> None:
        """Follow a selection for `owner`; it and its caches share `outages` and `bad` objects."""
        self.name = f"{owner}/cache/{kind}" if owner else f"cache/{kind}"
        self.kind = kind
        self._objects: dict[Key, ReadOnlyObject] = {}
        self._synced = False
        self.bell = Bell()
        self._client, self._clock, self._selection = client, clock, selection
        self._outages = outages or Outages(owner or self.name)
        self.bad = BadObjects() if bad is None else bad
        self._batch_max = batch_max
        """How many changes one step takes in; 0: all that wait."""
        self._handlers: list[Handler] = []
        self._refused: dict[tuple[int, Key], ReadOnlyObject | None] = {}
        """What a handler, by its number, has failed on, with what it took last of that object."""
        self._indexes: dict[str, Index] = {}
        self._watch: Watch | None = None
        self._seen = ""
        """The resourceVersion to watch from; empty: list first."""
        self._retries = ItemExponentialFailure(RETRY_SECONDS, RETRY_SECONDS_MAX)
        self._retry_at: float | None = None
        self._waiting: list[Bell] = []

    # Reading

    @property
    def objects(self) -> Mapping[Key, ReadOnlyObject]:
        """All objects by their keys."""
        return self._objects

    @property
    def synced(self) -> bool:
        """Whether it has held all there was at some moment."""
        return self._synced

    def get(self, key: Key) -> ReadOnlyObject | None:
        """Return the object of a key, as far as this cache has seen."""
        return self._objects.get(key)

    def list(self, namespace: str = "") -> Sequence[ReadOnlyObject]:
        """Return all objects, or those of a namespace."""
        if not namespace:
            return list(self._objects.values())
        return self.index("namespace", _namespace).get(namespace)

    def index(self, name: str, values: Indexer) -> Index:
        """Return the index of this name; made, and filled, when first asked for."""
        index = self._indexes.get(name)
        if index is None:
            index = self._indexes[name] = Index(values)
            for key, obj in self._objects.items():
                self._enter(index, key, None, obj)
        return index

    def subscribe(self, handler: Handler) -> None:
        """Tell a handler of every change from now on, and of what is there already as ADDED."""
        self._handlers.append(handler)
        for key, obj in list(self._objects.items()):
            self._hand(len(self._handlers) - 1, key, Change(EventType.ADDED, obj, None))

    def tell_synced(self, bell: Bell) -> None:
        """Ring this bell, too, when the cache holds all there was for the first time."""
        self._waiting.append(bell)

    def holds(self, obj: ReadOnlyObject) -> bool:
        """Whether that is the present state of an object."""
        key = _key(obj)
        return key is not None and self.get(key) is obj

    def hide(self, obj: ReadOnlyObject, reader: str, error: Exception) -> bool:
        """Treat an object that a reader has failed on as gone, until it changes; return whether it is hidden."""
        key = key_of(obj)
        self._apply(WatchEvent(EventType.DELETED, obj))
        self.bad.fail(reader, self.kind, key, error)
        return True

    # Working

    def ready(self) -> bool:
        """Whether there is something to list, to watch or to take in."""
        if self._retry_at is not None:
            return self._clock.monotonic() >= self._retry_at
        return self._watch is None or self._watch.ready()

    def wake_at(self) -> float | None:
        """Return when the server is asked again after it did not answer."""
        return self._retry_at

    async def step(self) -> None:
        """List, open the watch, or take in what has arrived."""
        self._retry_at = None
        try:
            if self._watch is None:
                await self._open()
            else:
                self._take(self._watch)
        except Expired:
            self._seen = ""
            await self._drop()
        except Ended as ended:
            self._seen = ended.resource_version or self._seen
            await self._drop()
        except ApiError as error:
            # upstream 1.36: staging/src/k8s.io/client-go/tools/cache/reflector.go; differs: without jitter
            seconds = self._retries.when(self.kind)
            self._outages.failed(self.name, error, seconds)
            await self._drop()
            self._retry_at = self._clock.monotonic() + seconds

    async def close(self) -> None:
        """Stop watching."""
        await self._drop()

    async def _drop(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            await watch.close()

    async def _open(self) -> None:
        if not self._seen:
            listed = await self._client.list(self.kind, self._selection)
            self._replace(listed.items)
            self._seen = listed.resource_version
            self._sync()
        self._watch = await self._client.watch(self.kind, self._selection, self._seen)
        self._watch.bell = self.bell
        self._retries.forget(self.kind)
        self._outages.answered(self.name)

    def _sync(self) -> None:
        if not self._synced:
            self._synced = True
            for bell in self._waiting:
                bell.ring()

    def _replace(self, items: Sequence[ReadOnlyObject]) -> None:
        present = {key_of(obj): obj for obj in items}
        for key, obj in list(self._objects.items()):
            if key not in present:
                self._apply(WatchEvent(EventType.DELETED, obj))
        for key, obj in present.items():
            old = self._objects.get(key)
            if old is None or old["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                self._apply(WatchEvent(EventType.ADDED if old is None else EventType.MODIFIED, obj))

    def _take(self, watch: Watch) -> None:
        for event in watch.take(self._batch_max):
            self._seen = event.object["metadata"]["resourceVersion"]
            self._apply(event)

    def _apply(self, event: WatchEvent) -> None:  # hot: per change
        key, obj = key_of(event.object), event.object
        old = self._objects.get(key)
        if self.bad:
            self.bad.forget(self.kind, key)
        if event.type is EventType.DELETED:
            if old is None:
                return
            del self._objects[key]
        else:
            self._objects[key] = obj
        for index in self._indexes.values():
            self._enter(index, key, old, None if event.type is EventType.DELETED else obj)
        kind = event.type
        if kind is not EventType.DELETED:
            kind = EventType.ADDED if old is None else EventType.MODIFIED
        change = Change(kind, obj, old)
        for number in range(len(self._handlers)):
            self._hand(number, key, change)

    def _enter(self, index: Index, key: Key, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> None:
        try:
            index.replace(key, old, new)
        except Exception as error:
            self.bad.fail(self.name, self.kind, key, error)

    def _hand(self, number: int, key: Key, change: Change) -> None:  # hot: per change, per handler
        """Tell one handler of a change, of which it may have missed what came before."""
        if self._refused and (number, key) in self._refused:
            change = _since(change, self._refused.pop((number, key)))
        handler = self._handlers[number]
        try:
            handler(change)
        except Exception as error:
            if _blames_another(handler, change, error):
                self._hand(number, key, change)
                return
            reader = name_of(handler)
            if change.type is EventType.DELETED:
                self.bad.log(reader, self.kind, key, error)
            else:
                self._refused[number, key] = change.old
                self.bad.fail(reader, self.kind, key, error)


def _blames_another(handler: Handler, change: Change, error: Exception) -> bool:
    """Return whether the owner of a handler goes on without another object, which made it fail on this change."""
    pass_over = getattr(getattr(handler, "__self__", None), "pass_over", None)
    if pass_over is None:
        return False
    for obj in suspects(error):
        if obj is change.object or obj is change.old:
            return False  # it is the innermost that was in hand
        if pass_over(obj, error):
            return True
    return False


def _since(change: Change, taken: ReadOnlyObject | None) -> Change:
    """Return a change as it is for whom an earlier state was the last."""
    if change.type is EventType.DELETED:
        return Change(EventType.DELETED, taken or change.object, taken or change.object)
    return Change(EventType.ADDED if taken is None else EventType.MODIFIED, change.object, taken)


def _key(obj: ReadOnlyObject) -> Key | None:
    """Return the key of what may be no object at all."""
    try:
        key = key_of(obj)
        hash(key)
    except (KeyError, TypeError):
        return None
    return key


def _namespace(obj: ReadOnlyObject) -> tuple[str, ...]:
    return (obj["metadata"].get("namespace", ""),)


class Caches:
    """The caches one component shares among its parts: one per kind and selection."""

    def __init__(
        self, client: Client, clock: Clock, *, owner: str, batch_max: int = 0, board: LoopBoard | None = None
    ) -> None:
        """Show on a board which objects nobody can read."""
        self._client, self._clock, self._owner, self._batch_max = client, clock, owner, batch_max
        self.outages = Outages(owner)
        self.bad = BadObjects(board)
        self._caches: dict[tuple[str, Selection], ListWatch] = {}

    def of(self, kind: str, selection: Selection = EVERYTHING) -> ListWatch:
        """Return the cache of a kind; made when first asked for, which is before the component's workers run."""
        key = (kind, selection)
        if key not in self._caches:
            self._caches[key] = ListWatch(
                self._client,
                kind,
                self._clock,
                selection=selection,
                owner=self._owner,
                batch_max=self._batch_max,
                outages=self.outages,
                bad=self.bad,
            )
        return self._caches[key]

    def blame(self, reader: str, error: Exception, *, own: Key) -> bool:
        """Hide the object that most probably made a reader fail on a pod; False if that is the pod itself, or none."""
        for obj in suspects(error, lambda one: one.get("kind") == "Pod" and _key(one) == own):
            for cache in self._caches.values():
                if cache.holds(obj) and cache.hide(obj, reader, error):
                    return True
        return False

    @property
    def workers(self) -> list[ListWatch]:
        """The caches, as workers."""
        return list(self._caches.values())

    def synced(self) -> bool:
        """Whether all hold what there was at some moment; before that nothing is decided."""
        return all(cache.synced for cache in self._caches.values())

    async def close(self) -> None:
        """Close every cache."""
        for cache in self._caches.values():
            await cache.close()
