"""The etcd engine: members that are killed, paused or cut off, other programs' keys, TLS and passwords."""

# ruff: noqa: ASYNC110, PT017 - these tests poll processes, which have no events

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest
from mockkube_storage import replica
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.engines.etcd import EtcdStore
from mockkube_storage.errors import Compacted, Conflict, Unavailable, UnknownEngine
from mockkube_storage.etcd import connection, history, messages
from mockkube_storage.etcd.grpc import GrpcConnection
from mockkube_storage.etcd.protobuf import encode_bytes
from mockkube_storage.model import REVISION_FIRST, Entry, Event, EventType
from mockkube_storage.store import Store
from mockkube_storage.watch import Watch

from tests.contract.store.etcd_cluster import Cluster, Member, run_cluster, run_etcd, skip_without_etcd

ETCDCTL = shutil.which("etcdctl")
T = TypeVar("T")


@pytest.fixture
async def etcd(tmp_path: Path) -> AsyncIterator[Member]:
    skip_without_etcd()
    async with run_etcd(tmp_path / "etcd") as member:
        yield member


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    skip_without_etcd()
    if sys.platform != "linux":
        pytest.skip("the proxies find out in /proc whose connection they forward")
    async with run_cluster(tmp_path) as cluster:
        await cluster.find_leader()
        yield cluster


@pytest.mark.parametrize(
    "url",
    [
        "etcd://",
        "etcd://host",
        "etcd://host:x",
        "etcd://a:1,b",
        "etcd://host:1?unknown=1",
        pytest.param("etcd://host:1?key=file", id="key without certificate"),
    ],
)
def test_a_url_that_is_not_understood_is_refused(url: str) -> None:
    with pytest.raises(UnknownEngine, match="etcd://host:2379"):
        open_store(url)


async def test_a_member_that_is_not_there_is_unavailable_and_no_password_is_told() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1: .*[Cc]onnect") as caught:
        await open_store("etcd://me:secret@127.0.0.1:1").start()
    assert "secret" not in str(caught.value)


async def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="certificates cannot be read: No such file"):
        await open_store(f"etcd://127.0.0.1:1?ca={tmp_path / 'absent.crt'}").start()


async def test_a_server_that_is_no_etcd_is_unavailable() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(Unavailable, match=r"violates HTTP/2|connection broke"):
        await open_store(f"etcd://127.0.0.1:{port}").start()
    server.close()


async def test_stores_with_different_prefixes_do_not_see_each_other(etcd: Member) -> None:
    async with open_store(f"{etcd.url}?prefix=/a") as a, open_store(f"{etcd.url}?prefix=/b") as b:
        watch = b.watch("", after=b.revision)
        first = await a.create("/k", b"a")
        second = await b.create("/k", b"b")
        third = await a.update("/k", b"aa", expected=first.revision)
        assert (await a.list("")).entries == (third,)
        assert (await b.list("")).entries == (second,)
        assert await b.current_revision() == b.revision == second.revision
        assert [event.entry for event in await anext(watch)] == [second]
        assert not watch.is_ready()
        async with open_store(etcd.url) as both:
            assert [entry.key for entry in (await both.list("")).entries] == ["/a/k", "/b/k"]


class _Scattered:
    """Mapping that puts keys of one letter into a directory, and all others beside it."""

    def encode(self, key: str) -> str:
        return f"/z{key}" if len(key) == 2 else key

    def encode_prefix(self, prefix: str) -> str | None:
        return self.encode(prefix) if len(prefix) > 2 else None

    def decode(self, path: str) -> str | None:
        return None if path.startswith("/not") else path.removeprefix("/z")


async def test_keys_that_a_mapping_names_are_listed_in_the_order_of_the_store(etcd: Member) -> None:
    async with EtcdStore(f"{etcd.url}?prefix=/p", _Scattered()) as store, _Client(etcd) as client:
        entries = [await store.create(key, key.encode()) for key in ("/a", "/bb/1", "/b", "/bb/2", "/bb0", "/c")]
        await client.put(b"/p/not/ours", b"")
        in_order = sorted(entries, key=lambda entry: entry.key)
        past, _ = store.revision, await store.create("/late", b"")
        assert (await store.list("/", revision=past)).entries == tuple(in_order)
        page = await store.list("", start="/b\0", limit=2, revision=past)
        assert ([entry.key for entry in page.entries], page.remaining) == (["/bb/1", "/bb/2"], 2)
        page = await store.list("/bb/", limit=1, revision=past)
        assert ([entry.key for entry in page.entries], page.remaining) == (["/bb/1"], 1)
        assert await store.get("/b", revision=past) == entries[2]
        async with open_store(etcd.url) as raw:
            found = [entry.key for entry in (await raw.list("")).entries]
        assert found == ["/p/bb/1", "/p/bb/2", "/p/bb0", "/p/late", "/p/not/ours", "/p/z/a", "/p/z/b", "/p/z/c"]
    async with EtcdStore(f"{etcd.url}?prefix=/p", _Scattered()) as store:
        assert (await store.list("/", start="/bb0")).entries[:2] == (in_order[-2], in_order[-1])


