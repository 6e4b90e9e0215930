"""The remote engine: connections that break, servers that restart, clients that stop or read too slowly."""

# ruff: noqa: ASYNC110, PT017, SIM117 - these tests move processes, and poll what has no event

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mockkube_storage import replica
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.engines.log import LogStore
from mockkube_storage.errors import Compacted, Conflict, FutureRevision, Unavailable, UnknownEngine
from mockkube_storage.model import REVISION_FIRST, Entry, Event, EventType
from mockkube_storage.remote import client, connection, messages
from mockkube_storage.remote.server import ServerLimits
from mockkube_storage.store import Store
from mockkube_storage.watch import Watch

if TYPE_CHECKING:
    from tests.contract.store.conftest import AnswerWith, Serve

SERVER = Path(__file__).with_name("server.py")
READER = Path(__file__).with_name("reader.py")


@pytest.fixture
def directory(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.mark.parametrize(
    "url", ["mockkube-store://", "mockkube-store://host", "mockkube-store://host:x", "mockkube-store://a:1,b"]
)
def test_a_url_without_host_and_port_is_refused(url: str) -> None:
    with pytest.raises(UnknownEngine, match="mockkube-store://host:port"):
        open_store(url)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1: .*[Cc]onnect"):
        await open_store("mockkube-store://127.0.0.1:1").start()


async def test_the_first_address_that_answers_is_used(directory: str, serve: "Serve") -> None:
    async with LogStore(directory) as served, serve(served) as url:
        addresses = url.replace("//", "//127.0.0.1:1,[::1]:1,")
        async with open_store(addresses) as store:
            entry = await store.create("/a", b"1")
            assert await served.get("/a") == entry


async def test_a_server_of_something_else_is_unavailable(answer_with: "AnswerWith") -> None:
    async with answer_with(lambda: b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") as url:
        with pytest.raises(Unavailable, match=r"'HTTP/1\.1 400 Bad Request' in the place of 101"):
            await open_store(url).start()


async def test_a_client_of_another_protocol_version_is_refused(
    directory: str, serve: "Serve", monkeypatch: pytest.MonkeyPatch
) -> None:
    async with LogStore(directory) as served, serve(served) as url:
        hello = messages.HELLO.pack(2, messages.NO_STORE_ID, 1)
        assert await _exchange(url, messages.frame(messages.Request.HELLO, hello)) == b""


async def test_a_broken_connection_is_told_and_made_anew_without_gap_or_repeat(directory: str, serve: "Serve") -> None:
    async with LogStore(directory) as served:
        async with serve(served) as url:
            store = open_store(url)
            await store.start()
            first = await store.create("/a", b"1")
            watch = store.watch("", after=REVISION_FIRST)
            assert [event.entry for event in await anext(watch)] == [first]
        await _until_problem(store)
        assert "127.0.0.1" in store.problem
        for operation in (
            store.get("/a"),
            store.list("/"),
            store.get("/a", revision=1),
            store.update("/a", b"2", expected=first.revision),
            store.current_revision(),
            store.poll(),
            store.compact(1),
        ):
            with pytest.raises(Unavailable):
                await operation
        missed = await served.update("/a", b"missed", expected=first.revision)
        async with serve(served, port=_port(url)):
            assert [event.entry for event in await anext(watch)] == [missed]
            await _until_connected(store)
            second = await store.update("/a", b"2", expected=missed.revision)
            assert [event.entry for event in await anext(watch)] == [second]
        await store.close()


async def test_a_client_that_missed_what_was_compacted_tells_its_watchers(directory: str, serve: "Serve") -> None:
    async with LogStore(directory) as served:
        async with serve(served) as url:
            store = open_store(url)
            await store.start()
            first = await store.create("/a", b"1")
            watch = store.watch("", after=first.revision)
        await _until_problem(store)
        second = await served.update("/a", b"2", expected=first.revision)
        third = await served.create("/b", b"3")
        await served.compact(third.revision)
        async with serve(served, port=_port(url)):
            with pytest.raises(Compacted):
                await anext(watch)
            await _until_connected(store)
            assert (await store.list("")).entries == (second, third)
            assert store.revision == third.revision
            fourth = await store.create("/c", b"4")
            async with store.watch("", after=third.revision) as again:
                assert [event.entry for event in await anext(again)] == [fourth]
            with pytest.raises(Compacted):
                await store.get("/a", revision=first.revision)
        await store.close()


async def test_another_store_in_the_place_of_the_first_is_noticed(tmp_path: Path, serve: "Serve") -> None:
    async with LogStore(str(tmp_path / "first")) as served, serve(served) as url:
        store = open_store(url)
        await store.start()
        for n in range(10):
            await store.create(f"/{n}", b"")
        attached = store.watch("", after=store.revision)
        future = store.watch("", after=store.revision + 100)
        history = store.watch("", after=0)
        history._attached = False  # as if it had not caught up yet
    await _until_problem(store)
    async with LogStore(str(tmp_path / "second")) as served:
        other = await served.create("/other", b"")
        async with serve(served, port=_port(url)):
            for watch in (attached, future, history):
                watch._clear_queue()
                with pytest.raises(Compacted):
                    await anext(watch)
            await _until_connected(store)
            assert (await store.list("")).entries == (other,)
            assert store.revision == await store.current_revision() == other.revision
            with pytest.raises(FutureRevision):
                await store.list("", revision=9)
            await store.close()


async def test_a_store_restored_from_an_older_copy_is_noticed(directory: str, serve: "Serve") -> None:
    log = Path(directory) / "store.log"
    async with LogStore(directory) as served, serve(served) as url:
        store = open_store(url)
        await store.start()
        first = await store.create("/a", b"1")
        copy = log.read_bytes()
        await store.create("/lost", b"")
        watch = store.watch("", after=store.revision)
    await _until_problem(store)
    log.write_bytes(copy)
    async with LogStore(directory) as served, serve(served, port=_port(url)):
        with pytest.raises(Compacted):
            await anext(watch)
        await _until_connected(store)
        assert (await store.list("")).entries == (first,)
        await store.close()


@pytest.mark.timeout(120)
async def test_writers_and_watchers_go_on_when_the_server_is_killed(directory: str) -> None:
    port = 0
    acknowledged: dict[str, Entry] = {}
    writes = 0
    progress = asyncio.Event()
    stopped = False

    async def write(store: Store, key: str) -> None:
        nonlocal writes
        entry: Entry | None = None
        while not stopped:
            try:
                if entry is None:
                    entry = await store.create(key, b"0")
                else:
                    entry = await store.update(key, b"%d" % writes, expected=entry.revision)
            except Conflict as conflict:  # a write whose outcome was unknown had been done
                assert conflict.current is not None
                assert entry is None or conflict.current.revision > entry.revision
                entry = conflict.current
            except Unavailable:
                await asyncio.sleep(0.01)
                continue
            acknowledged[key] = entry
            writes += 1
            progress.set()

    async def write_more(count: int) -> None:
        target = writes + count
        while writes < target:
            progress.clear()
            await progress.wait()

    seen: dict[int, list[Event]] = {0: [], 1: []}

    async def follow(number: int, watch: Watch) -> None:
        async for commit in watch:
            seen[number] += commit

    with _server(directory, port) as server:
        url = f"mockkube-store://127.0.0.1:{server.port}"
        stores = [open_store(url), open_store(url)]
        for store in stores:
            await store.start()
        followers = [
            asyncio.create_task(follow(number, store.watch("", after=REVISION_FIRST)))
            for number, store in enumerate(stores)
        ]
        writers = [asyncio.create_task(write(store, f"/{n}/{i}")) for n, store in enumerate(stores) for i in range(4)]
        await write_more(200)
        server.kill()
    for _ in range(3):
        with _server(directory, server.port) as server:
            await write_more(200)
            server.kill()
    with _server(directory, server.port) as server:
        await write_more(100)
        stopped = True
        await asyncio.gather(*writers)
        final = await stores[0].list("")
        assert (await stores[1].list("")).entries == final.entries
        for store in stores:
            await store.close()
        await asyncio.gather(*followers, return_exceptions=True)
    assert seen[0] == seen[1]
    revisions = [event.revision for event in seen[0]]
    assert revisions == list(range(REVISION_FIRST + 1, final.revision + 1))
    state = {event.entry.key: event.entry for event in seen[0] if event.type is EventType.PUT}
    assert final.entries == tuple(state[key] for key in sorted(state))
    assert all(state[key].revision >= entry.revision for key, entry in acknowledged.items())


async def test_a_stopped_client_that_was_alone_does_not_read_what_is_outdated(directory: str) -> None:
    with _server(directory, 0) as server:
        url = f"mockkube-store://127.0.0.1:{server.port}"
        async with open_store(url) as store:
            entry = await store.create("/a", b"before")
        with _program(READER, url, "/a") as reader:
            assert reader.stdin is not None
            assert reader.stdout is not None
            for _ in range(2):
                reader.stdin.write(b"\n")
                reader.stdin.flush()
                assert reader.stdout.readline() == b"before\n"
            reader.send_signal(signal.SIGSTOP)
            async with open_store(url) as store:
                await store.update("/a", b"after", expected=entry.revision)
                reader.send_signal(signal.SIGCONT)
                reader.stdin.write(b"\n")
                reader.stdin.flush()
                assert await asyncio.to_thread(reader.stdout.readline) == b"after\n"
            reader.stdin.close()


async def test_a_sole_client_asks_only_once_and_gives_way_to_another(
    directory: str, serve: "Serve", monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    read_revision = client.ServerConnection.read_revision

    def count(connection: client.ServerConnection) -> "asyncio.Future[None]":
        nonlocal asked
        asked += 1
        return read_revision(connection)

    monkeypatch.setattr(client.ServerConnection, "read_revision", count)
    limits = ServerLimits(sole_seconds=3600.0)
    async with LogStore(directory) as served, serve(served, limits=limits) as url, open_store(url) as store:
        for n in range(10):
            entry = await store.create(f"/{n}", b"")
            assert await store.get(f"/{n}") == entry
        assert asked == 1
        # Would take an hour if the first client did not give its promise back.
        async with open_store(url) as other:
            for n in range(10):
                entry = await other.create(f"/other/{n}", b"")
                assert await store.get(f"/other/{n}") == entry
            assert asked == 11
        while asked < 20 and asked != (before := asked):  # the server has noticed the end of the other at some point
            await store.current_revision()
            if asked == before:
                break
        assert asked < 20


async def test_a_client_that_ends_leaves_no_promise_behind(directory: str, serve: "Serve") -> None:
    limits = ServerLimits(sole_seconds=3600.0)
    async with LogStore(directory) as served, serve(served, limits=limits) as url:
        for _ in range(3):
            async with open_store(url) as store:
                await store.current_revision()


async def test_a_client_that_does_not_read_is_disconnected_and_slows_nobody(
    directory: str, serve: "Serve", caplog: pytest.LogCaptureFixture
) -> None:
    limits = ServerLimits(unsent_bytes_max=500_000)
    async with LogStore(directory, fsync=False) as served, serve(served, limits=limits) as url:
        slow = socket.create_connection(("127.0.0.1", _port(url)))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(_upgrade() + _hello())
        async with open_store(url) as store:
            entry = await store.create("/a", b"")
            for n in range(200):
                entry = await store.update("/a", b"%04d" % n * 25_000, expected=entry.revision)
                if "it reads too slowly" in caplog.text:
                    break
            assert "it reads too slowly" in caplog.text
            assert await store.get("/a") == entry
        slow.close()


async def test_a_client_that_asks_without_reading_is_disconnected(
    directory: str, serve: "Serve", caplog: pytest.LogCaptureFixture
) -> None:
    limits = ServerLimits(unsent_bytes_max=500_000)
    async with LogStore(directory, fsync=False) as served:
        for n in range(10):
            await served.create(f"/{n}", b"x" * 1000)
        async with serve(served, limits=limits) as url:
            reader, writer = await asyncio.open_connection("127.0.0.1", _port(url))
            writer.write(_upgrade() + _hello())
            await reader.readuntil(b"/9xx")
            question = messages.frame(messages.Request.LIST, messages.LIST.pack(1, 0, 0, 0))
            writer.write(question * 10_000)
            while "it reads too slowly" not in caplog.text:
                await asyncio.sleep(0.001)
            writer.transport.abort()
            await asyncio.sleep(0)


async def test_a_client_that_loads_slowly_gets_everything(directory: str, serve: "Serve") -> None:
    limits = ServerLimits(unsent_bytes_max=500_000)
    async with LogStore(directory, fsync=False) as served:
        for n in range(30):
            await served.create(f"/{n:02}", b"x" * 300_000)
        async with serve(served, limits=limits) as url:
            slow = socket.create_connection(("127.0.0.1", _port(url)))
            slow.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(slow, _upgrade() + _hello())
            received = bytearray()
            while b"/00" not in received:
                received += await loop.sock_recv(slow, 65536)
            late = await served.create("/late", b"late")  # while it loads
            while b"/late" not in received:
                received += await loop.sock_recv(slow, 65536)
            slow.close()
    assert late.revision == 32
    assert all(b"/%02d" % n in received for n in range(30))


async def test_what_is_larger_than_one_answer_comes_in_parts(
    directory: str, serve: "Serve", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PART_BYTES_MAX", 10_000)
    monkeypatch.setattr(connection, "PAGE_BYTES_MAX", 10_000)
    monkeypatch.setattr(replica, "RECENT_EVENTS_MAX", 1)
    async with LogStore(directory, fsync=False) as served, serve(served) as url, open_store(url) as store:
        entries = [await store.create(f"/{n:03}", b"x" * 1000) for n in range(100)]
        then = store.revision
        changed = [await store.update(entry.key, b"y", expected=entry.revision) for entry in entries[:50]]
        page = await store.list("/", revision=then)
        assert (page.entries, page.revision, page.remaining) == (tuple(entries), then, 0)
        page = await store.list("/", start="/010", limit=70, revision=then)
        assert (page.entries, page.remaining) == (tuple(entries[10:80]), 20)
        async with store.watch("", after=REVISION_FIRST) as watch:
            seen = await _until(watch, store.revision)
        assert [event.entry for event in seen] == [*entries, *changed]
        assert [event.previous for event in seen] == [None] * 100 + entries[:50]
        async with open_store(url) as other:
            assert (await other.list("")).entries == (*changed, *entries[50:])


async def test_a_write_larger_than_a_frame_is_refused_and_nothing_else(directory: str, serve: "Serve") -> None:
    async with LogStore(directory, fsync=False) as served, serve(served) as url, open_store(url) as store:
        with pytest.raises(Unavailable, match="larger than its server accepts"):
            await store.create("/a", bytes(messages.REQUEST_BYTES_MAX))
        entry = await store.create("/a", bytes(20_000_000))
        assert await served.get("/a") == entry


async def test_what_the_server_cannot_keep_is_refused_with_its_reason(directory: str, serve: "Serve") -> None:
    async with LogStore(directory) as served, serve(served) as url, open_store(url) as store:
        entry = await store.create("/a", b"1")
        log = Path(directory) / "store.log"
        log.rename(log.with_suffix(".away"))
        answers = await asyncio.gather(
            store.update("/a", b"2", expected=entry.revision), store.create("/b", b""), return_exceptions=True
        )
        assert [type(answer) for answer in answers] == [Unavailable, Unavailable]
        assert "it has been removed" in str(answers[0])
        assert store.problem == "it has been removed"
        log.with_suffix(".away").rename(log)
        again = await store.update("/a", b"3", expected=entry.revision)
        assert store.problem == ""
        assert await store.get("/a") == again


async def test_writes_of_one_moment_conflict_with_what_was_before_them(directory: str, serve: "Serve") -> None:
    """A conflict carries the entry as it was at its place in the order, though the server does not send it."""
    async with LogStore(directory, fsync=False) as served, serve(served) as url:
        async with open_store(url) as here, open_store(url) as there:
            first = await here.create("/a", b"0")
            for _ in range(20):
                writes = [
                    store.update("/a", b"%d" % n, expected=first.revision) for n in range(5) for store in (here, there)
                ]
                answers = await asyncio.gather(*writes, return_exceptions=True)
                (winner,) = [answer for answer in answers if isinstance(answer, Entry)]
                assert {answer.current for answer in answers if isinstance(answer, Conflict)} == {winner}
                first = winner


async def test_a_server_that_is_silent_is_taken_for_dead(
    directory: str, serve: "Serve", answer_with: "AnswerWith", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CHECK_SECONDS", 0.01)
    async with answer_with(lambda: None) as url:
        with pytest.raises(Unavailable, match="does not answer"):
            await open_store(url).start()
    async with LogStore(directory) as served, serve(served) as url, open_store(url) as store:
        await asyncio.sleep(0.1)  # an idle server owes nothing
        assert store.problem == ""


async def test_a_start_that_is_cancelled_lets_go(directory: str, serve: "Serve") -> None:
    async with LogStore(directory) as served, serve(served) as url:
        for turns in range(12):
            store = open_store(url)
            before = _own_tasks()
            starting = asyncio.create_task(store.start())
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
            outcome = (await asyncio.gather(starting, return_exceptions=True))[0]
            if isinstance(outcome, asyncio.CancelledError):
                assert _own_tasks() == before
            else:
                await store.close()
        async with open_store(url) as store:
            await store.create("/a", b"")


def _own_tasks() -> set["asyncio.Task[object]"]:
    """All tasks but those in which the event loop accepts a connection."""
    return {task for task in asyncio.all_tasks() if "_accept_connection" not in repr(task)}


class _Server(subprocess.Popen[bytes]):
    """Server in a process of its own, and its port."""

    port: int


@contextmanager
def _server(directory: str, port: int) -> Iterator[_Server]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(SERVER), directory, str(port)]
    with _Server(command, stdout=subprocess.PIPE, env=environment) as server:
        try:
            assert server.stdout is not None
            server.port = int(server.stdout.readline())
            yield server
        finally:
            server.kill()


@contextmanager
def _program(path: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(path), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as program:
        try:
            yield program
        finally:
            program.kill()


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])


def _upgrade() -> bytes:
    return b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: mockkube-store\r\n\r\n"


def _hello() -> bytes:
    hello = messages.HELLO.pack(messages.PROTOCOL_VERSION, messages.NO_STORE_ID, 0)
    return messages.frame(messages.Request.HELLO, hello)


async def _exchange(url: str, data: bytes) -> bytes:
    """Send bytes after the upgrade; return what the server answers until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", _port(url))
    writer.write(_upgrade())
    await reader.readuntil(b"\r\n\r\n")
    writer.write(data)
    try:
        return await reader.read()
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _until_problem(store: Store) -> None:
    while not store.problem:
        await asyncio.sleep(0.001)


async def _until_connected(store: Store) -> None:
    while store.problem:
        await asyncio.sleep(0.001)


async def _until(watch: Watch, revision: int) -> list[Event]:
    seen: list[Event] = []
    while not seen or seen[-1].revision < revision:
        seen += await anext(watch)
    return seen
