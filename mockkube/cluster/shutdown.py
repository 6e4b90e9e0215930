"""Stop a cluster from another process, and clean up after one that was killed."""

import os
import signal
from contextlib import suppress
from typing import Final

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.kubeconfig_contexts import KubeconfigContexts
from mockkube.cluster.state.state_directory import StateDirectory, StateLock
from mockkube.runtime.clock import Clock

POLL_SECONDS: Final = 0.02


async def stop_cluster(directory: StateDirectory, *, clock: Clock, wait_seconds: float) -> bool:
    """Stop the cluster; return whether it was running. TimeoutError if it does not stop in time.

    In both cases its entries are removed from the user's kubeconfigs.
    """
    pid = directory.find_holder_pid()
    if pid is None:
        await KubeconfigContexts(directory, clock).remove_all()
        directory.running.unlink(missing_ok=True)
        if directory.path.exists():
            with StateLock(directory):
                pass  # leaving deletes what a killed ephemeral cluster has left
        return False
    _terminate(directory, pid)
    deadline = clock.monotonic() + wait_seconds
    while directory.find_holder_pid() is not None:
        if clock.monotonic() > deadline:
            raise TimeoutError
        await clock.sleep(POLL_SECONDS)
    return True


def _terminate(directory: StateDirectory, pid: int) -> None:
    try:
        # 0: another process has just locked the directory and has not written its pid yet; the caller waits.
        if pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
    except PermissionError:
        raise StartError(
            f"cluster {directory.name!r} belongs to process {pid} of another user: stop it as that user"
        ) from None
