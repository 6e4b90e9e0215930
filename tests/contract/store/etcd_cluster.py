"""etcd for tests: one member, or three, with proxies that can cut them off from clients and from each other."""

# ruff: noqa: ASYNC110 - processes have no events

import asyncio
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import cache, partial
from pathlib import Path

import pytest

ETCD = os.environ.get("MOCKKUBE_TEST_ETCD") or shutil.which("etcd") or ""
SKIP_ETCD = (
    "there is no etcd: install it (Debian: etcd-server), or set MOCKKUBE_TEST_ETCD to the path of its executable"
)
START_SECONDS_MAX = 30.0
MEMORY = Path("/dev/shm")
MEMORY_BYTES_MIN = 4 << 30  # each member reserves 128 MB for its log


def skip_without_etcd() -> None:
    if not ETCD:
        pytest.skip(SKIP_ETCD)


class Proxy:
    """Forwards connections to a port, or to the socket of a path, unless their client is cut off."""

    def __init__(self, target: int | str) -> None:
        self._target = target
        self._open: dict[asyncio.StreamWriter, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.cut_off: Callable[[int], bool] = lambda source_port: False
        self.is_stalled = False  # connections stay open, and nothing passes

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def apply(self) -> None:
        """Close the connections of clients that have been cut off."""
        for writer, source_port in list(self._open.items()):
            if self.cut_off(source_port):
                writer.transport.abort()

    async def close(self) -> None:
        self._server.close()
        self.is_stalled = False
        self.cut_off = lambda source_port: True
        self.apply()
        await asyncio.gather(*self._tasks)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, str):
            return await asyncio.open_unix_connection(self._target)
        return await asyncio.open_connection("127.0.0.1", self._target)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source_port = writer.get_extra_info("peername")[1]
        if self.cut_off(source_port):
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there_reader, there_writer = await self._connect()
        except OSError:
            writer.transport.abort()
            self._tasks.discard(task)
            return
        self._open |= {writer: source_port, there_writer: source_port}
        with suppress(asyncio.CancelledError):
            await asyncio.gather(self._copy(reader, there_writer), self._copy(there_reader, writer))
        for one in (writer, there_writer):
            self._open.pop(one, None)
            one.transport.abort()
        self._tasks.discard(task)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                while self.is_stalled:
                    await asyncio.sleep(0.02)
                writer.write(data)
                await writer.drain()
        writer.close()


