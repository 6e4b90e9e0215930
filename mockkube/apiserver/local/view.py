"""How a component in the server's process sees one kind: records decoded once, for all components of its version."""

from collections import deque
from typing import Final

from mockkube.api.errors import Expired
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import watching
from mockkube.apiserver.registry.cache import Change, ChangeType, Record
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.watching import Seen, has_room
from mockkube.client.protocol import Ended, EventType, WatchEvent
from mockkube.client.sight import Lens
from mockkube.runtime.steps import Bell

REPLACED_MAX: Final = 256
"""How many records of a kind are remembered decoded though they were replaced, at least: others are yet to see them."""
REPLACED_BYTES_MAX: Final = 4 * 1024 * 1024
"""How large these may be together: of larger ones fewer are remembered."""

_TYPES: Final = {
    ChangeType.ADDED: EventType.ADDED,
    ChangeType.MODIFIED: EventType.MODIFIED,
    ChangeType.DELETED: EventType.DELETED,
}


class View:
    """A resource through the lens of a component's version."""

    def __init__(self, resource: Resource, lens: Lens) -> None:
        self.resource = resource
        self._lens = lens
        self.watched = 0
        """How many watch it: what nobody follows nobody asks for again."""
        self._decoded: dict[Record, ReadOnlyObject] = {}
        self._decoded_max = 2 * REPLACED_MAX
        self._bytes = 0
        self._bytes_max = 2 * REPLACED_BYTES_MAX

    def show(self, record: Record) -> ReadOnlyObject:  # hot: per object seen
        """Return the object of a record; whoever asks for the same record gets the same object."""
        obj = self._decoded.get(record)
        return self._decode(record) if obj is None else obj

    def __len__(self) -> int:
        """How many objects are remembered decoded."""
        return len(self._decoded)

    def scribbled(self) -> list[str]:
        """Return the keys of the objects remembered that somebody has changed in place, which nobody may."""
        return [record.key for record, obj in self._decoded.items() if self._fresh(record) != obj]

    def _fresh(self, record: Record) -> Object:
        """Decode a record; of what cannot be decoded there is the metadata alone, on which its readers fail."""
        obj = record.load()
        try:
            if self.resource.home is not self.resource:
                obj = self.resource.served(obj)
            return self._lens(obj)
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
        """Forget all but what is current and followed, and what came last: somebody may still wait to see it."""
        current = self.resource.collection.records if self.watched else {}
        late = self._late()
        self._decoded = {
            record: obj
            for number, (record, obj) in enumerate(self._decoded.items())
            if number >= late or current.get(record.key) is record
        }
        self._decoded_max = len(self._decoded) * 5 // 4 + REPLACED_MAX
        self._bytes = sum(len(record.tail) for record in self._decoded)
        self._bytes_max = self._bytes * 5 // 4 + REPLACED_BYTES_MAX

    def _late(self) -> int:
        """The number of the first record that came late enough to be remembered."""
        number, size = len(self._decoded), 0
        for record in reversed(self._decoded):
            size += len(record.tail)
            if size > REPLACED_BYTES_MAX or len(self._decoded) - number >= REPLACED_MAX:
                break
            number -= 1
        return number


class LocalWatch:
    """A watch whose events never leave the process. Takes the place of a registry's watch among the listeners."""

    def __init__(self, watch: watching.Watch, view: View, siblings: "dict[LocalWatch, None]") -> None:
        self.bell = Bell()
        self._watch, self._view = watch, view
        self._collection = watch.resource.collection
        self._waiting: deque[Seen] = deque(watch.take())
        self._waiting_bytes = 0
        self._lagged = self._ended = False
        self._reached = ""
        """How far it had come when it ended."""
        watch.close()
        self._collection.listeners[self._offer] = None
        self._collection.watches[self.end] = None
        self._siblings = siblings
        siblings[self] = None
        view.watched += 1

    def ready(self) -> bool:
        """Whether `take` has something, or would raise."""
        return bool(self._waiting) or self._lagged or self._ended

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        """Return what has arrived, in order, at most `count_max` of it; raise Expired or Ended after the last."""
        waiting, show = self._waiting, self._view.show
        if not waiting:
            self._say_why()
        count = min(count_max, len(waiting)) if count_max else len(waiting)
        taken = [waiting.popleft() for _ in range(count)]
        if self._waiting_bytes:  # what was there at the start is not counted
            size = sum([len(seen.record.tail) for seen in taken])
            self._waiting_bytes = max(0, self._waiting_bytes - size) if waiting else 0
        return [WatchEvent(_TYPES[seen.type], show(seen.record)) for seen in taken]

    def _say_why(self) -> None:
        if self._lagged:
            raise Expired("the client fell too far behind: list again")
        if self._ended:
            raise Ended(self._reached)

    async def close(self) -> None:
        """Stop listening."""
        self._leave()
        self._waiting.clear()
        self._ended = True

    def end(self) -> None:
        """Come to an end: what waits can still be taken."""
        self._reached = self._reached or str(self._watch.revision)
        self._leave()
        self._ended = True
        self.bell.ring()

    def _leave(self) -> None:
        self._collection.listeners.pop(self._offer, None)
        self._collection.watches.pop(self.end, None)
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
            self._lagged = True
            self._waiting.clear()
            self._leave()
        self.bell.ring()