async def test_what_another_program_writes_is_seen_as_it_happened(
    etcd: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "RECENT_EVENTS_MAX", 1)
    async with open_store(f"{etcd.url}?prefix=/ours") as store, _Client(etcd) as client:
        live = store.watch("", after=REVISION_FIRST)
        await client.put(b"/theirs/1", b"x")
        await client.put(b"/ours\xff\xfe", b"not text")
        for n in range(4):
            await client.put(b"/ours/%d" % n, b"%d" % n)
        await client.put(b"/theirs/2", b"x")
        await client.delete(b"/ours/", b"/ours0")  # four keys in one revision
        await client.put(b"/ours/last", b"")
        await store.current_revision()
        expected = [(EventType.PUT, n + 4, f"/{n}") for n in range(4)]
        expected += [(EventType.DELETE, 9, f"/{n}") for n in range(4)]
        expected += [(EventType.PUT, 10, "/last")]
        assert [_shape(event) for event in await _until(live, 10)] == expected
        late = await _until(store.watch("", after=REVISION_FIRST), 10)
        assert [_shape(event) for event in late] == expected
        assert [event.previous.value for event in late if event.previous] == [b"0", b"1", b"2", b"3"]
        assert [entry.key for entry in (await store.list("")).entries] == ["/last"]


