"""PodDisruptionBudgets: which victims violate a budget.

upstream 1.36: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation)
"""

from collections.abc import Sequence
from operator import is_
from typing import Any

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.labels import from_label_selector
from mockkube.client.protocol import Key, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.pod_info import PodInfo


class DisruptionBudget:
    """One revision of a PodDisruptionBudget."""

    def __init__(self, obj: ReadOnlyObject) -> None:
        status = obj.get("status") or {}
        self.obj = obj
        self.allowed: int = status.get("disruptionsAllowed", 0)
        self.namespace: str = obj["metadata"].get("namespace", "")
        self._disrupted = status.get("disruptedPods") or {}
        self._selector = _parse_selector(obj["spec"].get("selector"))

    def is_used_by(self, pod: PodInfo) -> bool:
        """Return whether disrupting the pod uses up the budget."""
        # upstream: a pod in disruptedPods was evicted and is counted in disruptionsAllowed already.
        return self.selects(pod) and pod.name not in self._disrupted

    def selects(self, pod: PodInfo) -> bool:
        """Return whether the budget selects the pod; an empty selector selects nothing here."""
        # upstream: a pod without labels matches no budget.
        if not pod.labels or self._selector is None or pod.namespace != self.namespace:
            return False
        selected: bool = self._selector.matches(pod.labels)
        return selected


@dataclass(frozen=True, slots=True)
class PodsByViolation:
    """Pods whose eviction violates a budget, the other pods, and the budgets that select any of them."""

    violating: Sequence[PodInfo]
    non_violating: Sequence[PodInfo]
    budgets: tuple[DisruptionBudget, ...]


class PodDisruptionBudgets:
    """All disruption budgets, as far as they still allow disruptions."""

    def __init__(self, objects: Sequence[ReadOnlyObject] = ()) -> None:
        self._objects: Sequence[ReadOnlyObject] = ()
        self._budgets: dict[Key, DisruptionBudget] = {}
        self._by_namespace: dict[str, list[DisruptionBudget]] = {}
        # Grows with each change.
        self.generation = 0
        # Grows when a budget may select pods that no budget selected before.
        self.selection_generation = 0
        self.replace(objects)

    def __contains__(self, budget: DisruptionBudget) -> bool:
        """Return whether this is the present revision of a budget."""
        return self._budgets.get(key_of(budget.obj)) is budget

    def replace(self, objects: Sequence[ReadOnlyObject]) -> None:
        """Replace the budgets; the revision of an unchanged one is kept."""
        # Comparing identities is enough, because an informer hands out the same object until it changes.
        if len(objects) == len(self._objects) and all(map(is_, objects, self._objects)):
            return
        self._objects, before = objects, self._budgets
        self._budgets, self._by_namespace = {}, {}
        self.generation += 1
        for obj in objects:
            known = before.get(key_of(obj))
            if known is None or known.obj["spec"] != obj["spec"]:
                self.selection_generation += 1
            if known is None or known.obj is not obj:
                known = DisruptionBudget(obj)
            self._budgets[key_of(obj)] = known
            self._by_namespace.setdefault(known.namespace, []).append(known)

    def split_by_violation(self, pods: Sequence[PodInfo]) -> PodsByViolation:
        """Return which pods violate a budget when they are evicted in this order."""
        concerned = [one for one in self._in_namespaces_of(pods) if any(map(one.selects, pods))]
        left = [budget.allowed for budget in concerned]
        protected: list[PodInfo] = []
        free: list[PodInfo] = []
        for pod in pods:
            violated = False
            for index, budget in enumerate(concerned):
                # upstream: every matching budget is decremented, also when another one is violated already.
                if budget.is_used_by(pod):
                    left[index] -= 1
                    violated = violated or left[index] < 0
            (protected if violated else free).append(pod)
        return PodsByViolation(protected, free, tuple(concerned))

    def _in_namespaces_of(self, pods: Sequence[PodInfo]) -> Sequence[DisruptionBudget]:
        if not self._budgets:
            return ()
        namespaces = dict.fromkeys(pod.namespace for pod in pods)
        return [budget for namespace in namespaces for budget in self._by_namespace.get(namespace, ())]


def _parse_selector(label_selector: ReadOnlyObject | None) -> Any:
    try:
        selector = from_label_selector(label_selector)
    except ValueError:
        return None
    return None if selector.is_empty else selector
