"""Which pods would have to go from which node, and which node costs least: the arithmetic of preemption.

upstream 1.36: pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/util/utils.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from mockkube.api.selectors.labels import from_label_selector
from mockkube.api.times import parse_time
from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.pods import PodInfo

DISRUPTION: Final = "DisruptionTarget"
BY_SCHEDULER: Final = "PreemptionByScheduler"
_PRIORITY_SPAN: Final = 2**31


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that would take the pod if these pods went, the most important first."""

    node_name: str
    victims: tuple[PodInfo, ...]
    violations: int = 0
    """How many victims a disruption budget protects."""


def started_at(pod: PodInfo, now: datetime) -> datetime:
    """Return when a pod started; one that has not starts now."""
    text = pod.status.get("startTime")
    return parse_time(text) if text else now


def importance(now: datetime) -> Callable[[PodInfo], tuple[int, datetime]]:
    """Return the key that sorts pods by importance: higher priority first, then who has run longer."""
    return lambda pod: (-pod.priority, started_at(pod, now))


def is_going(pod: PodInfo) -> bool:
    """Whether a pod is on its way out because it was preempted."""
    if not pod.terminating:
        return False
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == DISRUPTION:
            return condition.get("status") == "True" and condition.get("reason") == BY_SCHEDULER
    return False


class Budgets:
    """Disruption budgets, as far as they still allow disruptions."""

    def __init__(self, budgets: Iterable[ReadOnlyObject]) -> None:
        self._budgets = [_Budget(one) for one in budgets]

    def split(self, pods: Iterable[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Return the pods that may not be disrupted and those that may, if it happened in this order."""
        left = [budget.allowed for budget in self._budgets]
        protected: list[PodInfo] = []
        free: list[PodInfo] = []
        for pod in pods:
            violated = False
            for index, budget in enumerate(self._budgets):
                if budget.counts(pod):
                    left[index] -= 1
                    violated = violated or left[index] < 0
            (protected if violated else free).append(pod)
        return protected, free


class _Budget:
    def __init__(self, budget: ReadOnlyObject) -> None:
        status = budget.get("status") or {}
        self.allowed: int = status.get("disruptionsAllowed", 0)
        self._namespace = budget["metadata"].get("namespace", "")
        self._disrupted = status.get("disruptedPods") or {}
        self._selector = _selector(budget["spec"].get("selector"))

    def counts(self, pod: PodInfo) -> bool:
        """Whether disrupting the pod would use the budget up; an empty selector selects nothing here."""
        if not pod.labels or pod.namespace != self._namespace or self._selector is None:
            return False
        return self._selector.matches(pod.labels) and pod.name not in self._disrupted


def _selector(given: ReadOnlyObject | None) -> Any:
    try:
        selector = from_label_selector(given)
    except ValueError:
        return None
    return None if selector.empty else selector


def cheapest(candidates: Sequence[Candidate], now: datetime) -> Candidate:
    """Return the candidate that costs least, each rule deciding only what those before left open."""

    def latest_start(candidate: Candidate) -> float:
        highest = max(pod.priority for pod in candidate.victims)
        return -min(started_at(pod, now) for pod in candidate.victims if pod.priority == highest).timestamp()

    rules: tuple[Callable[[Candidate], float], ...] = (
        lambda one: one.violations,
        lambda one: one.victims[0].priority,
        lambda one: sum(pod.priority + _PRIORITY_SPAN for pod in one.victims),
        lambda one: len(one.victims),
        latest_start,
    )
    left = list(candidates)
    for cost in rules:
        if len(left) == 1:
            break
        costs = [cost(one) for one in left]
        least = min(costs)
        left = [one for one, value in zip(left, costs, strict=True) if value == least]
    return left[0]
