"""Which pods would have to go from which node, and which node costs least: the arithmetic of preemption.

upstream 1.36: pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/util/utils.go
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from mockkube.api.times import parse_time
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.preemption.pod_disruption_budgets import Budget

DISRUPTION: Final = "DisruptionTarget"
BY_SCHEDULER: Final = "PreemptionByScheduler"
_PRIORITY_SPAN: Final = 2**31


Cost = tuple[float, ...]
_NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that would take the pod if these pods went, the most important first."""

    node_name: str
    victims: tuple[PodInfo, ...]
    cost: Cost
    """What decides between candidates, the first difference first."""
    violations: int = 0
    """How many victims a disruption budget protects."""
    budgets: tuple[Budget, ...] = ()
    """The budgets that were looked at."""

    @classmethod
    def of(
        cls, node_name: str, victims: Sequence[PodInfo], violations: int, budgets: tuple[Budget, ...] = ()
    ) -> "Candidate":
        """Return a candidate with its cost."""
        ordered = tuple(sorted(victims, key=importance))
        highest = ordered[0].priority
        earliest = min(started_at(pod) for pod in ordered if pod.priority == highest)
        total = sum(pod.priority + _PRIORITY_SPAN for pod in ordered)
        cost = (violations, highest, total, len(ordered), -earliest)
        return cls(node_name, ordered, cost, violations, budgets)


def started_at(pod: PodInfo) -> float:
    """Return when a pod started, in seconds; one that has not starts later than any other."""
    text = pod.status.get("startTime")
    return parse_time(text).timestamp() if text else _NEVER


def importance(pod: PodInfo) -> tuple[int, float]:
    """Return what sorts pods by importance: higher priority first, then who has run longer."""
    return -pod.priority, started_at(pod)


def by_importance(pods: Sequence[PodInfo]) -> list[PodInfo]:
    """Return pods, the most important first; of those that have not started, the last one to arrive."""
    # Upstream takes the moment at which it compares for the start of such a pod, and so turns their order round.
    ordered = sorted(enumerate(pods), key=lambda one: (*importance(one[1]), _turned(one)))
    return [pod for _, pod in ordered]


def _turned(placed: tuple[int, PodInfo]) -> int:
    place, pod = placed
    return place if pod.status.get("startTime") else -place


def is_going(pod: PodInfo) -> bool:
    """Whether a pod is on its way out because it was preempted."""
    if not pod.terminating:
        return False
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == DISRUPTION:
            return bool(condition.get("status") == "True" and condition.get("reason") == BY_SCHEDULER)
    return False


def cheapest(candidates: Iterable[Candidate]) -> Candidate:
    """Return the candidate that costs least; the first of equal ones.

    That is the one with the fewest violations of budgets; then with the least important of most important victims; the
    least sum of priorities, each above zero; the fewest victims; the most important ones of which started last.
    """
    return min(candidates, key=attrgetter("cost"))
