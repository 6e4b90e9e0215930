"""Rate of a hot loop: pods created in a window of virtual time, second by second."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockkube.cluster.trace import Step
from mockkube.scenario.explore.intent import Intent
from mockkube.scenario.explore.mirror import PODS
from mockkube.scenario.explore.orders import Moves
from mockkube.scenario.explore.plan import Plan
from mockkube.scenario.explore.stepping import Journey

WINDOW_SECONDS: Final = 60
_MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Looping:
    """A hot loop that the exploration found."""

    # A shortest path to it; the last move starts it.
    moves: Moves
    # Settings of each component while it lasts.
    told: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Made:
    """Pods of one workload created in the window."""

    # Like `deployment/web`; for a pod without a workload, its name.
    workload: str
    # Seconds since the window began, with the pods created in each; seconds without any are included.
    series: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        """Number of pods in the window."""
        return sum(count for _, count in self.series)


@dataclass(frozen=True, slots=True)
class Rate:
    """Measured rate of a hot loop."""

    loop: Looping
    # Start of the window in the cluster's time: the loop has made some pods by then.
    began: float
    window_seconds: int
    # By workload, the fastest first.
    made: tuple[Made, ...]

    def per_minute(self, workload: str = "") -> float:
        """Return the pods created per minute, for one workload or all."""
        count = sum(one.count for one in self.made if workload in ("", one.workload))
        return count * _MINUTE / self.window_seconds

    def text(self) -> str:
        """Return the rate in one line."""
        each = [f"{one.workload} {self.per_minute(one.workload):.0f}" for one in self.made if one.count]
        return f"pods made a minute: {', '.join(each) or 'none'} (over {self.window_seconds} s)"

    def as_json(self) -> dict[str, Any]:
        """Return the rate as JSON."""
        return {
            "moves": [str(move) for move in self.loop.moves],
            "components": dict(self.loop.told),
            "began": self.began,
            "windowSeconds": self.window_seconds,
            "perMinute": self.per_minute(),
            "workloads": [
                {
                    "workload": one.workload,
                    "perMinute": self.per_minute(one.workload),
                    "series": [list(point) for point in one.series],
                }
                for one in self.made
            ],
        }


async def measure(plan: Plan, loop: Looping) -> Rate:
    """Make the moves on a new cluster, and let the loop run for a window."""
    async with Journey(plan) as journey:
        for move in loop.moves:
            await journey.take(move)
        trace, clock = journey.laboratory.trace.steps, journey.laboratory.clock
        first, began = len(trace), clock.monotonic()
        # The chooser would cut the loop off again as soon as it is recognized.
        journey.unwatched()
        await journey.passes(WINDOW_SECONDS)
        made = made_in(trace[first:], journey.intent, began, WINDOW_SECONDS)
    return Rate(loop, began, WINDOW_SECONDS, tuple(made))


def made_in(steps: Iterable[Step], intent: Intent, began: float, window_seconds: int) -> Sequence[Made]:
    """Return the pods created in these steps, by workload, the fastest first."""
    counts: dict[str, Counter[int]] = {}
    for step in steps:
        for write in step.writes:
            if write.resource == PODS and write.verb == "create":
                own = intent.workload_of(write.object())
                name = own.name if own is not None else write.name
                counts.setdefault(name, Counter())[min(int(step.at - began), window_seconds - 1)] += 1
    made = [
        Made(name, tuple((second, each[second]) for second in range(window_seconds))) for name, each in counts.items()
    ]
    return sorted(made, key=lambda one: (-one.count, one.workload))
