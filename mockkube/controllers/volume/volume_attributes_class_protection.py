"""volumeattributesclass-protection-controller: keeps VolumeAttributesClasses that claims or volumes use.

upstream 1.36: pkg/controller/volume/vacprotection
"""

from typing import ClassVar, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, Selection, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.volume.bindings import CLAIM, VOLUME
from mockkube.controllers.volume.protection import needs_finalizer_change, with_finalizer, without_finalizer

CLASS: Final = "VolumeAttributesClass"
FINALIZER: Final = "kubernetes.io/vac-protection"


def referenced_classes(obj: ReadOnlyObject) -> set[str]:
    """Return the classes that a claim or volume refers to: wanted, current and target."""
    status = obj.get("status", {})
    names = (
        obj["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        status.get("modifyVolumeStatus", {}).get("targetVolumeAttributesClassName"),
    )
    return {name for name in names if name}


class VolumeAttributesClassProtectionController(Controller):
    """Controller of VolumeAttributesClasses; keys are classes."""

    name: ClassVar[str] = "volumeattributesclass-protection-controller"
    queue_name: ClassVar[str] = "vacprotection"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.classes = self.watched_informer(CLASS, self._on_class_change)
        self._users = [self.watched_informer(kind, self._on_user_change) for kind in (CLAIM, VOLUME)]

    def _on_class_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED and needs_finalizer_change(change.object, FINALIZER):
            self.work_queue.add(key_of(change.object))

    def _on_user_change(self, change: ObjectChange) -> None:
        """Queue the classes that a claim or volume no longer refers to."""
        before = set() if change.old is None else referenced_classes(change.old)
        after = referenced_classes(change.object)
        for name in sorted(after if change.type is WatchEventType.DELETED else before - after):
            self.work_queue.add(Key("", name))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Add the finalizer to a class, or remove it from a terminating one that is not used."""
        found = self.classes.get(key)
        if found is None or not needs_finalizer_change(found, FINALIZER):
            return DONE
        if not has_deletion_timestamp(found):
            await self.client.update(CLASS, with_finalizer(found, FINALIZER))
        elif not await self._is_in_use(key.name):
            await self.client.update(CLASS, without_finalizer(found, FINALIZER))
        return DONE

    async def _is_in_use(self, name: str) -> bool:
        if any(name in referenced_classes(user) for cache in self._users for user in cache.list()):
            return True
        # The informer may lag behind: a claim created just now would lose its class.
        claims = (await self.client.list(CLAIM, Selection())).items
        return any(name in referenced_classes(claim) for claim in claims)