async def test_a_store_begins_with_what_is_there(etcd: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PAGE_ENTRIES_MAX", 7)
    async with open_store(etcd.url) as store:
        entries = [await store.create(f"/{n:03}", b"x" * 100_000) for n in range(30)]
        await store.delete("/000", expected=entries[0].revision)
        async with open_store(etcd.url) as again:
            assert again.revision == store.revision
            assert (await again.list("/")).entries == tuple(entries[1:])
            page = await again.list("/", limit=12, start="/003", revision=entries[-1].revision)
            assert (page.entries, page.remaining) == (tuple(entries[3:15]), 15)


async def test_history_larger_than_one_read_comes_in_parts(etcd: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "RECENT_EVENTS_MAX", 1)
    monkeypatch.setattr(history, "HISTORY_EVENTS_MAX", 10)
    async with open_store(etcd.url) as store:
        entries = [await store.create(f"/{n % 2}/{n:03}", b"x" * 200_000) for n in range(40)]
        async with store.watch("/1/", after=REVISION_FIRST) as watch:
            assert [event.entry for event in await _until(watch, store.revision)] == entries[1::2]


async def test_a_value_that_etcd_refuses_is_unavailable_and_nothing_else_is(etcd: Member) -> None:
    async with open_store(etcd.url) as store:
        with pytest.raises(Unavailable, match=r"larger than max|too large"):
            await store.create("/a", bytes(3_000_000))
        entry = await store.create("/a", bytes(1_400_000))
        assert await store.get("/a") == entry
        assert store.problem == ""


async def test_a_full_database_refuses_writes_with_its_reason(tmp_path: Path) -> None:
    skip_without_etcd()
    async with run_etcd(tmp_path / "etcd", ["--quota-backend-bytes=2000000"]) as etcd, open_store(etcd.url) as store:
        written = 0
        with suppress(Unavailable):
            while written < 1_000:
                await store.create(f"/{written}", bytes(500_000))
                written += 1
        with pytest.raises(Unavailable, match="database space exceeded"):
            await store.create("/more", b"")
        assert "database space exceeded" in store.problem
        # etcd may have done the first write that it refused: it finds out that the database is full as it applies it.
        assert len((await store.list("")).entries) in (written, written + 1)


async def test_compaction_by_another_program_is_noticed(etcd: Member) -> None:
    async with open_store(etcd.url) as store, _Client(etcd) as client:
        entry = await store.create("/a", b"0")
        for n in range(5):
            entry = await store.update("/a", b"%d" % n, expected=entry.revision)
        await client.call(messages.COMPACT, messages.encode_compaction(5))
        with pytest.raises(Compacted) as caught:
            await store.list("/", revision=3)
        assert (caught.value.requested, caught.value.oldest) == (3, 5)
        assert (await store.list("/", revision=5)).entries[0].value == b"2"
        await store.compact(4)
        with pytest.raises(Compacted) as caught:
            await anext(store.watch("", after=4))
        assert caught.value.oldest == 5


async def test_watchers_learn_what_was_compacted_while_etcd_was_away(etcd: Member) -> None:
    async with open_store(etcd.url) as store:
        entry = await store.create("/a", b"1")
        waiting, lost = store.watch("", after=store.revision), store.revision
        etcd.pause()
        etcd.kill()
        etcd.start()
        async with _Client(etcd) as client:
            # The store connects again at the same moment, or later.
            for n in range(20):
                await client.put(b"/b", b"%d" % n)
            await client.call(messages.COMPACT, messages.encode_compaction(20))
        await _wait_for(lambda: not store.problem)
        try:
            events = await _until(waiting, await store.current_revision())
        except Compacted as error:
            assert error.requested >= lost
        else:
            assert [event.revision for event in events] == list(range(lost + 1, lost + 21))
        assert await store.get("/a") == entry


async def test_another_cluster_in_the_place_of_one_ends_the_watchers(tmp_path: Path) -> None:
    skip_without_etcd()
    async with run_etcd(tmp_path / "one") as etcd, open_store(etcd.url) as store:
        await store.create("/a", b"1")
        watch = store.watch("", after=store.revision)
        etcd.kill()
        other = Member("other", tmp_path / "two")
        other.client_port = etcd.client_port
        other.start()
        try:
            with pytest.raises(Compacted):
                await anext(watch)
            # The watchers learn it while the store is still connecting.
            assert (await _insist(lambda: store.list(""))).entries == ()
            assert store.revision == REVISION_FIRST
        finally:
            other.kill()


async def test_tls_with_client_certificates(tmp_path: Path) -> None:
    skip_without_etcd()
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    ca, server, client = (tmp_path / name for name in ("ca", "server", "client"))
    _make_certificates(tmp_path)
    options = [
        f"--cert-file={server}.crt",
        f"--key-file={server}.key",
        "--client-cert-auth",
        f"--trusted-ca-file={ca}.crt",
    ]
    async with run_etcd(tmp_path / "etcd", options, scheme="https") as etcd:
        url = f"{etcd.url}?ca={ca}.crt&cert={client}.crt&key={client}.key"
        async with open_store(url) as store:
            entries = await asyncio.gather(*[store.create(f"/{n}", b"x" * 50_000) for n in range(300)])
            assert (await store.list("")).entries == tuple(sorted(entries, key=lambda entry: entry.key))
        with pytest.raises(Unavailable, match="certificate"):
            await open_store(f"{etcd.url}?cert={client}.crt&key={client}.key").start()
        with pytest.raises(Unavailable):
            await open_store(f"{etcd.url}?ca={ca}.crt").start()
        with pytest.raises(Unavailable):
            await open_store(etcd.url).start()


async def test_user_and_password(etcd: Member) -> None:
    if ETCDCTL is None:
        pytest.skip("there is no etcdctl to create users with")
    for command in ("user add root:se/cr@t", "user grant-role root root", "auth enable"):
        _etcdctl(etcd, command)
    async with open_store(etcd.url.replace("//", "//root:se%2Fcr%40t@")) as store:
        entry = await store.create("/a", b"1")
        assert await store.get("/a", revision=entry.revision) == entry
    with pytest.raises(Unavailable, match="authentication failed"):
        await open_store(etcd.url.replace("//", "//root:wrong@")).start()
    with pytest.raises(Unavailable, match=r"user name is empty|permission denied"):
        await open_store(etcd.url).start()


async def test_a_silent_member_is_given_up_for_another(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CHECK_SECONDS", 0.1)
    async with open_store(cluster.url) as store:
        entry = await store.create("/a", b"1")
        watch = store.watch("", after=store.revision)
        paused = cluster.members[_member_of(store, cluster)]
        paused.pause()
        try:
            # Nothing is asked: the watch alone has to notice.
            async with _through_others(cluster, paused) as other:
                changed = await _insist(lambda: other.update("/a", b"2", expected=entry.revision))
            assert [event.entry for event in await anext(watch)] == [changed]
            assert await store.get("/a") == changed
        finally:
            paused.resume()


async def test_a_member_without_a_leader_is_given_up_for_another(cluster: Cluster) -> None:
    async with open_store(cluster.url) as store:
        entry = await store.create("/a", b"1")
        number = _member_of(store, cluster)
        cluster.isolate(number)
        async with _through_others(cluster, cluster.members[number]) as other:
            changed = await _insist(lambda: other.update("/a", b"2", expected=entry.revision))
            assert await _insist(lambda: store.get("/a")) == changed
        assert _member_of(store, cluster) != number


async def test_a_cluster_without_a_majority_answers_nothing(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CHECK_SECONDS", 0.1)
    async with open_store(cluster.url) as store:
        entry = await store.create("/a", b"1")
        watch = store.watch("", after=store.revision)
        for number in (0, 1):
            cluster.members[number].kill()
        for read in (store.current_revision(), store.get("/a"), store.list(""), store.create("/b", b"")):
            with pytest.raises(Unavailable):
                await read
        assert store.problem
        for number in (0, 1):
            await cluster.restart(number)
        second = await _insist(lambda: store.update("/a", b"2", expected=entry.revision))
        assert [event.entry for event in await _until(watch, second.revision)][-1] == second
        assert store.problem == ""


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_nothing_is_lost_repeated_or_reordered_while_members_fail(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers and watchers of three stores run on while members are killed, paused, stalled and cut off."""
    monkeypatch.setattr(connection, "CHECK_SECONDS", 0.2)
    stores = [open_store(cluster.url) for _ in range(3)]
    for store in stores:
        await store.start()
    seen: list[list[Event]] = [[] for _ in stores]
    acknowledged: dict[str, Entry | None] = {}
    written: dict[int, str] = {}
    unknown: dict[str, int] = {}
    writes = 0
    stopped = False
    progress = asyncio.Event()

    async def follow(number: int) -> None:
        async for commit in stores[number].watch("", after=REVISION_FIRST):
            seen[number] += commit

    async def write(store: Store, key: str) -> None:
        nonlocal writes
        while not stopped:
            try:
                current = await store.get(key)
                known = acknowledged.get(key)
                # A read is never older than a write that was acknowledged.
                if known is not None:
                    assert current is not None
                    assert current.revision >= known.revision
                if current is None:
                    entry = await store.create(key, b"%d" % writes)
                else:
                    entry = await store.update(key, b"%d" % writes, expected=current.revision)
            except Conflict:
                continue  # what was unknown has been done after all
            except Unavailable:
                unknown[key] = unknown.get(key, 0) + 1
                await asyncio.sleep(0.02)
                continue
            acknowledged[key] = entry
            assert entry.revision not in written
            written[entry.revision] = key
            writes += 1
            progress.set()

    async def write_more(count: int) -> None:
        target = writes + count
        while writes < target:
            progress.clear()
            await progress.wait()

    followers = [asyncio.create_task(follow(number)) for number in range(3)]
    # Each key has one writer: what it reads after an unknown outcome may still change, but not by another.
    writers = [asyncio.create_task(write(store, f"/{n}/{i}")) for n, store in enumerate(stores) for i in range(3)]
    try:
        for trouble in _TROUBLES:
            await write_more(60)
            await trouble(cluster, lambda: write_more(20))
        await write_more(60)
    finally:
        stopped = True
        await asyncio.gather(*writers)
    final = await _insist(lambda: stores[0].list(""))
    for store in stores:
        await _insist(store.current_revision)
        await store.close()
    await asyncio.gather(*followers, return_exceptions=True)
    assert seen[0] == seen[1] == seen[2]
    revisions = [event.revision for event in seen[0]]
    assert revisions == list(range(REVISION_FIRST + 1, final.revision + 1))
    by_revision = {event.revision: event for event in seen[0]}
    assert all(by_revision[revision].entry.key == key for revision, key in written.items())
    state = {event.entry.key: event.entry for event in seen[0]}
    assert final.entries == tuple(state[key] for key in sorted(state))
    for event in seen[0]:
        assert event.previous is None or event.previous.revision < event.revision
    assert sum(unknown.values()) > 0, "no member was missed"


async def _kill_the_leader(cluster: Cluster, write_more: Callable[[], Awaitable[None]]) -> None:
    number = await cluster.find_leader()
    cluster.members[number].kill()
    await write_more()
    await cluster.restart(number)


async def _kill_a_follower(cluster: Cluster, write_more: Callable[[], Awaitable[None]]) -> None:
    number = (await cluster.find_leader() + 1) % 3
    cluster.members[number].kill()
    await write_more()
    await cluster.restart(number)


async def _pause_the_leader(cluster: Cluster, write_more: Callable[[], Awaitable[None]]) -> None:
    member = cluster.members[await cluster.find_leader()]
    member.pause()
    try:
        await write_more()
    finally:
        member.resume()


async def _isolate_the_leader(cluster: Cluster, write_more: Callable[[], Awaitable[None]]) -> None:
    cluster.isolate(await cluster.find_leader())
    try:
        await write_more()
    finally:
        cluster.isolate()


async def _isolate_everyone(cluster: Cluster, write_more: Callable[[], Awaitable[None]]) -> None:
    cluster.isolate(0, 1, 2)
    await asyncio.sleep(2)
    cluster.isolate()
    await write_more()


async def _stall_the_network(cluster: Cluster, write_more: Callable[[], Awaitable[None]]) -> None:
    stalled = cluster.members[await cluster.find_leader()].proxy
    stalled.is_stalled = True
    try:
        await write_more()
    finally:
        stalled.is_stalled = False


async def _kill_everyone(cluster: Cluster, write_more: Callable[[], Awaitable[None]]) -> None:
    for member in cluster.members:
        member.kill()
    await asyncio.gather(*[cluster.restart(number) for number in range(3)])
    await write_more()


_TROUBLES = (
    _kill_the_leader,
    _pause_the_leader,
    _isolate_the_leader,
    _stall_the_network,
    _kill_a_follower,
    _isolate_everyone,
    _kill_everyone,
)


class _Client:
    """Another program that uses the same etcd."""

    def __init__(self, etcd: Member) -> None:
        self._etcd = etcd

    async def __aenter__(self) -> "_Client":
        await self._etcd.wait_until_serving()
        _, self._connection = await asyncio.get_running_loop().create_connection(
            lambda: GrpcConnection("etcd", tls=False), "127.0.0.1", self._etcd.client_port
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._connection.close("done")
        await self._connection.lost.wait()

    async def call(self, method: str, request: bytes) -> bytes:
        return await self._connection.call(method, request)

    async def put(self, key: bytes, value: bytes) -> None:
        request = encode_bytes(1, key) + encode_bytes(2, value)
        await self.call("/etcdserverpb.KV/Put", request)

    async def delete(self, first: bytes, end: bytes) -> None:
        request = encode_bytes(1, first) + encode_bytes(2, end)
        await self.call("/etcdserverpb.KV/DeleteRange", request)


@asynccontextmanager
async def _through_others(cluster: Cluster, member: Member) -> AsyncIterator[Store]:
    """Store that does not use a member, once the others have a leader."""
    addresses = [f"127.0.0.1:{port}" for one, port in zip(cluster.members, cluster.ports, strict=True) if one != member]
    store = open_store("etcd://" + ",".join(addresses))
    await _insist(store.start)
    try:
        yield store
    finally:
        await store.close()


def _member_of(store: Store, cluster: Cluster) -> int:
    """Number of the member to which a store is connected."""
    address = store._connection._address  # type: ignore[attr-defined]  # no other way to know
    return cluster.ports.index(int(address.rpartition(":")[2]))


async def _insist(act: Callable[[], Awaitable[T]]) -> T:
    """Try until a member answers."""
    while True:
        with suppress(Unavailable):
            return await act()
        await asyncio.sleep(0.02)


async def _wait_for(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


async def _until(watch: Watch, revision: int) -> list[Event]:
    seen: list[Event] = []
    while not seen or seen[-1].revision < revision:
        seen += await anext(watch)
    return seen


def _shape(event: Event) -> tuple[EventType, int, str]:
    return event.type, event.revision, event.entry.key


def _etcdctl(etcd: Member, command: str) -> str:
    assert ETCDCTL is not None
    endpoint = f"--endpoints=127.0.0.1:{etcd.client_port}"
    environment = {"ETCDCTL_API": "3", "PATH": ""}
    ran = subprocess.run([ETCDCTL, endpoint, *command.split()], env=environment, capture_output=True, check=True)
    return ran.stdout.decode()


def _make_certificates(folder: Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=ca")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-out", f"{name}.crt", "-days", "30", "-extfile", "extensions"),
        )
