"""statefulset-controller: runs pods with stable names and claims, in order or in parallel.

upstream 1.36: pkg/controller/statefulset
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, Conflict
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.deployment.scaling import desired_replicas
from mockkube.controllers.framework.consistency_store import ConsistencyStore, TrackedInformer
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import ControllerRefManager, has_deletion_timestamp
from mockkube.controllers.framework.owner_index import OwnedObjectHandler, find_claimable, selector_of
from mockkube.controllers.framework.slow_start import SlowStartResult, slow_start_batch
from mockkube.controllers.pods.readiness import min_ready_delay, seconds_to_next_availability
from mockkube.controllers.statefulset.claims import CLAIM
from mockkube.controllers.statefulset.identity import (
    API_VERSION,
    KIND,
    identity_matches,
    parent_name,
    pod_revision,
    storage_matches,
)
from mockkube.controllers.statefulset.pod_control import StatefulPodControl
from mockkube.controllers.statefulset.revisions import (
    StatefulSetRevisionHistory,
    StatefulSetRevisions,
    apply_revision,
    semantic_comparison,
)
from mockkube.controllers.statefulset.stateful_set_plan import (
    PodNeed,
    RevisionedSets,
    StatefulSetFeatures,
    StatefulSetPlan,
    complete_rolling_update,
    is_inconsistent_status,
    plan_stateful_set,
)
from mockkube.features.versions import Version

# From this version on the controller requeues a set for the exact time at which a pod becomes available.
_EXACT_AVAILABILITY: Final = Version(1, 35)
# From this version on verbs in messages are capitalized.
_TITLED_EVENTS: Final = Version(1, 35)


class StatefulSetController(Controller):
    """Controller of StatefulSets; keys are StatefulSets."""

    name: ClassVar[str] = "statefulset-controller"
    queue_name: ClassVar[str] = "statefulset"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        version = dependencies.capabilities.version
        self.sets = self.watched_informer(KIND)
        pod_handler = OwnedObjectHandler(
            self.sets, KIND, on_add=self._enqueue_owner, on_update=self._on_pod_update, on_delete=self._enqueue_owner
        )
        self.pods = self.watched_informer("Pod", pod_handler.handle)
        revisions = self.informer("ControllerRevision")
        self._revision_history = StatefulSetRevisionHistory(
            self.client, revisions, KIND, is_equal=semantic_comparison(dependencies.capabilities)
        )
        spelled = str.title if version >= _TITLED_EVENTS else str.lower
        claims = self.informer(CLAIM)
        tracked = [TrackedInformer(self.pods, "", "pods"), TrackedInformer(claims, "", "persistentvolumeclaims")]
        tracked.append(TrackedInformer(self.sets, "apps", "statefulsets"))
        checks_consistency = dependencies.capabilities.enabled("StaleControllerConsistencyStatefulSet")
        self._consistency_store = ConsistencyStore(
            "statefulset_controller", dependencies.metrics, tracked if checks_consistency else ()
        )
        self._pod_control = StatefulPodControl(
            self.client, self.events, self.pods, claims, self._consistency_store, spelled
        )
        self._features = StatefulSetFeatures.from_capabilities(dependencies.capabilities)
        self._has_exact_availability = version >= _EXACT_AVAILABILITY

    def _enqueue_owner(self, key: Key, pod: ReadOnlyObject) -> None:
        self.work_queue.add(key)

    def _on_pod_update(self, key: Key, pod: ReadOnlyObject, old: ReadOnlyObject | None) -> None:
        self.work_queue.add(key)
        if seconds := min_ready_delay(self.sets.get(key), pod, old):
            self.work_queue.add_after(key, seconds if self._has_exact_availability else seconds + 1)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Create, update and delete pods as their order allows, and write the status."""
        # A stale informer may not show a pod that was created just now, or still show a deleted one.
        if self._consistency_store.is_stale(key):
            return Requeue()
        owner = self.sets.get(key)
        if owner is None:
            self._consistency_store.forget(key)
            return DONE
        selector = selector_of(owner)
        claims = ControllerRefManager(self.client, "Pod", owner, KIND, API_VERSION)
        pods = await claims.claim(
            find_claimable(self.pods, owner),
            lambda pod: selector.matches(pod["metadata"].get("labels") or {}) and parent_name(pod) == key.name,
        )
        history = await self._revision_history.get_revisions(owner)
        try:
            status = await self._sync(owner, history, pods)
        finally:
            await self._revision_history.truncate_revisions(owner, history, (pod_revision(pod) for pod in pods))
        return self._next_sync(owner, status, pods)

    async def _sync(
        self, owner: ReadOnlyObject, history: StatefulSetRevisions, pods: Sequence[ReadOnlyObject]
    ) -> Object:
        """Process the pods of a set by plan, write the status and return it."""
        revisioned_sets = RevisionedSets(
            current_set=apply_revision(owner, history.current),
            current_name=history.current["metadata"]["name"],
            update_set=apply_revision(owner, history.update),
            update_name=history.update["metadata"]["name"],
        )
        plan = plan_stateful_set(owner, revisioned_sets, pods, self.clock.now(), self._features)
        status, error = plan.build_status(pods), None
        if not has_deletion_timestamp(owner):
            done = await self._update_stateful_set(plan)
            status, error = plan.build_status((*plan.replicas, *plan.condemned)), done.error
            # Pods deleted for the update are still in the plan, but no longer count.
            status["currentReplicas"] -= done.successes
        status = complete_rolling_update(owner, status)
        await self._update_status(owner, status)
        if error is not None:
            raise error
        return status

    async def _update_stateful_set(self, plan: StatefulSetPlan) -> SlowStartResult:
        """Process all pods; return the number deleted for an update, and the first error."""
        try:
            held_up = (
                await self._run_for_all(plan, plan.replicas, self._process_replica)
                or await self._run_for_all(plan, plan.condemned, self._fix_claims)
                or await self._run_for_all(plan, plan.condemned, self._process_condemned)
            )
        except ApiError as error:
            return SlowStartResult(0, error)
        taken = 0
        # An update goes on only while no pod is waited for; otherwise a bad revision would spread.
        for pod in () if held_up else plan.pods_to_update():
            try:
                await self._pod_control.delete(plan.owner, pod)
            except ApiError as error:
                return SlowStartResult(taken, error)
            taken += 1
        return SlowStartResult(taken)

    async def _run_for_all(
        self,
        plan: StatefulSetPlan,
        pods: Sequence[ReadOnlyObject],
        call: Callable[[StatefulSetPlan, ReadOnlyObject], Awaitable[bool]],
    ) -> bool:
        """Process pods; return whether an ordered set must wait for one, at which it stops."""
        if plan.is_ordered:
            for pod in pods:
                if await call(plan, pod):
                    return True
            return False
        done = await slow_start_batch(len(pods), lambda index: call(plan, pods[index]))
        if done.error is not None:
            raise done.error
        return False

    async def _process_replica(self, plan: StatefulSetPlan, pod: ReadOnlyObject) -> bool:
        """Process one wanted pod; return whether an ordered set must wait for it."""
        owner, need = plan.owner, plan.find_need(pod)
        if need is PodNeed.DELETION:
            await self._pod_control.delete(owner, pod)
            return True
        if need is PodNeed.CREATION:
            # As upstream, nothing else is done in this round while claims of the former pod are still to be deleted.
            if not self._pod_control.has_stale_claims(owner, pod):
                await self._pod_control.create(owner, dict(pod))
            return True
        # A claim may have been deleted between the creation of claims and pod.
        if pod["status"]["phase"] == "Pending":
            await self._pod_control.create_missing_claims(owner, pod)
        if need is PodNeed.WAIT and plan.is_ordered:
            return True
        fits = identity_matches(owner, pod) and storage_matches(owner, pod)
        if not fits or not self._pod_control.claims_match_retention_policy(owner, pod):
            await self._pod_control.update(owner, pod)
        return False

    async def _fix_claims(self, plan: StatefulSetPlan, pod: ReadOnlyObject) -> bool:
        if not self._pod_control.claims_match_retention_policy(plan.owner, pod):
            await self._pod_control.update_claims_for_retention_policy(plan.owner, pod)
        return False

    async def _process_condemned(self, plan: StatefulSetPlan, pod: ReadOnlyObject) -> bool:
        if plan.may_delete_condemned(pod):
            await self._pod_control.delete(plan.owner, pod)
        return True

    async def _update_status(self, owner: ReadOnlyObject, status: Object) -> None:
        """Write the status if it changed; on a conflict retry once with the stored object."""
        if not is_inconsistent_status(owner, status):
            return
        try:
            written = await self.client.update(KIND, {**owner, "status": status}, subresource="status")
        except Conflict:
            fresh = await self.client.get(KIND, key_of(owner))
            written = await self.client.update(KIND, {**fresh, "status": status}, subresource="status")
        self._consistency_store.wrote_at(key_of(owner), KIND, written)

    def _next_sync(
        self, owner: ReadOnlyObject, status: ReadOnlyObject, pods: Sequence[ReadOnlyObject]
    ) -> ReconcileResult:
        min_ready_seconds, available = owner["spec"].get("minReadySeconds", 0), status["availableReplicas"]
        if not self._has_exact_availability:
            return (
                Requeue(after=float(min_ready_seconds))
                if min_ready_seconds > 0 and available != desired_replicas(owner)
                else DONE
            )
        if min_ready_seconds == 0 or status["readyReplicas"] == available:
            return DONE
        left = seconds_to_next_availability(pods, min_ready_seconds, self.clock.now())
        return Requeue(after=float(min_ready_seconds) if left is None else left)
