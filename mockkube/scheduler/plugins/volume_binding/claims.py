"""A pod's claims, sorted by what is left to do for them."""

from dataclasses import dataclass

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import ListWatch
from mockkube.client.protocol import Key
from mockkube.matching.volumes import ClaimRequirements, class_of, fully_bound
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.assumed import AssumedObjects
from mockkube.scheduler.plugins.volume_binding.volumes import Nearby, Volumes
from mockkube.scheduler.plugins.volumes.pod_claims import claims_of, foreign


@dataclass(frozen=True, slots=True)
class SortedClaims:
    """Claims that have their volume, that get one with the node, and that should have had one before."""

    bound: tuple[ReadOnlyObject, ...]
    delayed: tuple[ClaimRequirements, ...]
    immediate: tuple[ReadOnlyObject, ...]
    volumes: dict[str, Nearby]
    """The volumes that each of the delayed ones may have, by its name."""


class PodClaims:
    """The claims of pods, as the scheduler takes them to be."""

    def __init__(self, objects: AssumedObjects, classes: ListWatch, volumes: Volumes) -> None:
        self._objects, self._classes, self._volumes = objects, classes, volumes

    def complaint(self, pod: PodInfo) -> str:
        """Return why a pod's claims are not usable; empty if they are."""
        for claimed in claims_of(pod):
            name, claim = claimed.key.name, self._objects.cache.get(claimed.key)
            if claim is None and claimed.generated:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if (claim.get("status") or {}).get("phase") == "Lost":
                volume = claim["spec"].get("volumeName", "")
                return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            if claim["metadata"].get("deletionTimestamp"):
                return f'persistentvolumeclaim "{name}" is being deleted'
            if claimed.generated and (why := foreign(pod, claim)):
                return why
        return ""

    def sort(self, pod: PodInfo) -> SortedClaims:
        """Return the claims of a pod that has no complaint; ValueError if one cannot be told."""
        bound, immediate, delayed = [], [], []
        for claimed in claims_of(pod):
            claim = self._objects.get(claimed.key)
            assert claim is not None, "there was no complaint"
            if fully_bound(claim):
                bound.append(claim)
            elif self._is_delayed(claim) and not claim["spec"].get("volumeName"):
                delayed.append(ClaimRequirements.read(claim))
            else:
                immediate.append(claim)
        volumes = {wish.name: self._volumes.for_wish(wish) for wish in delayed}
        return SortedClaims(tuple(bound), tuple(delayed), tuple(immediate), volumes)

    def all_bound(self, pod: PodInfo) -> bool:
        """Whether every claim of the pod has its volume."""
        for claimed in claims_of(pod):
            claim = self._objects.get(claimed.key)
            if claim is None or not fully_bound(claim):
                return False
        return True

    def _is_delayed(self, claim: ReadOnlyObject) -> bool:
        name = class_of(claim)
        storage_class = self._classes.get(Key("", name)) if name else None
        if storage_class is None:
            return False
        if "volumeBindingMode" not in storage_class:
            raise ValueError(f'VolumeBindingMode not set for StorageClass "{name}"')
        return bool(storage_class["volumeBindingMode"] == "WaitForFirstConsumer")
