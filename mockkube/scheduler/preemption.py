"""Which pods would have to go from which node, and which node costs least: the arithmetic of preemption.

upstream 1.36: pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/util/utils.go
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from mockkube.api.selectors.labels import from_label_selector
from mockkube.api.times import parse_time
from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.pods import PodInfo

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

    @classmethod
    def of(cls, node_name: str, victims: Sequence[PodInfo], violations: int) -> "Candidate":
        """Return a candidate with its cost."""
        ordered = tuple(sorted(victims, key=importance))
        highest = ordered[0].priority
        earliest = min(started_at(pod) for pod in ordered if pod.priority == highest)
        total = sum(pod.priority + _PRIORITY_SPAN for pod in ordered)
        return cls(node_name, ordered, (violations, highest, total, len(ordered), -earliest), violations)


def started_at(pod: PodInfo) -> float:
    """Return when a pod started, in seconds; one that has not starts later than any other."""
    text = pod.status.get("startTime")
    return parse_time(text).timestamp() if text else _NEVER


def importance(pod: PodInfo) -> tuple[int, float]:
    """Return what sorts pods by importance: higher priority first, then who has run longer."""
    return -pod.priority, started_at(pod)


def is_going(pod: PodInfo) -> bool:
    """Whether a pod is on its way out because it was preempted."""
    if not pod.terminating:
        return False
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == DISRUPTION:
            return bool(condition.get("status") == "True" and condition.get("reason") == BY_SCHEDULER)
    return False


class Budgets:
    """Disruption budgets, as far as they still allow disruptions."""

    def __init__(self, budgets: Iterable[ReadOnlyObject]) -> None:
        self._budgets = [_Budget(one) for one in budgets]

    @property
    def none(self) -> bool:
        """Whether there are no budgets at all."""
        return not self._budgets

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


def cheapest(candidates: Iterable[Candidate]) -> Candidate:
    """Return the candidate that costs least; the first of equal ones.

    That is the one with the fewest violations of budgets; then with the least important of most important victims; the
    least sum of priorities, each above zero; the fewest victims; the most important ones of which started last.
    """
    return min(candidates, key=attrgetter("cost"))
