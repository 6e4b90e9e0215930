"""The log engine and its file: who may open it, what may be wrong with it, what it survives."""

# ruff: noqa: ASYNC240 - these tests look at files of a few kilobytes

import asyncio
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mockkube_storage.engines import log, log_file
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.engines.log import LogStore
from mockkube_storage.errors import Compacted, FormatTooNew, Locked, Unavailable
from mockkube_storage.model import REVISION_FIRST, Entry
from mockkube_storage.store import Store
from mockkube_storage.writes import Write

HOLD = """
import asyncio, sys
from mockkube_storage.engines.catalogue import open_store

async def hold():
    async with open_store(sys.argv[1]):
        print("open", flush=True)
        sys.stdin.read()

asyncio.run(hold())
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def path(directory: Path) -> Path:
    return directory / "store.log"


async def test_a_directory_open_in_this_process_is_locked(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        with pytest.raises(Locked) as caught:
            await LogStore(str(directory)).start()
        await store.create("/a", b"still served")
    assert str(caught.value) == f"store {path} is not available: process {os.getpid()} has it open"


async def test_a_directory_open_in_another_process_is_locked_until_that_ends(directory: Path) -> None:
    url = f"log:///{directory}"
    with _holder(url) as holder:
        with pytest.raises(Locked, match=f"process {holder.pid} has it open"):
            await open_store(url).start()
        holder.kill()
        holder.wait()
        async with open_store(url) as store:
            await store.create("/a", b"ours now")


async def test_only_the_owner_may_read_the_log(directory: Path) -> None:
    async with LogStore(str(directory)) as store:
        await store.create("/secret", b"")
        modes = {entry.name: entry.stat().st_mode & 0o777 for entry in directory.iterdir()}
    assert set(modes.values()) == {0o600}
    assert directory.stat().st_mode & 0o777 == 0o700


async def test_the_store_keeps_its_identity(directory: Path, tmp_path: Path) -> None:
    async with LogStore(str(directory)) as store:
        identity = store.store_id
    async with LogStore(str(directory)) as again, LogStore(str(tmp_path / "other")) as other:
        assert again.store_id == identity != other.store_id


async def test_a_log_that_ends_anywhere_in_its_last_record_is_cut_off_there(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        first = await store.create("/a", b"first")
        size = path.stat().st_size
        await store.update("/a", b"x" * 100, expected=first.revision)
    whole = path.read_bytes()
    for length in range(size, len(whole)):
        path.write_bytes(whole[:length])
        async with LogStore(str(directory)) as store:
            assert (await store.list("")).entries == (first,)
            second = await store.update("/a", b"second", expected=first.revision)
        async with LogStore(str(directory)) as store:
            assert (await store.list("")).entries == (second,)


async def test_a_file_that_grew_without_its_data_is_cut_off(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        first = await store.create("/a", b"first")
        size = path.stat().st_size
        await store.create("/b", b"x" * 3000)
    whole = path.read_bytes()
    for start in (size, size + 12, size + 1200):  # no byte of the record, its head alone, its first sectors
        path.write_bytes(whole[:start] + bytes(len(whole) - start))
        async with LogStore(str(directory)) as store:
            assert (await store.list("")).entries == (first,)
        assert path.stat().st_size == size


async def test_damage_anywhere_in_the_log_is_refused_and_left_as_it_is(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        entry = await store.create("/a", b"1")
        for n in range(4):
            entry = await store.update("/a", b"%d" % n, expected=entry.revision)
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(Unavailable, match=re.escape(str(path))):
            await LogStore(str(directory)).start()
        assert path.read_bytes() == damaged
    path.write_bytes(whole)
    async with LogStore(str(directory)) as store:
        assert (await store.list("")).entries == (entry,)


async def test_damage_names_its_place_and_a_remedy(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        size = path.stat().st_size
        await store.create("/a", b"1")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(Unavailable, match=f"damaged at byte {size}; restore a copy, or remove the file to start empty"):
        await LogStore(str(directory)).start()


async def test_a_record_that_does_not_follow_is_refused(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        size = path.stat().st_size
        await store.create("/a", b"1")
    content = path.read_bytes()
    path.write_bytes(content + content[size:])
    with pytest.raises(Unavailable, match="its content is damaged: revision 2 after 2"):
        await LogStore(str(directory)).start()


async def test_a_newer_format_is_refused_and_left_as_it_is(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)):
        pass
    content = path.read_bytes()
    newer = content.replace(log_file.MAGIC + b"\0\0\0\1", log_file.MAGIC + b"\0\0\0\2")
    assert newer != content
    path.write_bytes(newer)
    with pytest.raises(FormatTooNew, match="its format is 2"):
        await LogStore(str(directory)).start()
    assert path.read_bytes() == newer


@pytest.mark.parametrize("content", [b"", b"Dear diary", log_file.MAGIC, log_file.MAGIC + b"\0\0\0\1"])
async def test_a_file_that_is_no_log_is_refused_and_left_as_it_is(directory: Path, path: Path, content: bytes) -> None:
    directory.mkdir()
    path.write_bytes(content)
    with pytest.raises(Unavailable, match="it is not the log of a store"):
        await LogStore(str(directory)).start()
    assert path.read_bytes() == content
    path.unlink()
    async with LogStore(str(directory)) as store:
        assert store.revision == REVISION_FIRST


async def test_a_file_in_the_place_of_the_directory_is_unavailable(directory: Path) -> None:
    directory.write_bytes(b"")
    with pytest.raises(Unavailable, match="File exists"):
        await LogStore(str(directory)).start()


async def test_a_full_disk_refuses_writes_and_loses_nothing(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        kept = [await store.create(f"/before/{n}", b"x" * 1000) for n in range(10)]
        size = path.stat().st_size
        with _full_disk(path):
            with pytest.raises(Unavailable, match="File too large"):
                await store.create("/too-big", b"x" * 10_000_000)
            assert store.problem == "File too large"
            assert path.stat().st_size == size
        kept += [await store.create(f"/then/{n}", b"y") for n in range(3)]
        assert store.problem == ""
        assert (await store.list("/")).entries == tuple(kept)
    async with LogStore(str(directory)) as store:
        assert (await store.list("/")).entries == tuple(kept)


async def test_a_disk_that_does_not_sync_is_not_trusted_again(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    store = LogStore(str(directory))
    async with store, store.watch("", after=REVISION_FIRST) as watch:
        first = await store.create("/a", b"1")
        await anext(watch)
        with monkeypatch.context() as patched:
            patched.setattr(log_file, "sync_data", fail)
            with pytest.raises(Unavailable, match="Input/output error"):
                await store.update("/a", b"2", expected=first.revision)
        with pytest.raises(Unavailable, match="the disk does not keep what is written"):
            await store.update("/a", b"3", expected=first.revision)
        assert "the disk does not keep" in store.problem
        assert await store.get("/a") == first
        assert not watch.is_ready()
    async with store:
        assert (await store.get("/a")) == first
        await store.update("/a", b"4", expected=first.revision)


async def test_no_event_is_published_before_its_record_is_synced(
    directory: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    sync_data = log_file.sync_data

    def record(descriptor: int) -> None:
        sync_data(descriptor)
        synced.append(path.read_bytes())

    async with LogStore(str(directory)) as store, store.watch("", after=REVISION_FIRST) as watch:
        monkeypatch.setattr(log_file, "sync_data", record)
        writing = asyncio.create_task(store.create("/a", b"value"))
        while not watch.is_ready():
            assert not writing.done()
            await asyncio.sleep(0)
        assert synced
        assert b"value" in synced[-1]
        await writing


async def test_without_fsync_nothing_is_synced(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(log_file, "sync_data", fail)
    async with LogStore(str(directory), fsync=False) as store:
        entry = await store.create("/a", b"1")
    async with LogStore(str(directory), fsync=False) as store:
        assert await store.get("/a") == entry


def _unlink(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def _truncate(path: Path) -> None:
    os.truncate(path, 0)


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


def _unlink_lock(path: Path) -> None:
    Path(f"{path}.lock").unlink()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        pytest.param(_unlink, "it has been removed", id="removed"),
        pytest.param(_replace, "it has been replaced by another file", id="replaced"),
        pytest.param(_truncate, "another process has changed its size", id="truncated"),
        pytest.param(_append, "another process has changed its size", id="appended to"),
        pytest.param(_unlink_lock, "its lock file, which keeps other processes out, has been removed", id="unlocked"),
    ],
)
async def test_a_log_that_would_not_keep_a_write_refuses_it_and_says_why(
    directory: Path, path: Path, harm: Callable[[Path], None], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with LogStore(str(directory)) as store:
        entry = await store.create("/a", b"1")
        assert store.problem == ""
        harm(path)
        for _ in range(2):
            with pytest.raises(Unavailable, match=re.escape(said)):
                await store.update("/a", b"2", expected=entry.revision)
        assert said in store.problem
        assert [record.levelname for record in caplog.records if said in record.message] == ["ERROR"]
        assert await store.get("/a") == entry


async def test_a_log_that_is_moved_away_and_back_takes_writes_again(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        await store.create("/a", b"1")
        os.rename(path, path.with_suffix(".away"))
        with pytest.raises(Unavailable, match="has been removed"):
            await store.create("/b", b"1")
        os.rename(path.with_suffix(".away"), path)
        kept = await store.create("/c", b"1")
    async with LogStore(str(directory)) as store:
        assert await store.get("/b") is None
        assert await store.get("/c") == kept


async def test_a_write_that_is_cancelled_while_it_is_synced_leaves_a_log_that_goes_on(directory: Path) -> None:
    store = LogStore(str(directory))
    await store.start()
    committing = asyncio.create_task(store.commit([Write("/a", b"1", None)]))
    await asyncio.sleep(0)
    committing.cancel()
    await asyncio.gather(committing, return_exceptions=True)
    entry = await store.create("/b", b"2")
    await store.close()
    async with store:
        assert await store.get("/b") == entry


@pytest.fixture
def small_rewrites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes logs of a few kilobytes worth rewriting."""
    monkeypatch.setattr(log, "REWRITE_BYTES_MIN", 20_000)
    monkeypatch.setattr(log, "LAST_EVENTS_MAX", 3)


