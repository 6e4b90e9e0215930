"""ephemeral-volume-controller: creates the claims of pods' generic ephemeral volumes.

upstream 1.36: pkg/controller/volume/ephemeral/controller.go
"""

from typing import ClassVar

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import (
    controller_uid,
    has_deletion_timestamp,
    new_controller_ref,
)
from mockkube.controllers.pods.by_claim import pods_by_claim
from mockkube.controllers.volume.bindings import CLAIM
from mockkube.matching.pod_claims import ephemeral_claim_name


class EphemeralVolumeController(Controller):
    """Controller of ephemeral volumes; keys are pods."""

    name: ClassVar[str] = "ephemeral-volume-controller"
    event_source: ClassVar[str] = "ephemeral_volume"
    queue_name: ClassVar[str] = "ephemeral_volume"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self._pods_by_claim = pods_by_claim(self.pods)
        self.claims = self.watched_informer(CLAIM, self._on_claim_change)

    def _on_pod_change(self, change: ObjectChange) -> None:
        pod = change.object
        # The volumes of a pod are immutable.
        if change.type is WatchEventType.ADDED and any("ephemeral" in one for one in pod["spec"].get("volumes", ())):
            self.work_queue.add(key_of(pod))

    def _on_claim_change(self, change: ObjectChange) -> None:
        # A deleted claim is created again for a pod that has not started with it.
        if change.type is WatchEventType.DELETED:
            for pod in self._pods_by_claim.get(str(key_of(change.object))):
                self.work_queue.add(key_of(pod))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Create the missing claims of a pod."""
        pod = self.pods.get(key)
        if pod is None or has_deletion_timestamp(pod):
            return DONE
        for volume in pod["spec"].get("volumes", ()):
            if "ephemeral" in volume:
                await self._handle_volume(pod, volume)
        return DONE

    async def _handle_volume(self, pod: ReadOnlyObject, volume: ReadOnlyObject) -> None:
        try:
            await self._ensure_claim(pod, volume)
        except ApiError as error:
            text = f"ephemeral volume {volume['name']}: {error.message}"
            self.events.record(pod, "Warning", "FailedBinding", text)
            raise ApiError(f"pod {key_of(pod)}, {text}") from error

    async def _ensure_claim(self, pod: ReadOnlyObject, volume: ReadOnlyObject) -> None:
        """Create the claim of an ephemeral volume unless it exists; ApiError if another owns it."""
        name, namespace = ephemeral_claim_name(pod, volume), pod["metadata"]["namespace"]
        claim = self.claims.get(Key(namespace, name))
        if claim is not None:
            # A claim of the user with this name must not be used: its data would be deleted with the pod.
            if controller_uid(claim) != pod["metadata"]["uid"]:
                raise ApiError(f"PVC {namespace}/{name} was not created for pod {key_of(pod)} (pod is not owner)")
            return
        template = volume["ephemeral"]["volumeClaimTemplate"]
        given = template.get("metadata", {})
        metadata: Object = {
            "name": name,
            "namespace": namespace,
            "annotations": given.get("annotations", {}),
            "labels": given.get("labels", {}),
            "ownerReferences": [new_controller_ref(pod, "v1", "Pod")],
        }
        try:
            await self.client.create(CLAIM, {"metadata": metadata, "spec": template["spec"]})
        except ApiError as error:
            raise ApiError(f"create PVC {name}: {error.message}") from error
