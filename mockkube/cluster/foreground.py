"""A cluster for as long as its process lives: the event loop, the signals that stop it, the log."""

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Callable, Mapping

from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.state import StateDirectory

_STOPPING = (signal.SIGINT, signal.SIGTERM)


def run_in_foreground(
    configuration: ClusterConfiguration, environment: Mapping[str, str], *, ready: Callable[[str, str], None]
) -> None:
    """Run the cluster until SIGINT or SIGTERM; `ready` gets its URL and kubeconfig once it answers.

    Raises what `Cluster` raises. A signal that comes while it starts counts as soon as it has started.
    """
    logging.basicConfig(
        level=configuration.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    gc.disable()  # nothing made while starting becomes garbage that is worth a search
    directory = StateDirectory.of(configuration.name, environment)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run(configuration, directory, ready))


async def _run(
    configuration: ClusterConfiguration, directory: StateDirectory, ready: Callable[[str, str], None]
) -> None:
    from mockkube.cluster.assembly import Cluster

    stop = asyncio.Event()
    for number in _STOPPING:  # from the first moment on: a signal while starting, too, undoes what was begun
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Cluster(configuration, directory) as running:
        gc.freeze()  # what is there now stays: a collection need not look at it
        gc.enable()
        if not stop.is_set():
            ready(running.url, str(running.kubeconfig))
        await stop.wait()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's where it is installed, else the standard one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
