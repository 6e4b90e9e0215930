"""The SQLite engine and its file: who may open it, what may be wrong with it, what it survives."""

import contextlib
import os
import re
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.errors import FormatTooNew, Locked, Unavailable
from mockkube_storage.model import REVISION_FIRST

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
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def test_a_plain_path_and_a_url_open_the_same_file(path: Path) -> None:
    async with open_store(str(path)) as store:
        entry = await store.create("/a", b"1")
    async with open_store(f"sqlite:///{path}") as store:
        assert await store.get("/a") == entry


async def test_a_file_open_in_this_process_is_locked(path: Path) -> None:
    async with open_store(str(path)) as store:
        with pytest.raises(Locked) as caught:
            await open_store(str(path)).start()
        await store.create("/a", b"still served")
    assert str(caught.value) == f"store {path} is not available: process {os.getpid()} has it open"


async def test_a_file_open_in_another_process_is_locked_until_that_ends(path: Path) -> None:
    with _holder(path) as holder:
        with pytest.raises(Locked, match=f"process {holder.pid} has it open"):
            await open_store(str(path)).start()
        holder.kill()
        holder.wait()
        async with open_store(str(path)) as store:
            await store.create("/a", b"ours now")


async def test_a_newer_format_is_refused_and_left_as_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER, new_column TEXT);"
            "CREATE TABLE entries (something INTEGER);"
            "INSERT INTO meta VALUES ('format', 2, 'x');"
        )
    before = _content(path)
    with pytest.raises(FormatTooNew, match="its format is 2") as caught:
        await open_store(str(path)).start()
    assert (caught.value.found, caught.value.known) == (2, 1)
    assert _content(path) == before


async def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE bookmarks (url TEXT)")
    before = _content(path)
    with pytest.raises(Unavailable, match="it holds a table of another program, bookmarks"):
        await open_store(str(path)).start()
    assert _content(path) == before


async def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path) -> None:
    before = _write_diary(path)
    with pytest.raises(Unavailable, match=f"store {path} is not available: file is not a database"):
        await open_store(str(path)).start()
    assert _content(path) == before


async def test_a_file_in_no_folder_is_unavailable(path: Path) -> None:
    absent = path / "absent" / "store.db"
    with pytest.raises(Unavailable, match=f"store {absent} is not available: No such file or directory"):
        await open_store(str(absent)).start()


async def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=f"store {tmp_path} is not available: Is a directory"):
        await open_store(str(tmp_path)).start()


async def test_a_refused_file_is_not_held(path: Path) -> None:
    _write_diary(path)
    with pytest.raises(Unavailable):
        await open_store(str(path)).start()
    os.unlink(path)
    async with open_store(str(path)) as store:
        assert store.revision == REVISION_FIRST


async def test_a_layout_that_was_interrupted_is_completed(path: Path) -> None:
    async with open_store(str(path)):
        pass
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM meta")
        database.execute("DROP TABLE entries")
    async with open_store(str(path)) as store:
        await store.create("/a", b"")


async def test_only_the_owner_may_read_the_file(path: Path) -> None:
    async with open_store(str(path)) as store:
        await store.create("/secret", b"")
        modes = {entry.name: entry.stat().st_mode & 0o777 for entry in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}


async def test_a_full_disk_refuses_writes_and_loses_nothing(path: Path) -> None:
    async with open_store(str(path)) as store:
        kept = [await store.create(f"/before/{n}", b"x" * 1000) for n in range(10)]
        with _full_disk(path), pytest.raises(Unavailable, match=str(path)):
            await store.create("/too-big", b"x" * 10_000_000)
        kept += [await store.create(f"/then/{n}", b"y") for n in range(3)]
        assert (await store.list("/")).entries == tuple(kept)
    async with open_store(str(path)) as store:
        assert (await store.list("/")).entries == tuple(kept)


async def test_a_write_behind_our_back_is_found_and_never_overwritten(path: Path) -> None:
    async with open_store(str(path)) as store, store.watch("/", after=REVISION_FIRST) as watch:
        created = await store.create("/a", b"1")
        with closing(sqlite3.connect(path)) as intruder, intruder:
            intruder.execute(
                "INSERT INTO entries (revision, key, previous, create_revision, value) VALUES (?, '/a', ?, ?, ?)",
                (created.revision + 1, created.revision, created.revision, b"intruder"),
            )
        with pytest.raises(Unavailable):
            await store.update("/a", b"2", expected=created.revision)
        mine = await store.create("/b", b"")
        assert [entry.value for entry in (await store.list("/")).entries] == [b"intruder", b""]
        assert await anext(watch)
        assert [event.revision for event in await anext(watch)] == [created.revision + 1]
        assert [event.entry for event in await anext(watch)] == [mine]


async def test_the_database_itself_refuses_a_lost_update(path: Path) -> None:
    async with open_store(str(path)) as store:
        created = await store.create("/a", b"1")
        updated = await store.update("/a", b"2", expected=created.revision)
    with closing(sqlite3.connect(path)) as database, pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        database.execute(
            "INSERT INTO entries (revision, key, previous, create_revision, value) VALUES (?, '/a', ?, ?, ?)",
            (updated.revision + 1, created.revision, created.revision, b"lost"),
        )


async def test_compaction_removes_what_nobody_can_read(path: Path) -> None:
    async with open_store(str(path)) as store:
        entry = await store.create("/a", b"0")
        for n in range(1200):
            entry = await store.update("/a", b"%d" % n, expected=entry.revision)
        dead = await store.create("/b", b"")
        await store.delete("/b", expected=dead.revision)
        await store.compact(store.revision)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT revision FROM entries").fetchall() == [(entry.revision,)]


