"""Number of runs that this machine can make at the same time: a run spends most of its time waiting."""

import os
from typing import Final, NamedTuple

# Share of the processors that runs may use; a controller that has to wait for a processor looks as if it were stuck.
_SHARE_MAX: Final = 0.6
# Undisturbed runs vary, and a controller that is perturbed does more.
_JOBS_MAX: Final = 12


class ProcessorTimes(NamedTuple):
    """Processor time in seconds: of this process, and of those that it started and that have ended."""

    own: float
    children: float

    @classmethod
    def read(cls) -> "ProcessorTimes":
        """Return the times until now."""
        times = os.times()
        return cls(times.user + times.system, times.children_user + times.children_system)

    def since(self, earlier: "ProcessorTimes") -> "ProcessorTimes":
        """Return what was used since then."""
        return ProcessorTimes(self.own - earlier.own, self.children - earlier.children)


def count_jobs(run_seconds: float, used: ProcessorTimes, processors: int) -> int:
    """Return how many runs like one that took so long, and used so much, may go on at the same time.

    At least one per processor. The clusters of all runs share one process, and so one processor.
    """
    limits = [float(_JOBS_MAX)]
    if used.own > 0:
        limits.append(_SHARE_MAX * run_seconds / used.own)
    if used.own + used.children > 0:
        limits.append(_SHARE_MAX * run_seconds * processors / (used.own + used.children))
    return max(int(min(limits)), processors)
