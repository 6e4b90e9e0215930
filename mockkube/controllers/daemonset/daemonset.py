"""daemonset-controller: runs one pod on each eligible node.

upstream 1.36: pkg/controller/daemon
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.informer import ObjectChange, is_deletion
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.daemonset.placement import (
    DaemonPlacement,
    NodeFit,
    compile_placement,
    daemon_template,
    pin_to_node,
    target_node,
)
from mockkube.controllers.daemonset.rollout import (
    CurrentRevision,
    PodChanges,
    pods_should_be_on_node,
    rolling_update,
    sort_by_age,
)
from mockkube.controllers.framework.consistency_store import ConsistencyStore, TrackedInformer
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import ControllerRefManager
from mockkube.controllers.framework.expectations import Expectations
from mockkube.controllers.framework.failure_backoff import FailureBackoff
from mockkube.controllers.framework.owner_index import (
    OwnedObjectHandler,
    find_claimable,
    resolve_controller_ref,
    selector_of,
)
from mockkube.controllers.framework.slow_start import slow_start_batch
from mockkube.controllers.history.controller_history import RevisionHistory, revision_hash
from mockkube.controllers.pods.by_node import pods_by_node
from mockkube.controllers.pods.pod_control import PodControl, is_namespace_terminating, pod_from_template
from mockkube.controllers.pods.readiness import min_ready_delay
from mockkube.matching.pods import is_finished, is_ready
from mockkube.proposals.component_extensions import make_selector_operators

# Most pods that one reconciliation creates, and most that it deletes.
BURST_MAX: Final = 250
_KIND: Final = "DaemonSet"


class DaemonSetController(Controller):
    """Controller of DaemonSets; keys are DaemonSets, and nodes (without a namespace) that changed."""

    name: ClassVar[str] = "daemonset-controller"
    queue_name: ClassVar[str] = "daemonset"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.sets = self.watched_informer(_KIND, self._on_set_change)
        self._expectations = Expectations(self.clock)
        pod_handler = OwnedObjectHandler(
            self.sets,
            _KIND,
            on_add=self._on_pod_add,
            on_update=self._on_pod_update,
            on_delete=self._on_pod_delete,
        )
        self.pods = self.watched_informer("Pod", pod_handler.handle)
        self.nodes = self.watched_informer("Node", self._on_node_change)
        revision_handler = OwnedObjectHandler(
            self.sets,
            _KIND,
            on_add=_ignore_addition,
            on_update=self._on_revision_change,
            on_delete=self._on_revision_delete,
        )
        self._history = RevisionHistory(
            self.client, self.watched_informer("ControllerRevision", revision_handler.handle), _KIND
        )
        self._pods_on_node = pods_by_node(self.pods)
        self._pod_control = PodControl(self.client, self.events)
        # By uid and observed generation of the set, and by node.
        self._backoff: FailureBackoff[tuple[str, int, str]] = FailureBackoff(self.clock)
        self._taint_rules = dependencies.taint_rules(self.name)
        self._operators = make_selector_operators(dependencies.capabilities)
        self._placements: dict[Key, tuple[str, DaemonPlacement]] = {}
        tracked = (TrackedInformer(self.pods, "", "pods"), TrackedInformer(self.sets, "apps", "daemonsets"))
        checks_consistency = dependencies.capabilities.enabled("StaleControllerConsistencyDaemonSet")
        self._consistency_store = ConsistencyStore(
            "daemonset_controller", dependencies.metrics, tracked if checks_consistency else ()
        )

    def _on_set_change(self, change: ObjectChange) -> None:
        # A set that is created again under the same name starts without what was expected of the old one.
        if is_deletion(change):
            self._forget(key_of(change.object))
        self.enqueue_changed(change)

    def list_backoffs(self) -> Iterable[tuple[Hashable, float, float]]:
        """Yield the backoff of failed pods of each set and node."""
        sets = {one["metadata"]["uid"]: one for one in self.sets.list()}
        for (uid, generation, node), seconds, age in self._backoff.list_backoffs():
            daemon_set = sets.get(uid)
            # The backoff of a former generation is not looked up any more.
            if daemon_set is not None and _observed_generation(daemon_set) == generation:
                yield (key_of(daemon_set), node), max(seconds - age, 0.0), self._backoff.next_seconds(seconds)

    def _forget(self, key: Key) -> None:
        self._expectations.forget(key)
        self._consistency_store.forget(key)

    def _on_pod_add(self, key: Key, pod: ReadOnlyObject) -> None:
        self._expectations.creation_observed(key)
        self.work_queue.add(key)

    def _on_pod_update(self, key: Key, pod: ReadOnlyObject, old: ReadOnlyObject | None) -> None:
        self.work_queue.add(key)
        if seconds := min_ready_delay(self.sets.get(key), pod, old):
            # One second more than minReadySeconds: timestamps are cut to whole seconds.
            self.work_queue.add_after(key, seconds + 1)

    def _on_pod_delete(self, key: Key, pod: ReadOnlyObject) -> None:
        self._expectations.deletion_observed(key)
        self.work_queue.add(key)

    def _on_revision_change(self, key: Key, one: ReadOnlyObject, old: ReadOnlyObject | None) -> None:
        self.work_queue.add(key)

    def _on_revision_delete(self, key: Key, one: ReadOnlyObject) -> None:
        self.work_queue.add(key)

    def _on_node_change(self, change: ObjectChange) -> None:
        old, node = change.old, change.object
        # Pods of a deleted node are removed by the pod garbage collector.
        if change.type is WatchEventType.DELETED:
            return
        # Heartbeats change nodes all the time, but only labels and taints decide about daemon pods.
        if old is not None and _labels_and_taints(old) == _labels_and_taints(node):
            return
        # Queued as a node: which sets it concerns is decided in a step of its own, as upstream does.
        self.work_queue.add(Key("", node["metadata"]["name"]))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Sync a DaemonSet, or queue those that a changed node concerns."""
        if not key.namespace:
            self._sync_node(key)
            return DONE
        # Expectations expire, even if the informer is later than that.
        if self._consistency_store.is_stale(key):
            return Requeue()
        daemon_set = self.sets.get(key)
        if daemon_set is None:
            self._forget(key)
            self._placements.pop(key, None)
            return DONE
        if daemon_set["spec"].get("selector") == {}:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self.events.record(daemon_set, WARNING, "SelectingAll", message)
            return DONE
        if daemon_set["metadata"].get("deletionTimestamp"):
            return DONE
        return await self._sync(key, daemon_set)

    def _sync_node(self, key: Key) -> None:
        """Queue the sets that should gain or lose a pod on a changed node."""
        node = self.nodes.get(key)
        if node is None:
            return
        present = [resolve_controller_ref(self.sets, _KIND, pod) for pod in self._pods_on_node.get(key.name)]
        owners = {owner["metadata"]["uid"] for owner in present if owner is not None}
        for daemon_set in self.sets.list():
            fit = self._placement(daemon_set).check_node(node)
            scheduled = daemon_set["metadata"]["uid"] in owners
            misscheduled = (daemon_set.get("status") or {}).get("numberMisscheduled", 0) > 0
            if (scheduled and (not fit.should_continue or misscheduled)) or (fit.should_run and not scheduled):
                self.work_queue.add(key_of(daemon_set))

    def _placement(self, daemon_set: ReadOnlyObject) -> DaemonPlacement:
        key, version = key_of(daemon_set), daemon_set["metadata"]["resourceVersion"]
        known = self._placements.get(key)
        # Compiling tolerations and selectors once per revision: each node update checks all sets.
        if known is None or known[0] != version:
            known = self._placements[key] = (version, compile_placement(daemon_set, self._taint_rules, self._operators))
        return known[1]

    async def _sync(self, key: Key, daemon_set: ReadOnlyObject) -> ReconcileResult:
        """Bring the pods of a set in line with its nodes, then write the status."""
        history = await self._history.construct_history(daemon_set)
        placement = self._placement(daemon_set)
        fits = {node["metadata"]["name"]: placement.check_node(node) for node in self.nodes.list()}
        revision = CurrentRevision(daemon_set, revision_hash(history.current), self.clock.now())
        requeue_delays: list[float] = []
        error: ApiError | None = None
        # Status is written even while expectations are open, but observedGeneration only once the set was acted upon.
        observed = self._expectations.is_satisfied(key)
        if observed:
            try:
                await self._update_daemon_set(key, revision, fits, requeue_delays)
                live = [revision_hash(pod) for pod in await self._claim_pods(daemon_set)]
                await self._history.truncate_history(daemon_set, history.old, live)
            except ApiError as failure:
                error = failure
        min_ready_seconds = daemon_set["spec"].get("minReadySeconds", 0)
        status = self._calculate_status(await self._nodes_to_daemon_pods(daemon_set), fits, revision)
        await self._update_status(daemon_set, status, observed=observed)
        if error is not None:
            raise error
        if min_ready_seconds > 0 and status["numberReady"] != status.get("numberAvailable", 0):
            requeue_delays.append(float(min_ready_seconds))
        return Requeue(after=min(requeue_delays)) if requeue_delays else DONE

    async def _update_daemon_set(
        self, key: Key, revision: CurrentRevision, fits: dict[str, NodeFit], requeue_delays: list[float]
    ) -> None:
        """Create and delete pods per node, then continue the rolling update."""
        daemon_set = revision.daemon_set
        daemons = await self._nodes_to_daemon_pods(daemon_set)
        changes = PodChanges()
        for node, fit in fits.items():
            node_changes = pods_should_be_on_node(
                node,
                fit,
                daemons.get(node),
                revision,
                lambda pod: self._may_delete_finished(daemon_set, pod, requeue_delays),
            )
            changes.nodes_needing_pods += node_changes.nodes_needing_pods
            changes.pods_to_delete += node_changes.pods_to_delete
        for node, pods in daemons.items():
            # A pod that is pinned to a deleted node but was never bound is on no list of the pod garbage collector.
            if node not in fits:
                changes.pods_to_delete += [pod for pod in pods if not pod["spec"].get("nodeName")]
        await self._sync_nodes(key, revision, changes)
        strategy = (daemon_set["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate")
        # The update must see the pods as the first half left them, so it waits until those changes were observed.
        if strategy == "RollingUpdate" and self._expectations.is_satisfied(key):
            await self._sync_nodes(
                key, revision, rolling_update(await self._nodes_to_daemon_pods(daemon_set), fits, revision)
            )

    def _may_delete_finished(
        self, daemon_set: ReadOnlyObject, pod: ReadOnlyObject, requeue_delays: list[float]
    ) -> bool:
        """Return whether a finished pod may be deleted now; failed ones with backoff per node."""
        key, node = key_of(pod), target_node(pod)
        if (pod.get("status") or {}).get("phase") == "Succeeded":
            message = f"Found succeeded daemon pod {key} on node {node}, will try to delete it"
            self.events.record(daemon_set, NORMAL, "SucceededDaemonPod", message)
            return True
        # The generation is part of the id, so a corrected template starts without backoff.
        backoff_id = (daemon_set["metadata"]["uid"], _observed_generation(daemon_set), node)
        if (left := self._backoff.seconds_left(backoff_id)) is not None:
            requeue_delays.append(left)
            return False
        self._backoff.next(backoff_id)
        message = f"Found failed daemon pod {key} on node {node}, will try to kill it"
        self.events.record(daemon_set, WARNING, "FailedDaemonPod", message)
        return True

    async def _claim_pods(self, daemon_set: ReadOnlyObject) -> list[ReadOnlyObject]:
        selector = selector_of(daemon_set)
        claims = ControllerRefManager(self.client, "Pod", daemon_set, _KIND, "apps/v1")
        claimable = find_claimable(self.pods, daemon_set)
        return await claims.claim(claimable, lambda pod: selector.matches(pod["metadata"].get("labels") or {}))

    async def _nodes_to_daemon_pods(self, daemon_set: ReadOnlyObject) -> dict[str, list[ReadOnlyObject]]:
        by_node: dict[str, list[ReadOnlyObject]] = {}
        for pod in await self._claim_pods(daemon_set):
            # Upstream ignores pods that are finished and terminating, so that their replacement is not delayed by
            # finalizers.
            has_ended = is_finished(pod) and pod["metadata"].get("deletionTimestamp")
            if not has_ended and (node := target_node(pod)):
                by_node.setdefault(node, []).append(pod)
        return by_node

    async def _sync_nodes(self, key: Key, revision: CurrentRevision, changes: PodChanges) -> None:
        create, delete = changes.nodes_needing_pods[:BURST_MAX], changes.pods_to_delete[:BURST_MAX]
        self._expectations.set_expectations(key, creations=len(create), deletions=len(delete))
        errors = [
            await self._create_pods(key, revision, create),
            *[await self._delete_pod(key, revision, pod) for pod in delete],
        ]
        if (first := next((error for error in errors if error is not None), None)) is not None:
            raise first

    async def _create_pods(self, key: Key, revision: CurrentRevision, nodes: Sequence[str]) -> ApiError | None:
        daemon_set = revision.daemon_set
        template = daemon_template(daemon_set, revision.revision_hash)

        async def create(index: int) -> None:
            # Pods are pinned by node affinity and bound by the scheduler, which also checks resources.
            spec = {**template["spec"], "affinity": pin_to_node(template["spec"].get("affinity"), nodes[index])}
            try:
                pod = pod_from_template({**template, "spec": spec}, daemon_set, "apps/v1", _KIND)
                self._consistency_store.wrote_at(key, "Pod", await self._pod_control.create(pod, daemon_set))
            except ApiError as error:
                # In a terminating namespace no retry can succeed.
                if not is_namespace_terminating(error):
                    raise

        done = await slow_start_batch(len(nodes), create)
        if done.successes < len(nodes):
            self._expectations.creation_observed(key, len(nodes) - done.successes)
        return done.error

    async def _delete_pod(self, key: Key, revision: CurrentRevision, pod: ReadOnlyObject) -> ApiError | None:
        try:
            await self._pod_control.delete(key_of(pod), revision.daemon_set)
        except ApiError as error:
            self._expectations.deletion_observed(key)
            return None if isinstance(error, NotFound) else error
        return None

    def _calculate_status(
        self, daemons: dict[str, list[ReadOnlyObject]], fits: dict[str, NodeFit], revision: CurrentRevision
    ) -> Object:
        """Return the status counts; of several pods on a node the oldest counts."""
        first = {node: sort_by_age(pods)[0] for node, pods in daemons.items() if node in fits}
        wanted = [node for node, fit in fits.items() if fit.should_run]
        scheduled_pods = [first[node] for node in wanted if node in first]
        available = sum(is_ready(pod) and revision.is_available(pod) for pod in scheduled_pods)
        return {
            "currentNumberScheduled": len(scheduled_pods),
            "numberMisscheduled": sum(node in first for node, fit in fits.items() if not fit.should_run),
            "desiredNumberScheduled": len(wanted),
            "numberReady": sum(is_ready(pod) for pod in scheduled_pods),
            "updatedNumberScheduled": sum(revision.is_updated(pod) for pod in scheduled_pods),
            "numberAvailable": available,
            "numberUnavailable": len(wanted) - available,
        }

    async def _update_status(self, daemon_set: ReadOnlyObject, counts: Object, *, observed: bool) -> None:
        """Write the counts if they changed; observedGeneration only after the set was acted upon."""
        old, generation = daemon_set.get("status") or {}, daemon_set["metadata"].get("generation", 0)
        same = all(old.get(name, 0) == number for name, number in counts.items())
        if same and old.get("observedGeneration", 0) >= generation:
            return

        def with_counts(obj: ReadOnlyObject) -> Object:
            status = {**(obj.get("status") or {}), **counts}
            return {**obj, "status": {**status, "observedGeneration": generation} if observed else status}

        try:
            written = await self.client.update(_KIND, with_counts(daemon_set), subresource="status")
        except Conflict:
            fresh = await self.client.get(_KIND, key_of(daemon_set))
            written = await self.client.update(_KIND, with_counts(fresh), subresource="status")
        self._consistency_store.wrote_at(key_of(daemon_set), _KIND, written)


def _labels_and_taints(node: ReadOnlyObject) -> tuple[object, object]:
    # Missing and empty mean the same here, so neither may count as a change.
    return node["metadata"].get("labels") or {}, (node.get("spec") or {}).get("taints") or []


def _observed_generation(daemon_set: ReadOnlyObject) -> int:
    return int((daemon_set.get("status") or {}).get("observedGeneration", 0))


def _ignore_addition(key: Key, one: ReadOnlyObject) -> None:
    """Ignore a revision that is created with an owner: this controller created it."""