async def test_a_compaction_that_was_interrupted_goes_on_later(path: Path) -> None:
    async with open_store(str(path)) as store:
        entry = await store.create("/a", b"0")
        for n in range(10):
            entry = await store.update("/a", b"%d" % n, expected=entry.revision)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE name = 'compacted'", (entry.revision,))
    async with open_store(str(path)) as store:
        await store.compact(entry.revision)
        assert (await store.list("/")).entries == (entry,)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT revision FROM entries").fetchall() == [(entry.revision,)]


@contextmanager
def _full_disk(path: Path) -> Iterator[None]:
    """Let no file of this process grow much beyond the size of the database."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1_000_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def _holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has the store open."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        yield holder


def _content(path: Path) -> bytes:
    return path.read_bytes()


def _write_diary(path: Path) -> bytes:
    content = b"Dear diary,\n" * 1000
    path.write_bytes(content)
    return content


def _unlink(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def _unlink_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def _truncate(path: Path) -> None:
    os.truncate(path, 0)


def _unlink_lock(path: Path) -> None:
    Path(f"{path}.lock").unlink()


def _overwrite(path: Path, start: int = 0, size: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\x55" * (size or path.stat().st_size))


def _overwrite_log(path: Path) -> None:
    _overwrite(Path(f"{path}-wal"))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        pytest.param(_unlink, "store.db has been removed", id="removed"),
        pytest.param(_replace, "store.db has been replaced by another file", id="replaced"),
        pytest.param(_unlink_log, "store.db-wal has been removed", id="log removed"),
        pytest.param(_truncate, "store.db has been truncated from", id="truncated"),
        pytest.param(_unlink_lock, "store.db.lock, which keeps other processes out, has been removed", id="unlocked"),
        pytest.param(_overwrite, "its content is damaged", id="overwritten"),
        pytest.param(_overwrite_log, "its content is damaged", id="log overwritten"),
    ],
)
async def test_a_file_that_would_not_keep_a_write_refuses_it_and_says_why(
    path: Path, harm: Callable[[Path], None], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(str(path))
    await store.start()
    try:
        entry = await store.create("/a", b"1")
        for number in range(4):  # more than stays in the write-ahead log
            await store.create(f"/{number}", b"x" * 4_000_000)
        assert store.problem == ""
        harm(path)
        for _ in range(2):
            with pytest.raises(Unavailable, match=re.escape(said)):
                await store.update("/a", b"2", expected=entry.revision)
        assert said in store.problem
        assert [record.levelname for record in caplog.records if said in record.message] == ["ERROR"]
        assert await store.get("/a") == entry
    finally:
        with contextlib.suppress(Unavailable):
            await store.close()


@pytest.mark.parametrize("page", [0, 40])
async def test_a_log_that_was_written_to_is_checked_before_the_next_write_is_acknowledged(
    path: Path, page: int
) -> None:
    """A small store lies in its log alone, and who opens it next drops what follows the first bad page of that."""
    store = open_store(str(path))
    await store.start()
    acknowledged = [await store.create(f"/{number}", b"x" * 10_000) for number in range(50)]
    _overwrite(Path(f"{path}-wal"), 32 + page * (8192 + 24) + 24 + 4000, 100)
    with contextlib.suppress(Unavailable):
        acknowledged.append(await store.create("/last", b"1"))
        with closing(sqlite3.connect(f"file:{_copy(path)}?mode=rw", uri=True)) as copy:  # as after a kill
            rows = copy.execute("SELECT revision, value FROM entries ORDER BY revision").fetchall()
        assert rows == [(entry.revision, entry.value) for entry in acknowledged]
    assert (store.problem != "") == (len(acknowledged) == 50)
    with contextlib.suppress(Unavailable):
        await store.close()


def _copy(path: Path) -> Path:
    folder = path.parent / "copy"
    folder.mkdir()
    for one in (path, Path(f"{path}-wal")):
        (folder / one.name).write_bytes(one.read_bytes())
    return folder / path.name


async def test_a_file_that_is_moved_away_and_back_takes_writes_again(path: Path) -> None:
    async with open_store(str(path)) as store:
        await store.create("/a", b"1")
        os.rename(path, path.with_suffix(".away"))
        with pytest.raises(Unavailable, match="has been removed"):
            await store.create("/b", b"1")
        os.rename(path.with_suffix(".away"), path)
        kept = await store.create("/c", b"1")
    async with open_store(str(path)) as store:
        assert await store.get("/c") == kept


async def test_another_program_that_leaves_the_file_sound_is_no_reason_to_refuse_writes(path: Path) -> None:
    async with open_store(str(path)) as store:
        await store.create("/a", b"1")
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        await store.create("/b", b"1")
        assert store.problem == ""


async def test_many_writes_and_checkpoints_of_our_own_are_no_reason_to_refuse_writes(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(str(path)) as store:
        for number in range(40):
            await store.create(f"/{number}", b"x" * 300_000)
            await store.get(f"/{number}", revision=store.revision)
        await store.compact(store.revision)
        await store.create("/last", b"")
        assert store.problem == ""
    assert caplog.records == []


@pytest.mark.parametrize("page", [0, 1, 2])
async def test_a_damaged_file_is_refused_at_the_start(path: Path, page: int) -> None:
    async with open_store(str(path)) as store:
        for number in range(100):
            await store.create(f"/{number}", b"x" * 500)
    with path.open("r+b") as file:
        file.seek(page * 8192 + (0 if page else 100))
        file.write(b"\xff" * 4096)
    with pytest.raises(Unavailable, match=f"store {path} is not available"):
        await open_store(str(path)).start()
