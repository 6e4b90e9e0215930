"""What a snapshot holds, there and back."""

import pytest
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.errors import Compacted

from mockkube.cluster.snapshots.snapshot_contents import KEY_PREFIX, SnapshotContents, UnreadableSnapshotError

SPECS = {"kube-scheduler": {"version": "1.36", "running": True}}


async def store(**values: str) -> MemoryStore:
    made = MemoryStore()
    await made.start()
    for key, value in values.items():
        await made.create(KEY_PREFIX + key, value.encode())
    return made


async def held(made: MemoryStore) -> dict[str, str]:
    return {entry.key.removeprefix(KEY_PREFIX): entry.value.decode() for entry in (await made.list("")).entries}


async def test_they_are_of_one_revision() -> None:
    made = await store(a="1", b="2")
    contents = await SnapshotContents.from_store(made, 2, SPECS)
    assert contents.entries == {f"{KEY_PREFIX}a": b"1"}
    assert contents.components == SPECS
    await made.compact(3)
    with pytest.raises(Compacted):
        await SnapshotContents.from_store(made, 2, SPECS)


async def test_what_is_written_is_read() -> None:
    contents = await SnapshotContents.from_store(await store(a='1.36\n{"kind":"ä"}', b=""), 3, SPECS)
    assert SnapshotContents.from_bytes(contents.to_bytes()) == contents


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "damaged", id="empty"),
        pytest.param(b"nonsense\n", "damaged", id="no JSON"),
        pytest.param(b'{"format":1,"components":{}}\n["a"]\n', "damaged", id="an entry without a value"),
        pytest.param(b'{"format":9,"components":{}}\n', "its format is 9, this mockkube reads 1", id="a later format"),
    ],
)
def test_anything_else_is_unreadable(content: bytes, why: str) -> None:
    with pytest.raises(UnreadableSnapshotError, match=why):
        SnapshotContents.from_bytes(content)


async def test_a_store_is_brought_back_and_its_revision_grows() -> None:
    made = await store(kept="1", changed="1", gone="1")
    contents = await SnapshotContents.from_store(made, made.revision, SPECS)
    entries = {entry.key.removeprefix(KEY_PREFIX): entry for entry in (await made.list("")).entries}
    await made.update(f"{KEY_PREFIX}changed", b"2", expected=entries["changed"].revision)
    await made.delete(f"{KEY_PREFIX}gone", expected=entries["gone"].revision)
    await made.create(f"{KEY_PREFIX}new", b"1")
    before = made.revision
    assert await contents.restore_into(made) == made.revision == before + 3
    assert await held(made) == {"changed": "1", "gone": "1", "kept": "1"}
    assert (await made.get(f"{KEY_PREFIX}kept")) == entries["kept"]


async def test_a_second_time_nothing_is_written() -> None:
    made = await store(a="1")
    contents = await SnapshotContents.from_store(made, made.revision, SPECS)
    assert await contents.restore_into(made) == made.revision == 2


async def test_many_entries_come_back_too() -> None:
    made = await store(**{f"k{index}": "1" for index in range(1500)})
    contents = await SnapshotContents.from_store(made, made.revision, SPECS)
    fresh = await store(other="1")
    await contents.restore_into(fresh)
    assert await held(fresh) == await held(made)
