"""The etcd executable: keeps a store in a directory, and serves it to API servers.

It has the flags, the health checks and the version of etcd, but not its API: only API servers of mockkube can use it.
"""

# The server listens before anything else is imported: a client that connects meanwhile waits, while one that is refused
# tries again only later.
import gc
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Final

from mockkube.assets.etcd_options import EtcdOptions, ListenAddress, OptionsError, UsageError, render_help

if TYPE_CHECKING:
    import asyncio
    import logging

    from mockkube_storage.engines.log import LogStore

VERSION: Final = "3.6.14"
_BACKLOG: Final = 1024
_MEMBER_DIRECTORY: Final = "member"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
# Thresholds of the garbage collector: entries are many, and none of them is in a cycle.
_GC_THRESHOLDS: Final = (50_000, 5, 400)


def main(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """Run the executable; return its exit code. After a signal it does not return: the process ends by the signal."""
    gc.disable()  # nothing made while starting becomes garbage that is worth a search
    try:
        options = EtcdOptions.parse(arguments, environment)
        if options.wants_help:
            print(render_help())
            return 0
        if options.wants_version:
            print(render_version())
            return 0
        _check_data_directory(options.data_directory)
        sockets = [_listen(address) for address in options.addresses]
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except OptionsError as error:
        return _fail(str(error))
    return _run(options, sockets)


def render_version() -> str:
    """Return the text of `--version`."""
    import platform

    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    lines = (
        f"etcd Version: {VERSION}",
        "Git SHA: mockkube",
        f"Go Version: none (Python {platform.python_version()})",
        f"Go OS/Arch: {sys.platform}/{architecture}",
    )
    return "\n".join(lines)


def _fail(cause: str) -> int:
    import logging

    from mockkube.assets.etcd_log import start_logging

    start_logging("info", ["stderr"], "json")
    logging.getLogger("etcd").critical("failed to start etcd: %s", cause)
    return 1


def _check_data_directory(directory: str) -> None:
    """Raise OptionsError if a real etcd has its data there."""
    if os.path.isdir(os.path.join(directory, _MEMBER_DIRECTORY)):
        raise OptionsError(f"--data-dir {directory} has the data of a real etcd, which this one cannot read")


def _listen(address: ListenAddress) -> socket.socket:
    """Return a socket that listens on an address. Raises OptionsError."""
    shown = f"{address.host}:{address.port}"
    try:
        found = socket.getaddrinfo(address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # As Go does: a name is one address, of IPv4 if it has one.
        family, _, _, _, to_bind = min(found, key=lambda info: info[0] != socket.AF_INET)
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(to_bind)
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OptionsError(f"listen tcp {shown}: {reason}") from None
    return listening


def _run(options: EtcdOptions, sockets: Sequence[socket.socket]) -> int:
    asyncio = _import_asyncio_without_tls()
    import logging
    import signal

    from mockkube.assets.etcd_log import start_logging

    values = options.values
    try:
        start_logging(values["log-level"], values["log-outputs"].split(","), values["log-format"])
    except OSError as error:
        return _fail(f"--log-outputs: {error}")
    log = logging.getLogger("etcd")
    for warning in options.warnings:
        log.warning(warning)
    try:
        number = asyncio.run(_serve(options, sockets, log))
    except (OptionsError, OSError) as error:
        log.critical("failed to start etcd: %s", error)
        return 1
    if os.getpid() == 1 or number is None:
        return 0
    # upstream etcd 3.6: pkg/osutil/interrupt_unix.go: the process ends by the signal
    logging.shutdown()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 0


def _import_asyncio_without_tls() -> ModuleType:
    """Import asyncio as a Python without TLS does, which this server does not speak.

    OpenSSL would take a fifth of the memory of the process, and a tenth of its start.
    """
    is_loaded = "ssl" in sys.modules
    if not is_loaded:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # an import of it fails then
    try:
        import asyncio

        return asyncio
    finally:
        if not is_loaded:
            del sys.modules["ssl"]


async def _serve(options: EtcdOptions, sockets: Sequence[socket.socket], log: "logging.Logger") -> int | None:
    """Serve until a signal, which is returned, or until the end of the parent process."""
    import asyncio

    from mockkube_storage.engines.log import LogStore
    from mockkube_storage.errors import StoreError

    stop: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
    _watch_for_end(stop)
    try:
        async with LogStore(options.data_directory, fsync=options.fsync) as store:
            await _serve_store(store, sockets, stop, log)
    except StoreError as error:
        raise OptionsError(str(error)) from error
    return stop.result()


async def _serve_store(
    store: "LogStore", sockets: Sequence[socket.socket], stop: "asyncio.Future[int | None]", log: "logging.Logger"
) -> None:
    import asyncio

    from mockkube_storage.remote.server import StoreServer

    server = StoreServer(store, version=VERSION)
    running = asyncio.get_running_loop().create_task(server.run(), name="commits")
    for listening in sockets:
        await server.listen(listening)
        log.info("serving client traffic insecurely on %s:%s", *listening.getsockname()[:2])
    log.info("ready to serve client requests")
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()
    try:
        await asyncio.wait((running, stop), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        log.info("received a signal; shutting down" if stop.result() else "the parent process has ended")
    finally:
        await server.close()
        running.cancel()
        await asyncio.wait((running,))


def _watch_for_end(stop: "asyncio.Future[int | None]") -> None:
    """Set the result at SIGINT, SIGTERM, or the end of a parent that the process belongs to."""
    import asyncio
    import signal

    from mockkube.assets.parent_process import follows_parent, wait_for_parent_exit

    loop = asyncio.get_running_loop()

    def end(number: int | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)  # a second signal ends the process at once
        if not stop.done():
            stop.set_result(number)

    async def follow_parent() -> None:
        await wait_for_parent_exit()
        end(None)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end, number)
    if follows_parent():
        task = loop.create_task(follow_parent(), name="parent")
        stop.add_done_callback(lambda _: task.cancel())
