"""Exit codes of the command line."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit code of a command."""

    OK = 0
    FAILED = 1  # the question was understood and the answer is no
    USAGE = 2
    NOT_STARTED = 3
    TIMED_OUT = 4
    STUCK = 5  # asked to stop, it did not; the watchdog has ended it (`cluster.watchdog.STUCK_EXIT`)
    INTERRUPTED = 130