@pytest.mark.usefixtures("small_rewrites")
async def test_compaction_rewrites_a_log_that_has_doubled(directory: Path, path: Path) -> None:
    async with LogStore(str(directory)) as store:
        identity = store.store_id
        kept = await store.create("/kept", b"k" * 1000)
        entry = await _update_often(store, "/a", 60)
        before = path.stat().st_size
        oldest = store.revision
        later = [await store.create(f"/later/{n}", b"l") for n in range(10)]
        await store.compact(oldest)
        after = path.stat().st_size
        assert (before > 60_000, after < 5_000) == (True, True)
        last = await store.create("/last", b"")
    async with LogStore(str(directory)) as store:
        assert store.store_id == identity
        assert (await store.list("")).entries == tuple(sorted([kept, entry, *later, last], key=lambda one: one.key))
        assert (await store.list("", revision=oldest)).entries == (entry, kept)
        with pytest.raises(Compacted):
            await store.list("", revision=oldest - 1)
        async with store.watch("", after=oldest) as watch:
            assert [event.entry for event in await anext(watch)] == [*later, last]
    assert sorted(entry.name for entry in directory.iterdir()) == ["store.log", "store.log.lock"]


@pytest.mark.usefixtures("small_rewrites")
async def test_a_log_is_rewritten_beside_writers(directory: Path) -> None:
    async with LogStore(str(directory), fsync=False) as store:

        async def churn(writer: int) -> Entry:
            return await _update_often(store, f"/{writer}", 200)

        writers = [asyncio.create_task(churn(n)) for n in range(5)]
        rewritten = 0
        while not all(writer.done() for writer in writers):
            size = store._rewritten_size
            await store.compact(store.revision)
            rewritten += store._rewritten_size != size
            await asyncio.sleep(0)
        entries = [await writer for writer in writers]
        assert rewritten
        revision = store.revision
    async with LogStore(str(directory)) as store:
        assert (await store.list("")).entries == tuple(entries)
        assert store.revision == revision


