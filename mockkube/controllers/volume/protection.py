"""persistentvolumeclaim-protection-controller and persistentvolume-protection-controller: keep what is in use.

upstream 1.36: pkg/controller/volume/pvcprotection, pkg/controller/volume/pvprotection
"""

from typing import ClassVar, Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, Selection, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.pods.by_claim import pods_by_claim, uses_claim
from mockkube.controllers.volume.bindings import CLAIM, VOLUME
from mockkube.matching.pod_claims import volume_claims
from mockkube.matching.pods import is_finished

CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"
UNUSED_GATE: Final = "PersistentVolumeClaimUnusedSinceTime"
_UNUSED: Final = "Unused"


def with_finalizer(obj: ReadOnlyObject, name: str) -> Object:
    """Return an object with one more finalizer."""
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "finalizers": [*metadata.get("finalizers", ()), name]}}


def without_finalizer(obj: ReadOnlyObject, name: str) -> Object:
    """Return an object without a finalizer."""
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "finalizers": [one for one in metadata["finalizers"] if one != name]}}


def needs_finalizer_change(obj: ReadOnlyObject, finalizer: str) -> bool:
    """Return whether the finalizer is missing, or holds up a deletion."""
    # Both cases at once: not terminating and without the finalizer, or terminating and with it.
    return has_deletion_timestamp(obj) == (finalizer in obj["metadata"].get("finalizers", ()))


class PVCProtectionController(Controller):
    """Controller of claim protection; keys are claims."""

    name: ClassVar[str] = "persistentvolumeclaim-protection-controller"
    queue_name: ClassVar[str] = "pvcprotection"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self._tracks_use = dependencies.capabilities.enabled(UNUSED_GATE)
        self.claims = self.watched_informer(CLAIM, self._on_claim_change)
        self._pods_by_claim = pods_by_claim(self.watched_informer("Pod", self._on_pod_change))

    def _on_claim_change(self, change: ObjectChange) -> None:
        claim = change.object
        if change.type is WatchEventType.DELETED:
            return
        is_new = self._tracks_use and find_condition(claim.get("status", {}).get("conditions", ()), _UNUSED) is None
        # A claim without condition Unused was created, or comes from a version that did not track usage.
        if is_new or needs_finalizer_change(claim, CLAIM_FINALIZER):
            self.work_queue.add(key_of(claim))

    def _on_pod_change(self, change: ObjectChange) -> None:
        pod, old = change.object, change.old
        # A pod that was replaced under its name while the watch was interrupted no longer uses its claims.
        if old is not None and old["metadata"]["uid"] != pod["metadata"]["uid"]:
            self._enqueue(old)
        has_ended = change.type is WatchEventType.DELETED or is_finished(pod)
        if has_ended or self._tracks_use or not pod["spec"].get("nodeName"):
            self._enqueue(pod)

    def _enqueue(self, pod: ReadOnlyObject) -> None:
        for name, _ in volume_claims(pod):
            self.work_queue.add(Key(pod["metadata"]["namespace"], name))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Add the finalizer to a claim, or remove it from a terminating one that no pod uses."""
        claim = self.claims.get(key)
        if claim is None:
            return DONE
        if self._tracks_use and not has_deletion_timestamp(claim):
            await self._update_unused_condition(claim)
        if not needs_finalizer_change(claim, CLAIM_FINALIZER):
            return DONE
        if not has_deletion_timestamp(claim):
            await self.client.update(CLAIM, with_finalizer(claim, CLAIM_FINALIZER))
        elif not await self._is_in_use(claim):
            await self.client.update(CLAIM, without_finalizer(claim, CLAIM_FINALIZER))
        return DONE

    async def _is_in_use(self, claim: ReadOnlyObject) -> bool:
        """Return whether a pod uses the claim, by the informer first and then by the server."""
        key = key_of(claim)
        if any(_keeps_claim(pod, claim) for pod in self._pods_by_claim.get(str(key))):
            return True
        pods = (await self.client.list("Pod", Selection(namespace=key.namespace))).items
        return any(_keeps_claim(pod, claim) for pod in pods)

    async def _update_unused_condition(self, claim: ReadOnlyObject) -> None:
        """Set condition Unused of a claim if it changed."""
        running = (pod for pod in self._pods_by_claim.get(str(key_of(claim))) if not _is_finished(pod))
        used, status = any(uses_claim(pod, claim) for pod in running), claim.get("status", {})
        old = find_condition(status.get("conditions", ()), _UNUSED)
        wanted = "False" if used else "True"
        if old is not None and old["status"] == wanted:
            return
        condition: Object = {
            "type": _UNUSED,
            "status": wanted,
            "reason": "PodUsingPVC" if used else "NoPodsUsingPVC",
            "message": f"{'A pod is' if used else 'No pods are'} currently referencing this PVC",
            "lastTransitionTime": render_time(self.clock.now()),
        }
        others = [one for one in status.get("conditions", ()) if one is not old]
        changed: Object = {**claim, "status": {**status, "conditions": [*others, condition]}}
        await self.client.update(CLAIM, changed, subresource="status")


def _is_finished(pod: ReadOnlyObject) -> bool:
    return is_finished(pod)


def _keeps_claim(pod: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    """Return whether a scheduled pod uses a claim and so keeps it from being deleted."""
    metadata = pod["metadata"]
    # The kubelet is done with such a pod, or it was deleted by force. Its own claim must not block it: in a foreground
    # deletion the pod waits for that claim.
    shut_down = has_deletion_timestamp(pod) and metadata.get("deletionGracePeriodSeconds") == 0
    return bool(pod["spec"].get("nodeName")) and uses_claim(pod, claim, ephemeral=not shut_down)


class PVProtectionController(Controller):
    """Controller of volume protection; keys are volumes."""

    name: ClassVar[str] = "persistentvolume-protection-controller"
    queue_name: ClassVar[str] = "pvprotection"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.volumes = self.watched_informer(VOLUME, self._on_volume_change)

    def _on_volume_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED and needs_finalizer_change(change.object, VOLUME_FINALIZER):
            self.work_queue.add(key_of(change.object))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Add the finalizer to a volume, or remove it from a terminating one that is not bound."""
        volume = self.volumes.get(key)
        if volume is None or not needs_finalizer_change(volume, VOLUME_FINALIZER):
            return DONE
        if not has_deletion_timestamp(volume):
            await self.client.update(VOLUME, with_finalizer(volume, VOLUME_FINALIZER))
        elif volume.get("status", {}).get("phase") != "Bound":
            await self.client.update(VOLUME, without_finalizer(volume, VOLUME_FINALIZER))
        return DONE
