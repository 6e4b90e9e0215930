"""What a server remembers of its store."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.model import Entry, delete_event, put_event

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.registry import encoding, watch_cache
from mockkube.apiserver.registry.cached_object import CachedObject, ObjectAttributes, read_labels
from mockkube.apiserver.registry.watch_cache import CacheChange, Collection, WatchCache

PREFIX = "/registry/core/things/"


def read(entry: Entry) -> CachedObject:
    """A record without a body."""
    namespace, _, name = entry.key.removeprefix(PREFIX).rpartition("/")
    return CachedObject(entry.key, name, namespace, entry.revision, b"", entry.value)


class Written:
    """A collection, and a hand that writes to it."""

    def __init__(self) -> None:
        self.collection = Collection(PREFIX, read)
        self.seen: list[tuple[str, str, int]] = []
        self.collection.listeners[self.hear] = False
        self.entries: dict[str, Entry] = {}
        self.revision = 0

    def hear(self, change: CacheChange) -> None:
        """Note a change: what, of which object, when."""
        self.seen.append((str(change.type), change.object.name, change.revision))

    def put(self, path: str, value: bytes = b"") -> None:
        """Write an object."""
        self.revision += 1
        entry = Entry(PREFIX + path, value, 1, self.revision)
        self.collection.apply(put_event(entry, self.entries.get(path)))
        self.entries[path] = entry

    def delete(self, path: str) -> None:
        """Delete an object."""
        self.revision += 1
        self.collection.apply(delete_event(self.entries.pop(path), self.revision))


@pytest.fixture
def written() -> Written:
    return Written()


def names(written: Written, prefix: str = "", start: str = "") -> list[str]:
    """The names below a prefix, from a start on."""
    return [record.name for record in written.collection.range(PREFIX + prefix, PREFIX + start if start else "")]


def test_records_are_in_the_order_of_their_keys(written: Written) -> None:
    for path in ("b/z", "a/y", "a/x", "ab/w"):
        written.put(path)
    assert names(written) == ["x", "y", "w", "z"]
    assert names(written, "a/") == ["x", "y"]
    assert names(written, "a/", "a/x\x00") == ["y"]
    assert names(written, "c/") == []


def test_a_span_is_shared_until_something_changes(written: Written) -> None:
    written.put("a/x")
    written.put("b/y")
    span = written.collection.range(f"{PREFIX}a/")
    assert written.collection.range(f"{PREFIX}a/") is span
    written.put("a/x")
    fresh = written.collection.range(f"{PREFIX}a/")
    assert [record.revision for record in span] == [1]
    assert [record.revision for record in fresh] == [3]


def test_lists_of_namespaces_without_objects_leave_nothing(written: Written) -> None:
    written.put("a/x")
    for number in range(3):
        assert written.collection.range(f"{PREFIX}gone-{number}/") == []
        assert written.collection.well_formed(f"{PREFIX}gone-{number}/", "a test") == []
    assert not written.collection._ranges
    assert not written.collection._sound


def test_what_is_read_otherwise_is_listed_so(written: Written) -> None:
    written.put("a/x")
    assert names(written) == ["x"]
    written.collection.replace_decoder(
        read, lambda record: CachedObject(record.key, "other", record.namespace, record.revision, b"", b"")
    )
    assert names(written) == ["other"]


def test_listeners_hear_what_happened_in_order(written: Written) -> None:
    written.put("a/x")
    written.put("a/x")
    written.delete("a/x")
    assert written.seen == [("ADDED", "x", 1), ("MODIFIED", "x", 2), ("DELETED", "x", 3)]
    assert written.collection.get(f"{PREFIX}a/x") is None


def test_changes_since_a_revision_are_remembered(written: Written) -> None:
    for path in ("a/x", "a/y", "a/z"):
        written.put(path)
    since = written.collection.changes_since(1)
    assert since is not None
    assert [change.object.name for change in since] == ["y", "z"]
    assert written.collection.changes_since(3) == []


def test_what_was_forgotten_is_not_told_in_part(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_cache, "HISTORY_MAX", 2)
    for path in ("a/w", "a/x", "a/y", "a/z"):
        written.put(path)
    assert written.collection.changes_since(1) is None
    assert len(written.collection.changes_since(2) or ()) == 2


def test_fewer_large_changes_are_remembered_than_small_ones(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_cache, "HISTORY_MAX", 8)
    monkeypatch.setattr(watch_cache, "HISTORY_BYTES_MAX", 50)
    for size in (10, 10, 10, 10, 10):
        written.put("a/x", b"." * size)
    assert len(written.collection.history) == 5
    written.put("a/x", b"." * 31)
    assert [change.revision for change in written.collection.changes_since(4) or ()] == [5, 6]
    assert written.collection.changes_since(3) is None
    written.put("a/x", b"." * 51)
    assert len(written.collection.history) == 0
    for size in (1, 1, 1, 1, 1, 1, 1, 1, 1):
        written.put("a/x", b"." * size)
    assert len(written.collection.history) == 8


def test_what_was_there_at_the_start_has_no_history() -> None:
    collection = Collection(PREFIX, read)
    collection.load([Entry(f"{PREFIX}a/x", b"", 1, 4)], 7)
    assert (collection.revision, collection.history_start) == (4, 7)
    assert collection.changes_since(6) is None
    assert collection.changes_since(7) == []


def test_compacted_changes_are_dropped() -> None:
    written = Written()
    for path in ("a/x", "a/y", "b/x"):
        written.put(path)
    collection, last = written.collection, written.revision
    collection.forget_history(last - 1)
    assert collection.changes_since(last - 2) is None
    changes = collection.changes_since(last - 1)
    assert changes is not None
    assert [change.revision for change in changes] == [last]
    collection.forget_history(last - 2)  # an older compaction changes nothing
    assert collection.history_start == last - 1


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(("a/x", "a/y", "b/x", "ab/x"))), max_size=30))
def test_any_writes_leave_what_a_dictionary_would_hold(writes: list[tuple[bool, str]]) -> None:
    written = Written()
    for puts, path in writes:
        if puts:
            written.put(path)
        elif path in written.entries:
            written.delete(path)
    held = [record.key.removeprefix(PREFIX) for record in written.collection.range(PREFIX)]
    assert held == sorted(written.entries)
    assert len(written.seen) == written.revision


async def test_a_fresh_cache_has_seen_every_write_before() -> None:
    store = MemoryStore()
    await store.start()
    made = WatchCache(store)
    things = made.collection("core/things", read)
    await store.create(f"{PREFIX}a/x", b"")
    await made.start()
    async with asyncio.TaskGroup() as group:
        following = group.create_task(made.run())
        await store.create(f"{PREFIX}a/y", b"")
        await store.create("/registry/core/others/a/z", b"")
        assert await made.wait_until_fresh() == await store.current_revision()
        assert [record.name for record in things.range(PREFIX)] == ["x", "y"]
        following.cancel()
    await store.close()


def test_an_object_without_labels_has_none() -> None:
    assert read_labels({"metadata": {}}) == {}
    assert read_labels({"metadata": {"labels": {"a": "b"}}}) == {"a": "b"}


def test_a_record_is_looked_into_when_somebody_selects_and_then_once() -> None:
    looked = []

    def index(obj: ReadOnlyObject) -> ObjectAttributes:
        looked.append(obj)
        return ObjectAttributes(read_labels(obj), {"metadata.name": "x"})

    body = b'{"metadata":{"labels":{"a":"b"},"resourceVersion":"3"}}'
    record = CachedObject("k", "x", "", 3, b"", body, index)
    assert record.load()["metadata"]["labels"] == {"a": "b"}
    assert looked == []
    assert (record.labels, record.fields) == ({"a": "b"}, {"metadata.name": "x"})
    assert len(looked) == 1
    assert record.at_revision(7).load()["metadata"]["resourceVersion"] == "7"
    assert record.at_revision(7).labels == {"a": "b"}
    assert len(looked) == 1


REACH_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("reach"), st.integers(1, 6)),
        st.tuples(st.just("cancel"), st.integers(0, 20)),
        st.tuples(st.just("write"), st.just(0)),
    ),
    max_size=40,
)


async def play_reaches(actions: list[tuple[str, int]]) -> None:
    store = MemoryStore()
    async with store, asyncio.TaskGroup() as group:
        cached = WatchCache(store)
        await cached.start()
        running = group.create_task(cached.run())
        ahead: list[tuple[int, asyncio.Task[None]]] = []
        for number, (action, value) in enumerate(actions):
            if action == "reach":
                ahead.append(
                    (store.revision + value, asyncio.ensure_future(cached.wait_until_at(store.revision + value)))
                )
            elif action == "cancel" and value < len(ahead):
                ahead[value][1].cancel()
            elif action == "write":
                await store.create(f"{PREFIX}{number}", b"")
            await asyncio.sleep(0)
        await cached.wait_until_at(store.revision)
        await asyncio.sleep(0)
        assert all(task.done() for revision, task in ahead if revision <= store.revision)
        assert not any(task.done() and not task.cancelled() for revision, task in ahead if revision > store.revision)
        for _, task in ahead:
            task.cancel()
        running.cancel()


@given(REACH_ACTIONS)
def test_reaching_a_revision_returns_whoever_else_gives_up(actions: list[tuple[str, int]]) -> None:
    asyncio.run(play_reaches(actions))


def test_the_version_is_inserted_into_the_stored_value() -> None:
    value = encoding.encode_stored({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": {}}, b"tag")
    head = encoding.encode_head("Pod", "v1")
    at = len(b"tag\n" + head)
    cached = CachedObject("k", "x", "", 7, head, value, tail_at=at, version_at=encoding.find_version(value, at))
    assert cached.body == b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"7"},"spec":{}}'
    assert head + cached.tail == cached.body
    assert cached.at_revision(12).body == cached.body.replace(b'"7"', b'"12"')
