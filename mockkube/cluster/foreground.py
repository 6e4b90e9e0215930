"""Run a server as this process: event loop, signals, memory settings; `run_in_foreground` runs a cluster."""

import asyncio
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from typing import TYPE_CHECKING, TypeVar

from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.state.certificates import Certificates
from mockkube.cluster.state.state_directory import StateDirectory
from mockkube.cluster.watchdog import Watchdog
from mockkube.runtime.clock import RealClock

if TYPE_CHECKING:
    from mockkube.cluster.cluster import RunningCluster
    from mockkube.cluster.state.certificate_process import CertificateProcess

T = TypeVar("T")

_LOG = logging.getLogger("mockkube.cluster")
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AUTHORITY_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
# Thresholds of the garbage collector: objects decoded from JSON are many, and none of them is in a cycle.
_GC_THRESHOLDS = (50_000, 5, 400)


def run_in_foreground(
    configuration: ClusterConfiguration, environment: Mapping[str, str], *, ready: "Callable[[RunningCluster], None]"
) -> None:
    """Run the cluster until SIGINT or SIGTERM; call `ready` with its address once it answers.

    Raises what `Cluster` raises. A signal during the start undoes what was started. If stopping takes too long, a
    watchdog ends the process.
    """
    logging.basicConfig(
        level=configuration.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    directory = StateDirectory.for_cluster(configuration.name, environment)
    with ExitStack() as stack:
        certificate_process = start_certificate_process(configuration, directory, stack)

        def make_cluster() -> AbstractAsyncContextManager["RunningCluster"]:
            from mockkube.cluster.cluster import Cluster

            return Cluster(configuration, directory, certificate_process=certificate_process)

        run_until_signal(make_cluster, ready)


def start_certificate_process(
    configuration: ClusterConfiguration, directory: StateDirectory, stack: ExitStack
) -> "CertificateProcess | None":
    """Start the process that creates certificates, unless there is a CA that issues them; the stack ends it."""
    if not configuration.tls or configuration.join or _has_authority(configuration, directory):
        return None
    from mockkube.cluster.state.certificate_process import CertificateProcess, CertificateProcessError
    from mockkube.cluster.state.server_names import find_certificate_names

    try:
        names = find_certificate_names(configuration)
        return stack.enter_context(CertificateProcess(names, now=RealClock().now()))
    except CertificateProcessError as error:
        _LOG.warning("no process creates certificates, this one does: %s", error)
        return None


def _has_authority(configuration: ClusterConfiguration, directory: StateDirectory) -> bool:
    """Return whether there is a CA where the cluster will keep its files."""
    try:
        # An ephemeral cluster without a name leaves the directory to the cluster that runs there.
        makes_way = configuration.ephemeral and "name" not in configuration.given_settings
        if makes_way and directory.find_holder_pid() is not None:
            return False
        return Certificates(directory.certificates).authority_key.exists()
    except OSError:
        return True  # that it cannot be read is reported when it is locked


def run_until_signal(make_server: Callable[[], AbstractAsyncContextManager[T]], ready: Callable[[T], None]) -> None:
    """Enter what `make_server` returns, call `ready` with the result, leave it on SIGINT, SIGTERM or SIGHUP."""
    _allow_many_connections()
    gc.disable()  # nothing made while starting becomes garbage that is worth a search
    with asyncio.Runner(loop_factory=_find_loop_factory()) as runner:
        runner.run(_run(make_server, ready))


async def _run(make_server: Callable[[], AbstractAsyncContextManager[T]], ready: Callable[[T], None]) -> None:
    _load_aiohttp_without_roots()
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    watchdog = Watchdog(loop)

    def request_stop(*_: object) -> None:
        watchdog.begin_stop()
        loop.call_soon_threadsafe(stop.set)

    for number in _STOP_SIGNALS:  # of the interpreter, not the loop: they are run also while the loop does not turn
        signal.signal(number, request_stop)
    # A terminal that is closed ends the process, unless `nohup` has started it.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, request_stop)
    watchdog.start()
    serving = loop.create_task(_serve(make_server(), ready), name="serving")
    stopped = loop.create_task(stop.wait(), name="stop")
    try:
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        try:
            await serving
        except asyncio.CancelledError as error:
            if not stop.is_set():
                raise RuntimeError("the server has stopped by itself") from error
    finally:
        stopped.cancel()
        watchdog.close()


async def _serve(server: AbstractAsyncContextManager[T], ready: Callable[[T], None]) -> None:
    """Run the server until cancelled, also during its start."""
    async with server as running:
        gc.freeze()  # what is there now stays: a collection need not look at it
        gc.set_threshold(*_GC_THRESHOLDS)
        gc.enable()
        ready(running)
        await asyncio.Event().wait()


def _allow_many_connections() -> None:
    """Raise the limit of open files to what this user may have: each watch needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _load_aiohttp_without_roots() -> None:
    """Import aiohttp without the system's certificate authorities, which a server does not need.

    aiohttp creates a default TLS context while it is imported; reading the authorities for it takes 30 ms and 2 MB, a
    tenth of the start. Clients that need them pass a context of their own.
    """
    before = {name: os.environ.get(name) for name in _AUTHORITY_VARIABLES}
    os.environ.update(dict.fromkeys(_AUTHORITY_VARIABLES, os.devnull))
    try:
        import aiohttp  # noqa: F401 - for what it does while it is imported
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _find_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's loop factory if it is installed, else None for the standard one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
