"""replicaset-controller and replicationcontroller-controller: keep the wanted number of pods.

upstream 1.36: pkg/controller/replicaset/replica_set.go, replica_set_utils.go
"""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Final

from mockkube.api.conditions import find_condition
from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.selectors.labels import LabelSelector, from_label_selector
from mockkube.api.times import render_time
from mockkube.client.informer import ObjectChange, is_deletion
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.framework.consistency_store import ConsistencyStore, TrackedInformer
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import ControllerRefManager, controller_uid
from mockkube.controllers.framework.expectations import Expectations
from mockkube.controllers.framework.owner_index import OwnedObjectHandler, find_claimable, find_owned, selector_of
from mockkube.controllers.framework.slow_start import slow_start_batch
from mockkube.controllers.pods.deletion_order import select_pods_to_delete
from mockkube.controllers.pods.pod_control import PodControl, is_namespace_terminating, pod_from_template
from mockkube.controllers.pods.readiness import is_available, min_ready_delay, seconds_to_next_availability
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_active, is_ready, is_terminating

# Most pods that one reconciliation creates or deletes (upstream: BurstReplicas).
BURST_MAX: Final = 500
_FAILURE: Final = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class PodCounts:
    """Pods of a set: the active ones, and the number of terminating ones."""

    active: Sequence[ReadOnlyObject]
    # None if the gate that reports terminating replicas is disabled.
    terminating: int | None