@pytest.mark.usefixtures("small_rewrites")
async def test_a_rewrite_is_no_problem(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with LogStore(str(directory)) as store:
        problems: list[str] = []
        for name in ("sync_directory", "encode_record"):
            function = getattr(log, name)

            def look(argument: Any, function: Callable[[Any], Any] = function) -> Any:
                problems.append(store.problem)
                return function(argument)

            monkeypatch.setattr(log, name, look)
        await _update_often(store, "/a", 60)
        await store.compact(store.revision)
        assert store._rewritten_size
        assert set(problems) == {""}


@pytest.mark.usefixtures("small_rewrites")
async def test_a_rewrite_that_fails_leaves_the_log_as_it_is(
    directory: Path, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with LogStore(str(directory)) as store:
        entry = await _update_often(store, "/a", 60)
        other = await _update_often(store, "/b", 60)
        inode = path.stat().st_ino
        (directory / "store.log.new").mkdir()
        await store.compact(store.revision)
        assert path.stat().st_ino == inode
        assert "its log cannot be rewritten" in caplog.text
        (directory / "store.log.new").rmdir()
        last = await store.create("/last", b"")
    async with LogStore(str(directory)) as store:
        assert (await store.list("")).entries == (entry, other, last)


async def test_what_an_interrupted_rewrite_has_left_is_removed(directory: Path) -> None:
    async with LogStore(str(directory)) as store:
        entry = await store.create("/a", b"1")
    (directory / "store.log.new").write_bytes(b"half a log")
    async with LogStore(str(directory)) as store:
        assert await store.get("/a") == entry
    assert not (directory / "store.log.new").exists()


async def _update_often(store: Store, key: str, times: int) -> Entry:
    entry = await store.create(key, b"0")
    for n in range(times):
        entry = await store.update(key, b"%04d" % n * 250, expected=entry.revision)
    return entry


@contextmanager
def _full_disk(path: Path) -> Iterator[None]:
    """Let no file of this process grow much beyond the size of the log."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1_000_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def _holder(url: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has the store open."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLD, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        yield holder
