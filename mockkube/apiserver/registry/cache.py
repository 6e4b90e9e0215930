"""What the store holds, decoded as far as reads need it, and the events that changed it.

One `Collection` for each stored resource, all fed in revision order from one watch on the store. Reads and watches
are served from here. A `Record` is immutable and shared: its bytes are the answer, its labels and fields are what
selectors look at; whoever wants the object itself decodes it afresh.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mockkube_storage.model import Entry, Event, EventType
from mockkube_storage.store import Store

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.bulk import Bulk
from mockkube.client.bad_objects import BadObjects, name_of
from mockkube.runtime.loop_board import LoopBoard
from mockkube.runtime.waiters import Waiters

ROOT: Final = "/registry/"
HISTORY_MAX: Final = 4096
"""Changes a collection remembers for watches that resume; older ones are read from the store or have expired."""
HISTORY_BYTES_MAX: Final = 8 * 1024 * 1024
"""How large the objects of these changes may be together: beyond that it remembers fewer."""

_NO_LABELS: Final[Mapping[str, str]] = {}


class ChangeType(StrEnum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Index:
    """What selectors look at in an object."""

    labels: Mapping[str, str]
    fields: Mapping[str, str]


Indexer = Callable[[ReadOnlyObject], Index]
UNINDEXED: Final = Index({}, {})
"""Of a record that nobody selects."""


class Record:
    """One stored object at one revision. Only who selects needs more of it than its bytes: then it is looked into."""

    __slots__ = ("_index", "foreign", "head", "key", "name", "namespace", "revision", "tail")

    def __init__(
        self,
        key: str,
        name: str,
        namespace: str,
        revision: int,
        head: bytes,
        tail: bytes,
        index: Index | Indexer = UNINDEXED,
        *,
        foreign: bool = False,
    ) -> None:
        self.key, self.name, self.namespace, self.revision = key, name, namespace, revision
        self.head = head
        self.tail = tail
        """The JSON after kind and apiVersion, which the items of a list leave out."""
        self._index = index
        self.foreign = foreign
        """Whether another version wrote it, and it is stored otherwise than this one would."""

    @property
    def place(self) -> str:
        """Namespace and name of the object, as it is shown."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def body(self) -> bytes:
        """The JSON of the object."""
        return self.head + self.tail

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the object."""
        return self._looked_into().labels

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields that can be selected by."""
        return self._looked_into().fields

    @property
    def unread(self) -> int:
        """How many bytes are to be decoded before it can be selected by."""
        return 0 if isinstance(self._index, Index) else len(self.tail)

    def load(self) -> Object:
        """The object, decoded afresh: the caller may change it."""
        return encoding.loads(self.body)

    def later(self, revision: int) -> "Record":
        """The same object under a later revision: the last state of what left a selection."""
        old, new = b'"resourceVersion":"%d"' % self.revision, b'"resourceVersion":"%d"' % revision
        tail = self.tail.replace(old, new, 1)
        return Record(self.key, self.name, self.namespace, revision, self.head, tail, self._index)

    def _looked_into(self) -> Index:
        index = self._index
        if not isinstance(index, Index):
            index = self._index = self._read_index(index)
        return index

    def _read_index(self, index: Indexer) -> Index:
        try:
            return index(self.load())
        except Exception:  # what lies in the store may be anything; it is found by its name
            return Index({}, {"metadata.name": self.name, "metadata.namespace": self.namespace})


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a collection. For a deletion `record` is the last state, at the revision of the deletion."""

    type: ChangeType
    revision: int
    record: Record
    previous: Record | None


Listener = Callable[[Change], None]
Reader = Callable[[Entry], Record]


class Span(list[Record]):
    """The records of a prefix, shared by those who list it until something in the collection changes."""

    __slots__ = ("joined",)

    def __init__(self, records: Iterable[Record] = ()) -> None:
        super().__init__(records)
        self.joined: dict[str, Sequence[Bulk]] = {}
        """What the items of a list are, by apiVersion, where one has been made."""


class Collection:
    """The records of one stored resource, in key order, and its recent changes."""

    def __init__(self, prefix: str, reader: Reader, bad: BadObjects | None = None) -> None:
        """Show what a listener fails on among the `bad` objects."""
        self.prefix = prefix
        self.reader = reader
        self.bad = BadObjects() if bad is None else bad
        self.records: dict[str, Record] = {}
        self.keys: list[str] = []
        self.revision = 0
        """The revision of the newest change."""
        self.floor = 0
        """Changes after this revision are remembered."""
        self.history: deque[Change] = deque()
        self._history_bytes = 0
        self.listeners: dict[Listener, None] = {}
        self.watches: dict[Callable[[], None], None] = {}
        """What ends each watch on this collection."""
        self._spans: dict[str, Span] = {}

    @property
    def kind(self) -> str:
        """The plural of the kind, as it is shown."""
        return self.prefix.rstrip("/").rpartition("/")[2]

    def get(self, key: str) -> Record | None:
        """The record of a key."""
        return self.records.get(key)

    def range(self, prefix: str, start: str = "") -> Sequence[Record]:
        """The records whose key begins with the prefix, in key order, from `start` on. Not for changing."""
        if start:
            return self._between(max(prefix, start), prefix)
        span = self._spans.get(prefix)
        if span is None:
            span = self._spans[prefix] = Span(self._between(prefix, prefix))
        return span

    def _between(self, start: str, prefix: str) -> list[Record]:
        keys, records = self.keys, self.records
        first = bisect_left(keys, start)
        last = bisect_left(keys, prefix + "\U0010ffff", first)
        # a thread may ask, too: what goes meanwhile is left out
        return [record for key in keys[first:last] if (record := records.get(key)) is not None]

    def load(self, entries: Iterable[Entry], revision: int) -> None:
        """Begin with these entries, as of a revision."""
        for entry in entries:
            self.records[entry.key] = self.reader(entry)
        self.keys = sorted(self.records)
        self.revision = max((record.revision for record in self.records.values()), default=0)
        self.floor = revision
        self._spans.clear()

    def reread(self, reader: Reader, revised: Callable[[Record], Record]) -> None:
        """From now on read entries so; what has been read is revised."""
        self.reader = reader
        self.records = {key: revised(record) for key, record in self.records.items()}
        self._spans.clear()

    def apply(self, event: Event) -> None:
        """Take one event of the store and tell the listeners."""
        if event.revision <= self.floor:
            return  # it was read from the store already
        key = event.entry.key
        self._spans.clear()
        previous = self.records.get(key)
        record = self.reader(event.entry)
        if event.type is EventType.DELETE:
            if previous is not None:
                del self.records[key]
                del self.keys[bisect_left(self.keys, key)]
            change = Change(ChangeType.DELETED, event.revision, record, previous)
        else:
            self.records[key] = record
            if previous is None:
                insort(self.keys, key)
            kind = ChangeType.ADDED if previous is None else ChangeType.MODIFIED
            change = Change(kind, event.revision, record, previous)
        self._remember(change)
        if self.bad:
            self.bad.forget(self.kind, record.place)
        for listener in tuple(self.listeners):
            try:
                listener(change)
            except Exception as error:  # whoever else listens, and what comes next, must not be lost over it
                show = self.bad.log if change.type is ChangeType.DELETED else self.bad.fail
                show(name_of(listener), self.kind, record.place, error)

    def _remember(self, change: Change) -> None:
        history, self.revision = self.history, change.revision
        history.append(change)
        self._history_bytes += len(change.record.tail)
        while len(history) > HISTORY_MAX or self._history_bytes > HISTORY_BYTES_MAX:
            forgotten = history.popleft()
            self._history_bytes -= len(forgotten.record.tail)
            self.floor = forgotten.revision

    def since(self, revision: int) -> Sequence[Change] | None:
        """The changes after a revision; None when they are no longer all remembered."""
        if revision < self.floor:
            return None
        return [change for change in self.history if change.revision > revision]


class Cache:
    """Every collection, kept up to date by one task that reads the store's watch."""

    def __init__(self, store: Store, board: LoopBoard | None = None) -> None:
        """Show on a board which objects cannot be read."""
        self.store = store
        self.bad = BadObjects(board)
        self.revision = 0
        self.wrote: Callable[[int], None] = lambda count: None
        """Called with the bytes of what was taken in from the store."""
        self._collections: dict[str, Collection] = {}
        self._waiters: Waiters[int] = Waiters()

    def collection(self, name: str, reader: Reader) -> Collection:
        """The collection stored under this name (`core/pods`); made when first asked for, before `start`."""
        if name not in self._collections:
            self._collections[name] = Collection(f"{ROOT}{name}/", reader, self.bad)
        return self._collections[name]

    async def open(self, name: str, reader: Reader) -> Collection:
        """The collection of this name, read from the store if it is new: for what comes to be served only later."""
        if name not in self._collections:
            page = await self.store.list(f"{ROOT}{name}/")
            while page.revision < self.revision:
                page = await self.store.list(f"{ROOT}{name}/")
            self.collection(name, reader).load(page.entries, page.revision)
        return self._collections[name]

    def drop(self, name: str) -> None:
        """Forget a collection, its history included; `open` reads it from the store again."""
        self._collections.pop(name, None)

    async def start(self) -> None:
        """Read what the store holds now."""
        page = await self.store.list(ROOT)
        entries: dict[str, list[Entry]] = {}
        for entry in page.entries:
            entries.setdefault(_collection_name(entry.key), []).append(entry)
        for name, collection in self._collections.items():
            collection.load(entries.get(name, ()), page.revision)
        self.revision = page.revision

    async def run(self) -> None:
        """Follow the store until cancelled."""
        async with aclosing(self.store.watch("", after=self.revision)) as watch:
            async for events in watch:
                self._take(events)

    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            collection = self._collections.get(_collection_name(event.entry.key))
            if collection is not None:
                collection.apply(event)
        self.revision = events[-1].revision
        self.wrote(sum([len(event.entry.value) for event in events]))
        self._waiters.release(self.revision)

    async def reach(self, revision: int) -> None:
        """Return once everything up to this revision has been taken in."""
        if revision > self.revision:
            await self._waiters.wait(revision)

    async def fresh(self) -> int:
        """Wait for what was committed before this call; return the revision reached: a consistent read."""
        await self.reach(await self.store.current_revision())
        return self.revision


def _collection_name(key: str) -> str:
    if not key.startswith(ROOT):
        return ""
    group, _, rest = key[len(ROOT) :].partition("/")
    return f"{group}/{rest.partition('/')[0]}"


def labels_of(obj: ReadOnlyObject) -> Mapping[str, str]:
    """The labels of an object; one shared empty mapping when there are none."""
    labels: Mapping[str, str] = obj["metadata"].get("labels") or _NO_LABELS
    return labels
