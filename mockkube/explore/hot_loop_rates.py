"""Rate of a hot loop: pods created in a window of virtual time, second by second."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mockkube.cluster.execution.step_trace import TraceStep
from mockkube.explore.observation.operator_intent import OperatorIntent
from mockkube.explore.observation.stored_objects import PODS
from mockkube.explore.path_runner import PathRunner
from mockkube.explore.plans.orders import Moves
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.lazy_dataclasses import dataclass

# Long enough for a loop that creates the same number of pods in each second; all others need the whole window.
FIRST_WINDOW_SECONDS: Final = 10
WINDOW_SECONDS: Final = 60
_MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class HotLoopPath:
    """A hot loop that the exploration found."""

    # A shortest path to it; the last move starts it.
    moves: Moves
    # Settings of each component while it lasts.
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CreatedPods:
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
class HotLoopRate:
    """Measured rate of a hot loop."""

    loop: HotLoopPath
    # Start of the window in the cluster's time: the loop has made some pods by then.
    began: float
    window_seconds: int
    # By workload, the fastest first.
    made: tuple[CreatedPods, ...]

    def per_minute(self, workload: str = "") -> float:
        """Return the pods created per minute, for one workload or all."""
        count = sum(one.count for one in self.made if workload in ("", one.workload))
        return count * _MINUTE / self.window_seconds

    def describe(self) -> str:
        """Return the rate in one line."""
        each = [f"{one.workload} {self.per_minute(one.workload):.0f}" for one in self.made if one.count]
        return f"pods created a minute: {', '.join(each) or 'none'} (over {self.window_seconds} s)"

    def as_json(self) -> dict[str, Any]:
        """Return the rate as JSON."""
        return {
            "moves": [str(move) for move in self.loop.moves],
            "components": dict(self.loop.settings),
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


async def measure_rate(plan: RolloutPlan, loop: HotLoopPath) -> HotLoopRate:
    """Make the moves on a new cluster, and let the loop run for a window."""
    async with PathRunner(plan) as runner:
        for move in loop.moves:
            await runner.make_move(move)
        return await measure_rate_after(runner, loop)


async def measure_rate_after(runner: PathRunner, loop: HotLoopPath) -> HotLoopRate:
    """Let the loop run for a window on a cluster that has made its moves."""
    trace, clock = runner.cluster.trace.steps, runner.cluster.clock
    first, began = len(trace), clock.monotonic()
    # The chooser would cut the loop off again as soon as it is recognized.
    runner.allow_hot_loops()
    await runner.pass_time(FIRST_WINDOW_SECONDS)
    runner.observe_trace()  # or the owners of new pods were not known
    created = count_created_pods(trace[first:], runner.intent, began, FIRST_WINDOW_SECONDS)
    unsteady = {one.workload for one in created if not is_steady(one)}
    if not unsteady and _find_harmed_workloads(runner) <= {one.workload for one in created}:
        return HotLoopRate(loop, began, FIRST_WINDOW_SECONDS, tuple(created))
    await runner.pass_time(WINDOW_SECONDS - FIRST_WINDOW_SECONDS)
    runner.observe_trace()
    created = count_created_pods(trace[first:], runner.intent, began, WINDOW_SECONDS)
    return HotLoopRate(loop, began, WINDOW_SECONDS, tuple(created))


def _find_harmed_workloads(runner: PathRunner) -> set[str]:
    """Return the workloads whose pods came to harm; a controller that backs off may create the next one much later."""
    return {one.workload for record in runner.records for one in record.observations if one.is_harmful}


def is_steady(pods: CreatedPods) -> bool:
    """Return whether as many pods were created in each second.

    The window does not begin with a second of the loop, so what its first second lacks its last one has.
    """
    counts = [count for _, count in pods.series]
    return min(counts[1:-1]) > 0 and len(set(counts[1:-1])) == 1 and sum(counts) == counts[1] * len(counts)


def count_created_pods(
    steps: Iterable[TraceStep], intent: OperatorIntent, began: float, window_seconds: int
) -> Sequence[CreatedPods]:
    """Return the pods created in these steps, by workload, the fastest first."""
    counts: dict[str, Counter[int]] = {}
    for step in steps:
        for write in step.writes:
            if write.resource == PODS and write.verb == "create":
                workload = intent.workload_of(write.load_object())
                name = workload.name if workload is not None else write.name
                counts.setdefault(name, Counter())[min(int(step.at - began), window_seconds - 1)] += 1
    created = [
        CreatedPods(name, tuple((second, each[second]) for second in range(window_seconds)))
        for name, each in counts.items()
    ]
    return sorted(created, key=lambda one: (-one.count, one.workload))
