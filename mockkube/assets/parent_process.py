"""End a program with the test process that started it."""

import os
from typing import Final

from mockkube.runtime.clock import RealClock

POLL_SECONDS: Final = 0.5


def follows_parent() -> bool:
    """Return whether the program should end with its parent.

    envtest starts its programs as leaders of process groups of their own, so that Ctrl-C does not reach them; a test
    binary that is killed would leave them running. Daemons lead a session (kwokctl starts them so), and background jobs
    of a script stay in its group: both are meant to outlive their parent.
    """
    pid = os.getpid()
    return os.getpgid(0) == pid and os.getsid(0) != pid and os.getppid() != 1


async def wait_for_parent_exit() -> None:
    """Return when the parent process has ended."""
    parent, clock = os.getppid(), RealClock()
    # Polled, as the alternative, PR_SET_PDEATHSIG, sends the signal when the parent's thread ends, and Go programs end
    # threads at any time.
    while os.getppid() == parent:
        await clock.sleep(POLL_SECONDS)
