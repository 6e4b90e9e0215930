"""disruption-controller: computes how many pods each PodDisruptionBudget allows to be evicted.

A second queue resets condition DisruptionTarget of pods that were not deleted after all.
upstream 1.36: pkg/controller/disruption/disruption.go
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import ClassVar, Final

from mockkube.api.conditions import find_condition, with_condition
from mockkube.api.errors import ApiError, Conflict
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.selectors import labels
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.times import parse_time, render_time
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.disruption.budget_counts import (
    DisruptedPods,
    ExpectedPods,
    build_disrupted_pods,
    calculate_expected_pods,
    count_healthy_pods,
    disruption_allowed_condition,
    needs_scale,
)
from mockkube.controllers.disruption.scale_finder import ScaleFinder
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.framework.selector_text import format_selector
from mockkube.controllers.framework.served_kinds import CRD_KIND
from mockkube.controllers.pods.pod_disruption_writer import PodDisruptionWriter
from mockkube.matching.pods import DISRUPTION_TARGET, FINISHED

# A pod with condition DisruptionTarget that is not deleted within this time is no longer about to be disrupted.
STALE: Final = timedelta(minutes=2)
# Shortest delay before a budget is checked again.
_RECHECK_SECONDS: Final = 0.005
_BUDGET: Final = "PodDisruptionBudget"
_SCALED: Final = ("ReplicationController", "ReplicaSet", "Deployment", "StatefulSet")
_UNMANAGED: Final = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


class DisruptionController(Controller):
    """Controller of PodDisruptionBudgets; keys are budgets."""

    name: ClassVar[str] = "disruption-controller"
    event_source: ClassVar[str] = "controllermanager"
    queue_name: ClassVar[str] = "disruption"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.budgets = self.watched_informer(_BUDGET)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        caches = {kind: self.informer(kind) for kind in _SCALED}
        self._scales = ScaleFinder(self.client, caches, self.informer(CRD_KIND))

    def _on_pod_change(self, change: ObjectChange) -> None:
        """Queue the first budget that selects the pod; warn if there are several."""
        pod = change.object
        found = [budget for budget in self.budgets.list(pod["metadata"]["namespace"]) if _selects(budget, pod)]
        if len(found) > 1:
            metadata, name = pod["metadata"], found[0]["metadata"]["name"]
            text = f'Pod "{metadata["namespace"]}"/"{metadata["name"]}" matches multiple PodDisruptionBudgets.'
            message = f'{text}  Chose "{name}" arbitrarily.'
            self.events.record(pod, "Warning", "MultiplePodDisruptionBudgets", message)
        if found:
            # As upstream, only one of several matching budgets is synced for the pod; evictions of such pods are
            # refused anyway.
            self.work_queue.add(key_of(found[0]))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Compute the counts of a budget; on an error allow no disruption."""
        budget = self.budgets.get(key)
        if budget is None:
            return DONE
        try:
            return await self._try_sync(budget)
        # The status changed since: the eviction API writes disruptedPods too, so it must not be overwritten by the
        # fail-safe.
        except Conflict:
            raise
        except ApiError as error:
            self.hot_loops.record_failure(self.name, key, error.message)
            await self._fail_safe(budget, error.message)
            return DONE

    async def _try_sync(self, budget: ReadOnlyObject) -> ReconcileResult:
        """Compute the counts of a budget, write its status, requeue for open evictions."""
        pods = self._find_pods(budget)
        if not pods:
            self.events.record(budget, "Normal", "NoPods", "No matching pods found")
        wanted = await self._expected_pods(budget, pods)
        now = self.clock.now()
        disrupted_pods = build_disrupted_pods(budget, pods, now)
        for pod in disrupted_pods.overdue:
            # As upstream, the namespace appears twice in this message, and the name not at all.
            namespace = budget["metadata"]["namespace"]
            message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
            self.events.record(pod, "Warning", "NotDeleted", message)
        await self._update_status(budget, wanted, count_healthy_pods(pods, disrupted_pods.since, now), disrupted_pods)
        if disrupted_pods.recheck_at is None:
            return DONE
        return Requeue(after=max((disrupted_pods.recheck_at - now).total_seconds(), _RECHECK_SECONDS))

    def _find_pods(self, budget: ReadOnlyObject) -> list[ReadOnlyObject]:
        try:
            selector = labels.from_label_selector(budget["spec"].get("selector"))
        except BadSelector as error:
            self.events.record(budget, "Warning", "NoPods", f"Failed to get pods: {error}")
            raise ApiError(str(error)) from error
        pods = self.pods.list(budget["metadata"]["namespace"])
        return [pod for pod in pods if selector.matches(pod["metadata"].get("labels", {}))]

    async def _expected_pods(self, budget: ReadOnlyObject, pods: Sequence[ReadOnlyObject]) -> ExpectedPods:
        """Return the expected pods, from the budget alone or from the pods' controllers."""
        if not needs_scale(budget):
            return calculate_expected_pods(budget, present=len(pods), scale=0)
        try:
            scales = await self._scales.find_scales(pods)
        except ApiError as error:
            message = f"Failed to calculate the number of expected pods: {error.message}"
            self.events.record(budget, "Warning", "CalculateExpectedPodCountFailed", message)
            raise
        if scales.unmanaged:
            message = _UNMANAGED.format(format_selector(budget["spec"].get("selector")))
            self.events.record(budget, "Warning", "UnmanagedPods", message)
        return calculate_expected_pods(budget, present=len(pods), scale=scales.total())

    async def _update_status(
        self, budget: ReadOnlyObject, expected: ExpectedPods, healthy: int, disrupted: DisruptedPods
    ) -> None:
        """Write counts, open evictions and condition if they changed."""
        old, spare = budget.get("status", {}), healthy - expected.healthy
        status: Object = {
            "currentHealthy": healthy,
            "desiredHealthy": expected.healthy,
            "expectedPods": expected.pods,
            # Without expected pods nothing is known about the workload, so upstream allows no disruption.
            "disruptionsAllowed": max(spare, 0) if expected.pods > 0 else 0,
            "observedGeneration": budget["metadata"].get("generation", 0),
        }
        if disrupted.since:
            status["disruptedPods"] = disrupted.since
        allowed = disruption_allowed_condition(status)
        if _is_unchanged(old, status, allowed):
            return
        status["conditions"] = with_condition(old.get("conditions", ()), allowed, render_time(self.clock.now()))
        await self.client.update(_BUDGET, {**budget, "status": status}, subresource="status")

    async def _fail_safe(self, budget: ReadOnlyObject, message: str) -> None:
        """Allow no disruption and set the reason SyncFailed."""
        old = budget.get("status", {})
        failed: Object = {
            "type": "DisruptionAllowed",
            "status": "False",
            "reason": "SyncFailed",
            "message": message,
            "observedGeneration": old.get("observedGeneration", 0),
        }
        conditions = with_condition(old.get("conditions", ()), failed, render_time(self.clock.now()))
        status: Object = {**old, "disruptionsAllowed": 0, "conditions": conditions}
        await self.client.update(_BUDGET, {**budget, "status": status}, subresource="status")


