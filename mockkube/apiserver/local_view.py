"""How a component in the server's process sees one kind: records decoded once, for all components of its version."""

from collections import deque
from typing import Final

from mockkube.api.errors import Expired
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import watching
from mockkube.apiserver.registry.cache import Change, ChangeType, Record
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.watching import PENDING_MAX, Seen
from mockkube.client.protocol import Ended, EventType, WatchEvent
from mockkube.client.sight import Lens
from mockkube.runtime.steps import Bell

REPLACED_MAX: Final = 256
"""How many records of a kind are remembered decoded though they were replaced, at least: others are yet to see them."""

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
        obj = record.load()
        if self.resource.home is not self.resource:
            obj = self.resource.served(obj)
        return self._lens(obj)

    def _decode(self, record: Record) -> ReadOnlyObject:
        obj = self._fresh(record)
        if len(self._decoded) >= self._decoded_max:
            self._forget()
        self._decoded[record] = obj
        return obj

    def _forget(self) -> None:
        """Forget all but what is current and followed, and what came last: somebody may still wait to see it."""
        current = self.resource.collection.records if self.watched else {}
        late = len(self._decoded) - REPLACED_MAX
        self._decoded = {
            record: obj
            for number, (record, obj) in enumerate(self._decoded.items())
            if number >= late or current.get(record.key) is record
        }
        self._decoded_max = len(self._decoded) * 5 // 4 + REPLACED_MAX


class LocalWatch:
    """A watch whose events never leave the process. Takes the place of a registry's watch among the listeners."""

    def __init__(self, watch: watching.Watch, view: View, siblings: "dict[LocalWatch, None]") -> None:
        self.bell = Bell()
        self._watch, self._view = watch, view
        self._collection = watch.resource.collection
        self._waiting: deque[Seen] = deque(watch.take())
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
        if len(self._waiting) < PENDING_MAX:
            self._waiting += seen
        else:
            self._lagged = True
            self._waiting.clear()
            self._leave()
        self.bell.ring()
