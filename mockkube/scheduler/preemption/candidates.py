"""Preemption candidates: a node with the victims to evict there, and the choice of the cheapest.

upstream 1.36: pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/util/utils.go
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from mockkube.api.times import parse_time
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import DISRUPTION_TARGET
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.preemption.pod_disruption_budgets import DisruptionBudget

PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"
_PRIORITY_SPAN: Final = 2**31


Cost = tuple[float, ...]
_NOT_STARTED: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Node that fits the pod once the victims are evicted, most important victim first."""

    node_name: str
    victims: tuple[PodInfo, ...]
    cost: Cost
    """Criteria that decide between candidates, compared one after the other."""
    violations: int = 0
    """Number of victims that a disruption budget protects."""
    budgets: tuple[DisruptionBudget, ...] = ()
    """Disruption budgets that were considered."""

    @classmethod
    def from_victims(
        cls, node_name: str, victims: Sequence[PodInfo], violations: int, budgets: tuple[DisruptionBudget, ...] = ()
    ) -> "Candidate":
        """Return a candidate with its cost."""
        victims_by_importance = tuple(sorted(victims, key=importance_key))
        highest = victims_by_importance[0].priority
        earliest = min(start_time(pod) for pod in victims_by_importance if pod.priority == highest)
        # upstream: the offset makes negative priorities positive, so that more victims never cost less.
        total = sum(pod.priority + _PRIORITY_SPAN for pod in victims_by_importance)
        cost = (violations, highest, total, len(victims_by_importance), -earliest)
        return cls(node_name, victims_by_importance, cost, violations, budgets)


def start_time(pod: PodInfo) -> float:
    """Return the start time of a pod in seconds; a pod that has not started starts later than any other."""
    text = pod.status.get("startTime")
    return parse_time(text).timestamp() if text else _NOT_STARTED


def importance_key(pod: PodInfo) -> tuple[int, float]:
    """Return a sort key: higher priority first, then longer running."""
    return -pod.priority, start_time(pod)


def sort_by_importance(pods: Sequence[PodInfo]) -> list[PodInfo]:
    """Return pods, most important first; of pods that have not started, the last one to arrive first."""
    # Upstream uses the time of each comparison as start of such a pod, which reverses their order.
    ordered = sorted(enumerate(pods), key=lambda one: (*importance_key(one[1]), _arrival_key(one)))
    return [pod for _, pod in ordered]


def _arrival_key(placed: tuple[int, PodInfo]) -> int:
    place, pod = placed
    return place if pod.status.get("startTime") else -place


def is_being_preempted(pod: PodInfo) -> bool:
    """Return whether a pod is terminating because it was preempted."""
    if not pod.terminating:
        return False
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == DISRUPTION_TARGET:
            return bool(condition.get("status") == "True" and condition.get("reason") == PREEMPTION_BY_SCHEDULER)
    return False


def pick_one_node_for_preemption(candidates: Iterable[Candidate]) -> Candidate:
    """Return the candidate with the lowest cost; the first of equal ones.

    Criteria, in this order: fewest violations of disruption budgets; lowest priority of the most important victim;
    lowest sum of priorities; fewest victims; latest start of the most important victims.
    """
    return min(candidates, key=attrgetter("cost"))