def _selects(budget: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    try:
        selector = labels.from_label_selector(budget["spec"].get("selector"))
    except BadSelector:
        return False
    return selector.matches(pod["metadata"].get("labels", {}))


def _is_unchanged(old: ReadOnlyObject, new: ReadOnlyObject, allowed: ReadOnlyObject) -> bool:
    # Timestamps are not compared: writing them alone would loop.
    counts = ("currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed", "observedGeneration")
    if any(old.get(name, 0) != new[name] for name in counts):
        return False
    if old.get("disruptedPods", {}) != new.get("disruptedPods", {}):
        return False
    known = find_condition(old.get("conditions", ()), "DisruptionAllowed")
    return known is not None and (known["status"], known["reason"]) == (
        allowed["status"],
        allowed["reason"],
    )


class StalePodDisruptionController(Controller):
    """Controller of stale condition DisruptionTarget; keys are pods."""

    name: ClassVar[str] = "disruption-controller/stale-pods"
    event_source: ClassVar[str] = "controllermanager"
    queue_name: ClassVar[str] = "stale_pod_disruption"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self._status = PodDisruptionWriter(self.client, dependencies.capabilities)

    def _on_pod_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED and (left := self._seconds_left(change.object)) is not None:
            self.work_queue.add_after(key_of(change.object), left)

    def _seconds_left(self, pod: ReadOnlyObject) -> float | None:
        status = pod.get("status", {})
        condition = find_condition(status.get("conditions", ()), DISRUPTION_TARGET)
        # A kubelet that terminates a pod sets the condition too, and always finishes.
        if condition is None or condition["status"] != "True" or condition.get("reason") == "TerminationByKubelet":
            return None
        if has_deletion_timestamp(pod) or status.get("phase") in FINISHED or not condition.get("lastTransitionTime"):
            return None
        return max((parse_time(condition["lastTransitionTime"]) + STALE - self.clock.now()).total_seconds(), 0.0)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Set condition DisruptionTarget to False if it is stale."""
        pod = self.pods.get(key)
        left = None if pod is None else self._seconds_left(pod)
        if pod is None or left is None:
            return DONE
        if left > 0:
            return Requeue(after=left)
        status = self._status.without_disruption_target(pod, self.clock.now())
        await self.client.update("Pod", {**pod, "status": status}, subresource="status")
        return DONE


def build(dependencies: ControllerDependencies) -> Iterable[Controller]:
    """Return the queue of budgets and the queue of stale conditions."""
    yield DisruptionController(dependencies)
    yield StalePodDisruptionController(dependencies)
