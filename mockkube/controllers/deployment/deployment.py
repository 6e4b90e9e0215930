"""deployment-controller: rolls out pod templates by scaling replica sets.

upstream 1.36: pkg/controller/deployment
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from mockkube.api.conditions import find_condition
from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.deployment import scaling as sizes
from mockkube.controllers.deployment import status as statuses
from mockkube.controllers.deployment.revisions import (
    REVISION,
    ROLLBACK_TO,
    annotations_of,
    find_new_replica_set,
    last_revision,
    new_replica_set,
    new_set_annotations,
    replicas_annotations,
    revision_of,
    sort_by_age,
    template_without_hash,
    with_annotations,
    with_rolled_back_template,
)
from mockkube.controllers.deployment.scaling import (
    desired_replicas,
    filter_active,
    is_rolling,
    status_number,
    total_replicas,
    total_status_number,
)
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import ControllerRefManager, controller_uid
from mockkube.controllers.framework.owner_index import (
    OwnedObjectHandler,
    find_claimable,
    find_owned,
    resolve_controller_ref,
    selector_of,
)
from mockkube.controllers.pods.pod_control import is_namespace_terminating
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_finished

RETRIES_MAX: Final = 15
_CREATE_ERROR: Final = "ReplicaSetCreateError"
_PAUSED: Final = "DeploymentPaused"
_SECOND: Final = 1.0


@dataclass(frozen=True, slots=True)
class Rollout:
    """Deployment and its replica sets during one reconciliation; `new` is None until the new set exists."""

    deployment: ReadOnlyObject
    new: ReadOnlyObject | None
    old: tuple[ReadOnlyObject, ...]

    @property
    def all_sets(self) -> list[ReadOnlyObject]:
        """All replica sets, the new one last."""
        return [*self.old, *([self.new] if self.new else [])]

    def with_updated_set(self, changed: ReadOnlyObject) -> "Rollout":
        """Return the rollout with the present state of one set."""
        uid = changed["metadata"]["uid"]
        if self.new is not None and self.new["metadata"]["uid"] == uid:
            return replace(self, new=changed)
        return replace(self, old=tuple(changed if one["metadata"]["uid"] == uid else one for one in self.old))


class DeploymentController(Controller):
    """Controller of Deployments; keys are Deployments."""

    name: ClassVar[str] = "deployment-controller"
    queue_name: ClassVar[str] = "deployment"
    retries_max: ClassVar[int | None] = RETRIES_MAX

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.deployments = self.watched_informer("Deployment")

        def enqueue(key: Key, one: ReadOnlyObject, old: ReadOnlyObject | None = None) -> None:
            self.work_queue.add(key)

        set_handler = OwnedObjectHandler(
            self.deployments, "Deployment", on_add=enqueue, on_update=enqueue, on_delete=enqueue
        )
        self.sets = self.watched_informer("ReplicaSet", set_handler.handle)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self._counts_terminating = dependencies.capabilities.enabled("DeploymentReplicaSetTerminatingReplicas")

    def _on_pod_change(self, change: ObjectChange) -> None:
        """Queue a deployment with strategy Recreate when its last old pod is deleted."""
        if change.type is not WatchEventType.DELETED:
            return
        owner = resolve_controller_ref(self.sets, "ReplicaSet", change.object)
        deployment = None if owner is None else resolve_controller_ref(self.deployments, "Deployment", owner)
        # A rolling update follows the counts in the status of its sets and needs no pods.
        if deployment is None or is_rolling(deployment):
            return
        if not any(self._pods_of_set(one) for one in find_owned(self.sets, deployment["metadata"]["uid"])):
            self.work_queue.add(key_of(deployment))

    def _pods_of_set(self, one: ReadOnlyObject) -> list[ReadOnlyObject]:
        return find_owned(self.pods, one["metadata"]["uid"])

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Advance the rollout of a deployment."""
        deployment = self.deployments.get(key)
        if deployment is None:
            return DONE
        try:
            return await self._sync(deployment)
        except ApiError as error:
            if is_namespace_terminating(error):
                return DONE
            raise

    async def _sync(self, deployment: ReadOnlyObject) -> ReconcileResult:
        """Claim the sets, then handle deletion, pause, rollback, scaling or the rollout."""
        if deployment["spec"].get("selector") == {}:
            return await self._reject_empty_selector(deployment)
        sets = await self._claim_replica_sets(deployment)
        if deployment["metadata"].get("deletionTimestamp"):
            rollout = await self._sync_revisions(deployment, sets)
            return await self._sync_rollout_status(rollout)
        deployment = await self._check_paused_conditions(deployment)
        if deployment["spec"].get("paused"):
            return await self._sync_scale(await self._sync_revisions(deployment, sets))
        # As upstream, a rollback ends the reconciliation: no set is scaled before the annotation is gone.
        if (revision := _rollback_revision(deployment)) is not None:
            return await self._rollback(deployment, sets, revision)
        rollout = await self._sync_revisions(deployment, sets)
        # Scaling is spread over all sets before the rollout goes on, so that a large change does not all go to the new
        # set.
        if _is_scaling_event(rollout):
            return await self._sync_scale(rollout)
        return await (
            self._rollout_rolling(rollout, sets)
            if is_rolling(rollout.deployment)
            else self._rollout_recreate(rollout, sets)
        )

    async def _reject_empty_selector(self, deployment: ReadOnlyObject) -> ReconcileResult:
        message = "This deployment is selecting all pods. A non-empty selector is required."
        self.events.record(deployment, WARNING, "SelectingAll", message)
        generation = deployment["metadata"].get("generation", 0)
        if status_number(deployment, "observedGeneration") < generation:
            await self._update_status(deployment, {**deployment.get("status", {}), "observedGeneration": generation})
        return DONE

    async def _claim_replica_sets(self, deployment: ReadOnlyObject) -> list[ReadOnlyObject]:
        selector = selector_of(deployment)
        claims = ControllerRefManager(self.client, "ReplicaSet", deployment, "Deployment", "apps/v1")
        claimable = find_claimable(self.sets, deployment)
        return await claims.claim(claimable, lambda one: selector.matches(one["metadata"].get("labels") or {}))

    async def _check_paused_conditions(self, deployment: ReadOnlyObject) -> ReadOnlyObject:
        """Set the reason of condition Progressing when the deployment was paused or resumed."""
        known = find_condition(statuses.conditions_of(deployment), statuses.PROGRESSING)
        reason = known.get("reason") if known else None
        paused = bool(deployment["spec"].get("paused"))
        # A rollout that has timed out keeps that reason.
        if not statuses.has_deadline(deployment) or reason == statuses.TIMED_OUT or paused == (reason == _PAUSED):
            return deployment
        progress = (_PAUSED, "Deployment is paused") if paused else ("DeploymentResumed", "Deployment is resumed")
        return await self._update_status(deployment, self._with_progressing(deployment, "Unknown", *progress))

    def _with_progressing(self, deployment: ReadOnlyObject, status: str, reason: str, message: str) -> Object:
        conditions = statuses.with_condition(
            statuses.conditions_of(deployment), statuses.PROGRESSING, status, reason, message, self.clock.now()
        )
        return {**(deployment.get("status") or {}), "conditions": conditions}

    async def _update_status(self, deployment: ReadOnlyObject, status: Object) -> ReadOnlyObject:
        return await self.client.update("Deployment", {**deployment, "status": status}, subresource="status")

    async def _sync_revisions(
        self, deployment: ReadOnlyObject, sets: Sequence[ReadOnlyObject], *, create: bool = False
    ) -> Rollout:
        """Find the new set and sync its revision; with `create` create it if it is missing."""
        new = find_new_replica_set(deployment, sets)
        old = tuple(one for one in sort_by_age(sets) if new is None or one["metadata"]["uid"] != new["metadata"]["uid"])
        revision = max((revision_of(one) for one in old), default=0) + 1
        if new is not None:
            return await self._update_new_set(Rollout(deployment, new, old), new, revision)
        rollout = Rollout(deployment, None, old)
        return await self._create_new_set(rollout, revision) if create else rollout

    async def _update_new_set(self, rollout: Rollout, new: ReadOnlyObject, revision: int) -> Rollout:
        """Update annotations of the new set and the deployment's revision."""
        deployment = rollout.deployment
        annotations = new_set_annotations(deployment, annotations_of(new), revision, exists=True)
        seconds = deployment["spec"].get("minReadySeconds", 0)
        if annotations != annotations_of(new) or new["spec"].get("minReadySeconds", 0) != seconds:
            changed = with_annotations(new, annotations)
            changed["spec"] = {**new["spec"], "minReadySeconds": seconds}
            # Upstream stops here: the update of the set triggers another reconciliation, which writes the deployment's
            # revision.
            return replace(rollout, new=await self.client.update("ReplicaSet", changed))
        status: Object | None = None
        known = find_condition(statuses.conditions_of(deployment), statuses.PROGRESSING)
        if statuses.has_deadline(deployment) and known is None:
            message = f'Found new replica set "{new["metadata"]["name"]}"'
            status = self._with_progressing(deployment, "True", "FoundNewReplicaSet", message)
        return await self._sync_deployment_revision(rollout, annotations.get(REVISION, ""), status)

    async def _sync_deployment_revision(self, rollout: Rollout, revision: str, status: Object | None) -> Rollout:
        """Write the deployment's revision annotation, and the status with it, if either changed."""
        deployment = rollout.deployment
        if annotations_of(deployment).get(REVISION) != revision:
            deployment = with_annotations(deployment, {**annotations_of(deployment), REVISION: revision})
        elif status is None:
            return rollout
        # A status update may change annotations too, so one write suffices.
        written = await self._update_status(deployment, status or deployment.get("status") or {})
        return replace(rollout, deployment=written)

    async def _create_new_set(self, rollout: Rollout, revision: int) -> Rollout:
        """Create the new set; on a name collision with another template count it and raise."""
        deployment = rollout.deployment
        new_set = new_replica_set(deployment, revision)
        # A new set starts with as many replicas as maxSurge allows, and not with zero, to save a round.
        new_set["spec"]["replicas"] = sizes.new_set_replicas(deployment, [*rollout.old, new_set], 0)
        name, existed = new_set["metadata"]["name"], False
        try:
            new = await self.client.create("ReplicaSet", new_set)
        except AlreadyExists as error:
            new, existed = await self._resolve_name_collision(deployment, name, error), True
        except ApiError as error:
            if not is_namespace_terminating(error):
                await self._report_create_error(deployment, name, error)
            raise
        status = None
        if not existed:
            if size := desired_replicas(new):
                self._record_scaling(deployment, new, 0, size)
            if statuses.has_deadline(deployment):
                message = f'Created new replica set "{name}"'
                status = self._with_progressing(deployment, "True", "NewReplicaSetCreated", message)
        return await self._sync_deployment_revision(replace(rollout, new=new), str(revision), status)

    async def _resolve_name_collision(
        self, deployment: ReadOnlyObject, name: str, error: AlreadyExists
    ) -> ReadOnlyObject:
        """Return the set of that name if it is this deployment's; else count a collision and raise."""
        present = self.sets.get(Key(deployment["metadata"]["namespace"], name))
        if present is None:
            raise error
        ours = controller_uid(present) == deployment["metadata"]["uid"]
        if ours and template_without_hash(present) == template_without_hash(deployment):
            return present
        status = deployment.get("status") or {}
        # The retry computes another hash with the new collision count.
        await self._update_status(deployment, {**status, "collisionCount": status.get("collisionCount", 0) + 1})
        raise error

    async def _report_create_error(self, deployment: ReadOnlyObject, name: str, error: ApiError) -> None:
        """Record an event and condition Progressing for a set that could not be created."""
        message = f'Failed to create new replica set "{name}": {error.message}'
        self.events.record(deployment, WARNING, _CREATE_ERROR, message)
        if statuses.has_deadline(deployment):
            status = self._with_progressing(deployment, "False", _CREATE_ERROR, message)
            try:
                await self._update_status(deployment, status)
            except ApiError:
                # The creation error is raised by the caller; that of this write would only hide it.
                return

    def _record_scaling(self, deployment: ReadOnlyObject, one: ReadOnlyObject, before: int, after: int) -> None:
        way = "up" if before < after else "down"
        message = f"Scaled {way} replica set {one['metadata']['name']} from {before} to {after}"
        self.events.record(deployment, NORMAL, "ScalingReplicaSet", message)

    async def _scale_replica_set(
        self, rollout: Rollout, one: ReadOnlyObject, size: int, *, force: bool = False
    ) -> Rollout:
        """Scale a set; with `force` also update its annotations about the deployment's size."""
        before = desired_replicas(one)
        size_annotations = replicas_annotations(rollout.deployment)
        stale = any(annotations_of(one).get(name) != text for name, text in size_annotations.items())
        if before == size and not (force and stale):
            return rollout
        changed = with_annotations(one, {**annotations_of(one), **size_annotations})
        changed["spec"] = {**one["spec"], "replicas": size}
        written = await self.client.update("ReplicaSet", changed)
        if before != size:
            self._record_scaling(rollout.deployment, one, before, size)
        return rollout.with_updated_set(written)

    async def _sync_scale(self, rollout: Rollout) -> ReconcileResult:
        """Scale the sets of a paused or resized deployment; clean up while paused."""
        rollout = await self._scale_all_sets(rollout)
        deployment = rollout.deployment
        if deployment["spec"].get("paused") and _rollback_revision(deployment) is None:
            await self._cleanup_deployment(rollout)
        return await self._sync_rollout_status(rollout)

    async def _scale_all_sets(self, rollout: Rollout) -> Rollout:
        """Scale the only active set, or distribute the replicas over all active sets."""
        deployment = rollout.deployment
        running = filter_active(rollout.all_sets)
        # With one active set there is nothing to distribute.
        if len(running) <= 1:
            newest = rollout.new or (sort_by_age(rollout.old)[-1] if rollout.old else None)
            if (only := running[0] if running else newest) is None:
                return rollout
            return await self._scale_replica_set(rollout, only, desired_replicas(deployment))
        if sizes.is_saturated(deployment, rollout.new):
            for one in filter_active(rollout.old):
                rollout = await self._scale_replica_set(rollout, one, 0)
            return rollout
        if is_rolling(deployment):
            for one, size in sizes.proportional_sizes(deployment, rollout.new, rollout.old):
                rollout = await self._scale_replica_set(rollout, one, size, force=True)
        return rollout

    async def _rollout_rolling(self, rollout: Rollout, sets: Sequence[ReadOnlyObject]) -> ReconcileResult:
        """Grow the new set or shrink the old ones by one step of a rolling update."""
        if rollout.new is None:
            rollout = await self._sync_revisions(rollout.deployment, sets, create=True)
        assert rollout.new is not None, "it was made"
        before = rollout
        rollout = await self._reconcile_new_set(rollout, rollout.new)
        # As upstream, one step per reconciliation: old sets shrink only when the new one does not grow.
        if rollout is before:
            rollout = await self._reconcile_old_sets(rollout)
        if rollout is before and is_rollout_complete(rollout.deployment):
            await self._cleanup_deployment(rollout)
        return await self._sync_rollout_status(rollout, progress=True)

    async def _reconcile_new_set(self, rollout: Rollout, new: ReadOnlyObject) -> Rollout:
        size = desired_replicas(rollout.deployment)
        if desired_replicas(new) == size:
            return rollout
        if desired_replicas(new) < size:
            size = sizes.new_set_replicas(rollout.deployment, rollout.all_sets, desired_replicas(new))
        return await self._scale_replica_set(rollout, new, size)

    async def _reconcile_old_sets(self, rollout: Rollout) -> Rollout:
        """Shrink old sets, unhealthy pods first, as far as enough pods stay available."""
        deployment, new = rollout.deployment, rollout.new
        assert new is not None, "old sets go only for a new one"
        old = filter_active(rollout.old)
        available_min = desired_replicas(deployment) - sizes.max_unavailable(deployment)
        # Unavailable pods of the new set are left out: they must not cost available old ones.
        cut_max = (
            total_replicas(rollout.all_sets)
            - available_min
            - (desired_replicas(new) - status_number(new, "availableReplicas"))
        )
        if not old or cut_max <= 0:
            return rollout
        rollout = await self._scale_down(rollout, sizes.scale_down_unhealthy(deployment, old, cut_max))
        uids = {one["metadata"]["uid"] for one in old}
        left = [one for one in rollout.old if one["metadata"]["uid"] in uids]
        return await self._scale_down(rollout, sizes.scale_down_available(deployment, left, [*left, new]))

    async def _scale_down(self, rollout: Rollout, by_uid: dict[str, int]) -> Rollout:
        for one in sort_by_age(rollout.old):
            if (size := by_uid.get(one["metadata"]["uid"])) is not None:
                rollout = await self._scale_replica_set(rollout, one, size)
        return rollout

    async def _rollout_recreate(self, rollout: Rollout, sets: Sequence[ReadOnlyObject]) -> ReconcileResult:
        """Scale down all old sets; once their pods are gone, create and scale up the new set."""
        before = rollout
        for one in filter_active(rollout.old):
            rollout = await self._scale_replica_set(rollout, one, 0)
        # Recreate never runs old and new pods at the same time.
        if rollout is not before or self._old_pods_running(rollout):
            return await self._sync_rollout_status(rollout, progress=True)
        if rollout.new is None:
            rollout = await self._sync_revisions(rollout.deployment, sets, create=True)
        assert rollout.new is not None, "it was made"
        rollout = await self._scale_replica_set(rollout, rollout.new, desired_replicas(rollout.deployment))
        if is_rollout_complete(rollout.deployment):
            await self._cleanup_deployment(rollout)
        return await self._sync_rollout_status(rollout, progress=True)

    def _old_pods_running(self, rollout: Rollout) -> bool:
        if total_status_number(rollout.old, "replicas") > 0:
            return True
        return any(not is_finished(pod) for one in rollout.old for pod in self._pods_of_set(one))

    async def _cleanup_deployment(self, rollout: Rollout) -> None:
        """Delete the oldest sets beyond revisionHistoryLimit that have no pods."""
        limit = rollout.deployment["spec"].get("revisionHistoryLimit")
        if limit is None or limit == statuses.NO_DEADLINE:
            return
        alive = [one for one in rollout.old if not one["metadata"].get("deletionTimestamp")]
        alive.sort(key=lambda one: (revision_of(one), one["metadata"].get("creationTimestamp", "")))
        for one in alive[: max(len(alive) - limit, 0)]:
            # A set whose status is outdated may still have pods.
            is_outdated = one["metadata"].get("generation", 0) > status_number(one, "observedGeneration")
            if status_number(one, "replicas") or desired_replicas(one) or is_outdated:
                continue
            try:
                await self.client.delete("ReplicaSet", key_of(one))
            except NotFound:
                continue

    async def _rollback(
        self, deployment: ReadOnlyObject, sets: Sequence[ReadOnlyObject], revision: int
    ) -> ReconcileResult:
        """Restore the template of an older revision, as the deprecated rollback annotation requests."""
        rollout = await self._sync_revisions(deployment, sets, create=True)
        deployment, name = rollout.deployment, rollout.deployment["metadata"]["name"]
        wanted_revision = revision or last_revision(rollout.all_sets)
        target = next((one for one in rollout.all_sets if revision_of(one) == wanted_revision), None)
        if not wanted_revision or target is None:
            text = "Unable to find the revision to rollback to." if wanted_revision else "Unable to find last revision."
            self.events.record(deployment, WARNING, "DeploymentRollbackRevisionNotFound", text)
        elif template_without_hash(target) == template_without_hash(deployment):
            text = f'The rollback revision contains the same template as current deployment "{name}"'
            self.events.record(deployment, WARNING, "DeploymentRollbackTemplateUnchanged", text)
        else:
            deployment = with_rolled_back_template(deployment, target)
            text = f'Rolled back deployment "{name}" to revision {wanted_revision}'
            self.events.record(deployment, NORMAL, "DeploymentRollback", text)
        left = {key: text for key, text in annotations_of(deployment).items() if key != ROLLBACK_TO}
        await self.client.update("Deployment", with_annotations(deployment, left))
        return DONE

    async def _sync_rollout_status(self, rollout: Rollout, *, progress: bool = False) -> ReconcileResult:
        """Write the status if it changed; else come back when the progress deadline is over."""
        deployment, now = rollout.deployment, self.clock.now()
        status = statuses.calculate_status(
            deployment, rollout.all_sets, rollout.new, now, terminating=self._counts_terminating
        )
        if progress:
            status = statuses.with_progress(deployment, status, rollout.all_sets, rollout.new, now)
        if status != (deployment.get("status") or {}):
            await self._update_status(deployment, status)
            return DONE
        left = statuses.seconds_to_deadline(deployment, status, now) if progress else None
        # A rollout that is overdue without having timed out was complete once, so the deadline no longer applies.
        if left is None or left <= -_SECOND:
            return DONE
        return Requeue(after=left + _SECOND)


def is_rollout_complete(deployment: ReadOnlyObject) -> bool:
    """Return whether the stored status says that the rollout is complete."""
    return statuses.is_complete(deployment, deployment.get("status") or {})


def _rollback_revision(deployment: ReadOnlyObject) -> int | None:
    text = annotations_of(deployment).get(ROLLBACK_TO, "")
    return int(text) if text.isdecimal() else None


def _is_scaling_event(rollout: Rollout) -> bool:
    """Return whether an active set was scaled for another size of the deployment."""
    size = desired_replicas(rollout.deployment)
    desired_sizes = (sizes.annotation_number(one, sizes.DESIRED) for one in filter_active(rollout.all_sets))
    return any(desired is not None and desired != size for desired in desired_sizes)