def calculate_status(owner: ReadOnlyObject, counts: PodCounts, error: ApiError | None, now: datetime) -> Object:
    """Return the status of a set with these pods; `error` is that of creating or deleting them."""
    spec, labels = owner["spec"], ((owner["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
    status: Object = {name: value for name, value in (owner.get("status") or {}).items() if name != "conditions"}
    conditions = list((owner.get("status") or {}).get("conditions") or ())
    status["replicas"] = len(counts.active)
    min_ready_seconds = spec.get("minReadySeconds", 0)
    amounts = {
        "fullyLabeledReplicas": sum(_has_labels(pod, labels) for pod in counts.active),
        "readyReplicas": sum(is_ready(pod) for pod in counts.active),
        "availableReplicas": sum(is_available(pod, min_ready_seconds, now) for pod in counts.active),
    }
    status.update(amounts)
    # With the gate disabled the field must go, or it would keep a stale number.
    status.pop("terminatingReplicas", None)
    if counts.terminating is not None:
        status["terminatingReplicas"] = counts.terminating
    known = find_condition(conditions, _FAILURE)
    if error is not None and known is None:
        reason = "FailedCreate" if len(counts.active) < spec.get("replicas", 1) else "FailedDelete"
        condition = {"type": _FAILURE, "status": "True", "reason": reason, "message": error.message}
        conditions.append({**condition, "lastTransitionTime": render_time(now)})
    # A failure that is already reported keeps its first reason and time until a reconciliation succeeds.
    elif error is None:
        conditions = [one for one in conditions if one is not known]
    if conditions:
        status["conditions"] = conditions
    status["observedGeneration"] = owner["metadata"].get("generation", 0)
    # These counts have `omitempty` in Go; writing zeros would make every status differ from the stored one.
    return {name: value for name, value in status.items() if name not in amounts or value}


def _has_labels(pod: ReadOnlyObject, labels: ReadOnlyObject) -> bool:
    own = pod["metadata"].get("labels") or {}
    return all(own.get(name) == value for name, value in labels.items())


class ReplicaSetController(Controller):
    """Controller of ReplicaSets; keys are ReplicaSets."""

    name: ClassVar[str] = "replicaset-controller"
    queue_name: ClassVar[str] = "replicaset"
    kind: ClassVar[str] = "ReplicaSet"
    api_version: ClassVar[str] = "apps/v1"
    # Gate with which the controller waits until its informers show what it has written; empty if there is none.
    consistency_gate: ClassVar[str] = "StaleControllerConsistencyReplicaSet"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.sets = self.watched_informer(self.kind, self._on_set_change)
        self._expectations = Expectations(self.clock)
        pod_handler = OwnedObjectHandler(
            self.sets,
            self.kind,
            on_add=self._on_pod_add,
            on_update=self._on_pod_update,
            on_delete=self._on_pod_delete,
            selector=self.selector,
        )
        self.pods = self.watched_informer("Pod", pod_handler.handle)
        self._pod_control = PodControl(self.client, self.events)
        self._counts_terminating = dependencies.capabilities.enabled("DeploymentReplicaSetTerminatingReplicas")
        self._counts_deletion_cost = dependencies.capabilities.enabled("PodDeletionCost")
        tracked = (TrackedInformer(self.pods, "", "pods"), TrackedInformer(self.sets, "apps", "replicasets"))
        checks_consistency = self.consistency_gate and dependencies.capabilities.enabled(self.consistency_gate)
        self._consistency_store = ConsistencyStore(
            f"{self.queue_name}_controller",
            dependencies.metrics if self.consistency_gate else None,
            tracked if checks_consistency else (),
        )

    def selector(self, owner: ReadOnlyObject) -> LabelSelector:
        """Return the label selector of a set."""
        return selector_of(owner)

    def _on_set_change(self, change: ObjectChange) -> None:
        # A set that is created again under the same name starts without what was expected of the old one.
        if is_deletion(change):
            self._forget(key_of(change.object))
        self.enqueue_changed(change)

    def _forget(self, key: Key) -> None:
        self._expectations.forget(key)
        self._consistency_store.forget(key)

    def _on_pod_add(self, key: Key, pod: ReadOnlyObject) -> None:
        self._expectations.creation_observed(key)
        self.work_queue.add(key)

    def _on_pod_update(self, key: Key, pod: ReadOnlyObject, old: ReadOnlyObject | None) -> None:
        self.work_queue.add(key)
        if seconds := min_ready_delay(self.sets.get(key), pod, old):
            self.work_queue.add_after(key, seconds + 1)  # one more: timestamps are cut to whole seconds

    def _on_pod_delete(self, key: Key, pod: ReadOnlyObject) -> None:
        self._expectations.deletion_observed(key, pod["metadata"]["uid"])
        self.work_queue.add(key)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Create or delete pods until the wanted number exists, then write the status."""
        # Expectations expire, even if the informer is later than that.
        if self._consistency_store.is_stale(key):
            return Requeue()
        owner = self.sets.get(key)
        if owner is None:
            self._forget(key)
            return DONE
        # Read before pods are claimed: an event that arrives in between must not count for pods listed before it.
        satisfied = self._expectations.is_satisfied(key)
        counts = await self._claim_pods(owner)
        error = None
        if satisfied and not owner["metadata"].get("deletionTimestamp"):
            error = await self._manage_replicas(key, owner, counts.active)
        now = self.clock.now()
        status = calculate_status(owner, counts, error, now)
        await self._update_status(owner, status)
        # The status with the failure condition is written before the key is retried.
        if error is not None:
            raise error
        min_ready_seconds = owner["spec"].get("minReadySeconds", 0)
        if min_ready_seconds > 0 and status.get("readyReplicas") != status.get("availableReplicas"):
            left = seconds_to_next_availability(counts.active, min_ready_seconds, now)
            return Requeue(after=float(min_ready_seconds) if left is None else left)
        return DONE

    async def _claim_pods(self, owner: ReadOnlyObject) -> PodCounts:
        """Claim the active pods of a set and count its terminating ones."""
        selector, uid = self.selector(owner), owner["metadata"]["uid"]
        # Orphans of the namespace are included: matching ones are adopted before they are counted.
        claimable = find_claimable(self.pods, owner)
        claims = ControllerRefManager(self.client, "Pod", owner, self.kind, self.api_version)

        def selects(pod: ReadOnlyObject) -> bool:
            return selector.matches(pod["metadata"].get("labels") or {})

        active = await claims.claim([pod for pod in claimable if is_active(pod)], selects)
        leaving = sum(is_terminating(pod) and controller_uid(pod) == uid and selects(pod) for pod in claimable)
        return PodCounts(active, leaving if self._counts_terminating else None)

    async def _manage_replicas(
        self, key: Key, owner: ReadOnlyObject, active: Sequence[ReadOnlyObject]
    ) -> ApiError | None:
        surplus = len(active) - owner["spec"].get("replicas", 1)
        if surplus < 0:
            return await self._create_pods(key, owner, min(-surplus, BURST_MAX))
        if surplus > 0:
            return await self._delete_pods(key, owner, active, min(surplus, BURST_MAX))
        return None

    async def _create_pods(self, key: Key, owner: ReadOnlyObject, count: int) -> ApiError | None:
        """Create pods in growing batches; return the first error."""
        self._expectations.expect_creations(key, count)
        template = owner["spec"].get("template") or {}

        async def create(index: int) -> None:
            try:
                pod = pod_from_template(template, owner, self.api_version, self.kind)
                self._consistency_store.wrote_at(key, "Pod", await self._pod_control.create(pod, owner))
            except ApiError as error:
                # In a terminating namespace no retry can succeed, so it is no failure. The expectation expires by
                # itself.
                if not is_namespace_terminating(error):
                    raise

        done = await slow_start_batch(count, create)
        if done.successes < count:
            # Creations that failed or were skipped produce no event; without this the set would wait for them until the
            # timeout.
            self._expectations.creation_observed(key, count - done.successes)
        return done.error

    async def _delete_pods(
        self, key: Key, owner: ReadOnlyObject, active: Sequence[ReadOnlyObject], count: int
    ) -> ApiError | None:
        """Delete the pods that rank first; return the first error."""
        related, now = self._indirectly_related_pods(owner), self.clock.now()
        chosen = select_pods_to_delete(active, related, count, now, counts_cost=self._counts_deletion_cost)
        self._expectations.expect_deletions(key, [pod["metadata"]["uid"] for pod in chosen])
        first: ApiError | None = None
        for pod in chosen:
            try:
                await self._pod_control.delete(key_of(pod), owner)
            except ApiError as error:
                # A failed deletion produces no event to wait for.
                self._expectations.deletion_observed(key, pod["metadata"]["uid"])
                if not isinstance(error, NotFound):
                    first = first or error
        return first

    def _indirectly_related_pods(self, owner: ReadOnlyObject) -> list[ReadOnlyObject]:
        """Return the pods of all sets with the same controller, each once."""
        uid = controller_uid(owner)
        sets = find_owned(self.sets, uid) if uid else [owner]
        related: dict[str, ReadOnlyObject] = {}
        for one in sets:
            selector = self.selector(one)
            for pod in self.pods.list(one["metadata"]["namespace"]):
                if selector.matches(pod["metadata"].get("labels") or {}):
                    # The old and new sets of one Deployment may select the same pods while labels change.
                    related.setdefault(pod["metadata"]["uid"], pod)
        return list(related.values())

    async def _update_status(self, owner: ReadOnlyObject, status: Object) -> None:
        """Write the status if it changed; on a conflict retry once with the stored object."""
        if status == owner.get("status"):
            return
        try:
            written = await self.client.update(self.kind, {**owner, "status": status}, subresource="status")
        except Conflict:
            fresh = await self.client.get(self.kind, key_of(owner))
            written = await self.client.update(self.kind, {**fresh, "status": status}, subresource="status")
        self._consistency_store.wrote_at(key_of(owner), self.kind, written)


class ReplicationManager(ReplicaSetController):
    """Controller of ReplicationControllers, whose selector is a plain set of labels."""

    name: ClassVar[str] = "replicationcontroller-controller"
    event_source: ClassVar[str] = "replication-controller"
    queue_name: ClassVar[str] = "replicationmanager"
    kind: ClassVar[str] = "ReplicationController"
    api_version: ClassVar[str] = "v1"
    consistency_gate: ClassVar[str] = ""

    def selector(self, owner: ReadOnlyObject) -> LabelSelector:
        """Return the label selector of a ReplicationController."""
        return from_label_selector({"matchLabels": owner["spec"].get("selector") or {}})
