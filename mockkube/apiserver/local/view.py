"""View of one kind for components of one version: each stored object is decoded once and shared."""

from collections import deque
from typing import Final

from mockkube.api.errors import Expired
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import watching
from mockkube.apiserver.registry.cache import Change, ChangeType, Record
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.watching import Seen, has_room
from mockkube.client.protocol import EventType, WatchEnded, WatchEvent
from mockkube.client.sight import ObjectDecoder
from mockkube.runtime.steps import Signal

# At least so many replaced objects stay decoded: a watcher that is behind still receives them.
REPLACED_MAX: Final = 256
# Total size of these; fewer of larger objects are kept.
REPLACED_BYTES_MAX: Final = 4 * 1024 * 1024

_TYPES: Final = {
    ChangeType.ADDED: EventType.ADDED,
    ChangeType.MODIFIED: EventType.MODIFIED,
    ChangeType.DELETED: EventType.DELETED,
}


class View:
    """A resource as one version of a component decodes it."""

    def __init__(self, resource: Resource, lens: ObjectDecoder) -> None:
        self.resource = resource
        self._lens = lens
        self.watched = 0
        """Number of watches. Without one nobody reads a current object again, so none is kept."""
        self._decoded: dict[Record, ReadOnlyObject] = {}
        self._decoded_max = 2 * REPLACED_MAX
        self._bytes = 0
        self._bytes_max = 2 * REPLACED_BYTES_MAX

    def show(self, record: Record) -> ReadOnlyObject:  # hot: per object seen
        """Return the object of a record, the same one for every reader."""
        obj = self._decoded.get(record)
        return self._decode(record) if obj is None else obj

    def __len__(self) -> int:
        """Return the number of objects kept decoded."""
        return len(self._decoded)

    def scribbled(self) -> list[str]:
        """Return the keys of kept objects that a reader has changed in place."""
        return [record.key for record, obj in self._decoded.items() if self._fresh(record) != obj]

    def _fresh(self, record: Record) -> Object:
        """Decode a record; return only its metadata if that fails, so that readers fail on that key alone."""
        obj = record.load()
        try:
            if self.resource.home is not self.resource:
                obj = self.resource.served(obj)
            return self._lens(obj)
        # The store may hold anything, written by another version or by hand; one bad object must not end a list or
        # watch.
        except Exception:
            named = {"name": record.name, "namespace": record.namespace, "resourceVersion": str(record.revision)}
            return {"kind": self.resource.kind.kind, "apiVersion": self.resource.api_version, "metadata": named}

    def _decode(self, record: Record) -> ReadOnlyObject:
        obj = self._fresh(record)
        if len(self._decoded) >= self._decoded_max or self._bytes > self._bytes_max:
            self._forget()
        self._decoded[record] = obj
        self._bytes += len(record.tail)
        return obj

    def _forget(self) -> None:
        """Drop all objects but the current ones of a watched kind and the last ones, which a watcher may still need."""
        current = self.resource.collection.records if self.watched else {}
        late = self._late()
        self._decoded = {
            record: obj
            for number, (record, obj) in enumerate(self._decoded.items())
            if number >= late or current.get(record.key) is record
        }
        # The bound grows with what remains, so that evictions stay rare in large collections (amortized constant time).
        self._decoded_max = len(self._decoded) * 5 // 4 + REPLACED_MAX
        self._bytes = sum(len(record.tail) for record in self._decoded)
        self._bytes_max = self._bytes * 5 // 4 + REPLACED_BYTES_MAX

    def _late(self) -> int:
        """Return the index of the first record recent enough to be kept."""
        number, size = len(self._decoded), 0
        for record in reversed(self._decoded):
            size += len(record.tail)
            if size > REPLACED_BYTES_MAX or len(self._decoded) - number >= REPLACED_MAX:
                break
            number -= 1
        return number


_TAKEN_BYTES_MAX: Final = 2 * 1024 * 1024


class LocalWatch:
    """Watch within the process; it takes over the registry watch's place as a listener, and its filter."""

    def __init__(self, watch: watching.Watch, view: View, siblings: "dict[LocalWatch, None]") -> None:
        self.signal = Signal()
        self._watch, self._view = watch, view
        self._collection = watch.resource.collection
        self._waiting: deque[Seen] = deque(watch.take())
        self._waiting_bytes = 0
        self._lagged = self._ended = False
        self._reached = ""
        """Resource version at which the watch ended."""
        # The registry's watch only serves as a filter from here on; its own listener would queue every event twice.
        watch.close()
        self._collection.listeners[self._offer] = None
        self._collection.watches[self.end] = None
        self._siblings = siblings
        siblings[self] = None
        view.watched += 1

    def is_ready(self) -> bool:
        """Return whether `take` returns events or raises."""
        return bool(self._waiting) or self._lagged or self._ended

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        """Return events in order, at most `count_max`; raise Expired or WatchEnded after the last one."""
        # Events are decoded here and not when they arrive: a watcher that lists again never pays for those it missed.
        waiting, show = self._waiting, self._view.show
        if not waiting:
            self._say_why()
        taken, size = list[Seen](), 0
        # What is left is taken in the next step: decoding many large objects would keep others waiting.
        while waiting and size < _TAKEN_BYTES_MAX and (not count_max or len(taken) < count_max):
            taken.append(waiting.popleft())
            size += len(taken[-1].record.tail)
        if self._waiting_bytes:  # what was there at the start is not counted
            self._waiting_bytes = max(0, self._waiting_bytes - size) if waiting else 0
        return [WatchEvent(_TYPES[seen.type], show(seen.record)) for seen in taken]

    def _say_why(self) -> None:
        if self._lagged:
            raise Expired("the client fell too far behind: list again")
        if self._ended:
            raise WatchEnded(self._reached)

    async def close(self) -> None:
        """Stop the watch and drop its events."""
        self._leave()
        self._waiting.clear()
        self._ended = True

    def end(self) -> None:
        """End the watch; events that wait can still be taken."""
        self._reached = self._reached or str(self._watch.revision)
        self._leave()
        self._ended = True
        self.signal.notify()

    def _leave(self) -> None:
        self._collection.listeners.pop(self._offer, None)
        self._collection.watches.pop(self.end, None)
        # `close` may follow `end`: only the first call finds the watch and counts it off.
        if self._siblings.pop(self, self) is None:
            self._view.watched -= 1

    def _offer(self, change: Change) -> None:  # hot: per change, per watcher
        self._watch.offer(change)
        if not (seen := self._watch.take()):
            return
        size = sum([len(one.record.tail) for one in seen])
        if not self._waiting or has_room(len(self._waiting), self._waiting_bytes + size):
            self._waiting += seen
            self._waiting_bytes += size
        else:
            # The watcher is too far behind: it lists again, instead of slowing down the writer.
            self._lagged = True
            self._waiting.clear()
            self._leave()
        self.signal.notify()
