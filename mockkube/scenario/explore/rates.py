"""How fast a hot loop goes: pods made within a window of virtual time, second by second."""

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
    """A loop that was come upon."""

    moves: Moves
    """A shortest way to it; the last move begins it."""
    told: tuple[tuple[str, str], ...]
    """What each component is told while it goes round."""


@dataclass(frozen=True, slots=True)
class Made:
    """The pods of one workload that were made in the window."""

    workload: str
    """As `deployment/web`; the name of the pod for one that belongs to none."""
    series: tuple[tuple[int, int], ...]
    """Seconds since the window began, each with the pods made in it; seconds without any are there too."""

    @property
    def count(self) -> int:
        """How many in all."""
        return sum(count for _, count in self.series)


@dataclass(frozen=True, slots=True)
class Rate:
    """A loop that was left to itself for a while."""

    loop: Looping
    began: float
    """The second of the cluster's time at which the window begins: the loop has been going for some pods by then."""
    window_seconds: int
    made: tuple[Made, ...]
    """By workload, the fastest first."""

    def per_minute(self, workload: str = "") -> float:
        """Return how many pods a minute are made, of one workload or of all together."""
        count = sum(one.count for one in self.made if workload in ("", one.workload))
        return count * _MINUTE / self.window_seconds

    def text(self) -> str:
        """Return it in a line."""
        each = [f"{one.workload} {self.per_minute(one.workload):.0f}" for one in self.made if one.count]
        return f"pods made a minute: {', '.join(each) or 'none'} (over {self.window_seconds} s)"

    def as_json(self) -> dict[str, Any]:
        """Return it for programs and pages."""
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
    """Make the moves on a new cluster, and let what begins with the last of them go on for a window."""
    async with Journey(plan) as journey:
        for move in loop.moves:
            await journey.take(move)
        trace, clock = journey.laboratory.trace.steps, journey.laboratory.clock
        first, began = len(trace), clock.monotonic()
        journey.unwatched()
        await journey.passes(WINDOW_SECONDS)
        made = made_in(trace[first:], journey.intent, began, WINDOW_SECONDS)
    return Rate(loop, began, WINDOW_SECONDS, tuple(made))


def made_in(steps: Iterable[Step], intent: Intent, began: float, window_seconds: int) -> Sequence[Made]:
    """Return the pods made in these steps, by workload, the fastest first."""
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