class Member:
    """Process of a member."""

    def __init__(self, name: str, directory: Path, options: Sequence[str] = (), *, scheme: str = "http") -> None:
        self.client_port, self.peer_port = _free_port(self), _free_port(self)
        self.advertised_peer_port = self.peer_port
        self.name = name
        self.proxy = Proxy(self.client_port)
        self.peer_proxy = Proxy(self.peer_port)
        self._scheme = scheme
        self._directory = directory
        self._options = options
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"etcd://127.0.0.1:{self.client_port}"

    @property
    def pid(self) -> int:
        return self.process.pid if self.process else 0

    def start(self, cluster: str = "") -> None:
        client, peer = f"{self._scheme}://127.0.0.1:{self.client_port}", f"http://127.0.0.1:{self.peer_port}"
        advertised = f"http://127.0.0.1:{self.advertised_peer_port}"
        flags = {
            "name": self.name,
            "data-dir": str(self._directory),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": advertised,
            "initial-cluster": cluster or f"{self.name}={advertised}",
            "log-level": "error",
            # A cluster of one elects its leader at once; three of them share slow machines with other tests.
            "heartbeat-interval": "50" if cluster else "10",
            "election-timeout": "500" if cluster else "100",
        }
        command = [ETCD, *(f"--{name}={value}" for name, value in flags.items()), *_fast_options(), *self._options]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        log = self._directory.with_name(f"{self._directory.name}.log").open("ab")
        with log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    async def wait_until_serving(self) -> None:
        """Return when it accepts connections."""
        async with asyncio.timeout(START_SECONDS_MAX):
            while True:
                self._check_running()
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.client_port)
                except OSError:
                    await asyncio.sleep(0.01)
                    continue
                writer.transport.abort()
                return

    async def wait_until_serving_peers(self) -> None:
        """Return when it answers requests of other members.

        A member that starts asks all others, and gives each a second. Those that start at the same moment accept its
        connection, but often do not answer it. So a cluster whose members start one after the other is up sooner.
        """
        async with asyncio.timeout(START_SECONDS_MAX):
            while not await self._answers_peers():
                self._check_running()
                await asyncio.sleep(0.01)

    async def _answers_peers(self) -> bool:
        writer = None
        try:
            async with asyncio.timeout(1):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.peer_port)
                writer.write(b"GET /members HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                return await reader.read(1) != b""
        except (OSError, TimeoutError):
            return False
        finally:
            if writer is not None:
                writer.transport.abort()

    def _check_running(self) -> None:
        assert self.process is not None
        assert self.process.poll() is None, self._directory.with_name(f"{self._directory.name}.log").read_text()


class Cluster:
    """Three members; with proxies, clients and other members reach each through its own two."""

    def __init__(self, directory: Path, *, has_proxies: bool = True) -> None:
        self.members = [Member(f"m{n}", directory / f"m{n}") for n in range(3)]
        self.ports = [member.client_port for member in self.members]
        self._has_proxies = has_proxies
        self._isolated: set[int] = set()

    async def start(self, stack: AsyncExitStack) -> None:
        if self._has_proxies:
            await self._start_proxies(stack)
        self._names = ",".join(f"{one.name}=http://127.0.0.1:{one.advertised_peer_port}" for one in self.members)
        for member in self.members:
            stack.callback(member.kill)
            member.start(self._names)
            await member.wait_until_serving_peers()
        await asyncio.gather(*[member.wait_until_serving() for member in self.members])

    async def _start_proxies(self, stack: AsyncExitStack) -> None:
        self.ports = []
        for member in self.members:
            self.ports.append(await member.proxy.start())
            member.advertised_peer_port = await member.peer_proxy.start()
            stack.push_async_callback(member.proxy.close)
            stack.push_async_callback(member.peer_proxy.close)

    @property
    def url(self) -> str:
        return self.url_from(0)

    def url_from(self, number: int) -> str:
        """URL of all members whose clients connect to this one first."""
        return "etcd://" + ",".join(f"127.0.0.1:{port}" for port in self.ports[number:] + self.ports[:number])

    async def restart(self, number: int) -> None:
        self.members[number].start(self._names)
        await self.members[number].wait_until_serving()

    def isolate(self, *numbers: int) -> None:
        """Cut members off from the others, but not from clients; without numbers, from none."""
        self._isolated = set(numbers)
        for number, member in enumerate(self.members):
            member.peer_proxy.cut_off = partial(self._is_cut_off, number)
            member.peer_proxy.apply()

    def _is_cut_off(self, number: int, source_port: int) -> bool:
        if number in self._isolated:
            return True
        inode = _inode_of_connection(source_port)
        return any(_has_open(self.members[other].pid, inode) for other in self._isolated)

    async def find_leader(self) -> int:
        """Wait until a member says that it is the leader; return its number."""
        while True:
            for number, member in enumerate(self.members):
                if b"is_leader 1" in await asyncio.to_thread(_read_metrics, member.client_port):
                    return number
            await asyncio.sleep(0.05)


@asynccontextmanager
async def run_etcd(directory: Path, options: Sequence[str] = (), *, scheme: str = "http") -> AsyncIterator[Member]:
    """Run a cluster of one member."""
    with _data_directory(directory) as data:
        member = Member("default", data / "etcd", options, scheme=scheme)
        member.start()
        try:
            await member.wait_until_serving()
            yield member
        finally:
            member.kill()


@asynccontextmanager
async def run_cluster(directory: Path, *, has_proxies: bool = True) -> AsyncIterator[Cluster]:
    """Run a cluster of three members."""
    async with AsyncExitStack() as stack:
        cluster = Cluster(stack.enter_context(_data_directory(directory)), has_proxies=has_proxies)
        await cluster.start(stack)
        yield cluster


@contextmanager
def _data_directory(directory: Path) -> Iterator[Path]:
    """Directory in memory if there is space, as etcd 3.4 syncs each write and disks stall; else the given one."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES_MIN:
        with tempfile.TemporaryDirectory(prefix="mockkube-etcd-", dir=MEMORY) as folder:
            yield Path(folder)
    else:
        directory.mkdir(exist_ok=True)
        yield directory


def _free_port(owner: object) -> int:
    """Port that nobody uses, below those that the system gives to outgoing connections.

    On Linux it is reserved as long as the owner exists: a socket that is bound but does not listen keeps it from other
    tests, and not from a server that sets SO_REUSEADDR, as etcd does.
    """
    while True:
        port = random.randrange(15_000, 32_000)
        found = socket.socket()
        try:
            found.bind(("127.0.0.1", port))
        except OSError:
            found.close()
            continue
        if sys.platform == "linux":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            weakref.finalize(owner, os.close, found.detach())
        found.close()
        return port


@cache
def _fast_options() -> list[str]:
    """Writes need not survive the end of the machine that runs the tests."""
    known = subprocess.run([ETCD, "--help"], capture_output=True, check=False)
    return ["--unsafe-no-fsync"] if b"--unsafe-no-fsync" in known.stdout + known.stderr else []


def _read_metrics(port: int) -> bytes:
    parts = []
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def _inode_of_connection(port: int) -> str:
    """Inode of the socket with this local port."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].partition(":")[2], 16) == port and fields[3] == "01":
            return fields[9]
    return ""


def _has_open(pid: int, inode: str) -> bool:
    if not pid or not inode:
        return False
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            if os.readlink(descriptor) == f"socket:[{inode}]":
                return True
    return False
