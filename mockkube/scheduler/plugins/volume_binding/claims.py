"""Claims of a pod, classified as bound, delayed or immediate."""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer
from mockkube.client.protocol import Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.volumes import ClaimRequirements, is_fully_bound, storage_class_of
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.assume_cache import AssumeCache
from mockkube.scheduler.plugins.volume_binding.volumes import CandidateVolumes, VolumeLister
from mockkube.scheduler.plugins.volumes.pod_claims import ownership_error, pod_volume_claims


@dataclass(frozen=True, slots=True)
class ClassifiedClaims:
    """Bound claims, claims to bind on the chosen node, and unbound claims of immediate binding mode."""

    bound: tuple[ReadOnlyObject, ...]
    delayed: tuple[ClaimRequirements, ...]
    immediate: tuple[ReadOnlyObject, ...]
    candidates: dict[str, CandidateVolumes]
    """Volumes that suit each delayed claim, by claim name."""


class ClaimClassifier:
    """Classifies claims of pods, with assumed objects taken into account."""

    def __init__(self, objects: AssumeCache, classes: Informer, volumes: VolumeLister) -> None:
        self._objects, self._classes, self._volumes = objects, classes, volumes

    def unusable_reason(self, pod: PodInfo) -> str:
        """Return why a pod's claims cannot be used; empty if they can."""
        # From the informer, not from assumed objects: a deletion must be seen here.
        for claimed in pod_volume_claims(pod):
            name, claim = claimed.key.name, self._objects.informer.get(claimed.key)
            if claim is None and claimed.generated:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if (claim.get("status") or {}).get("phase") == "Lost":
                volume = claim["spec"].get("volumeName", "")
                return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            if claim["metadata"].get("deletionTimestamp"):
                return f'persistentvolumeclaim "{name}" is being deleted'
            if claimed.generated and (why := ownership_error(pod, claim)):
                return why
        return ""

    def classify(self, pod: PodInfo) -> ClassifiedClaims:
        """Return the classified claims of a pod; raise ValueError if a class is invalid."""
        bound, immediate, delayed = [], [], []
        for claimed in pod_volume_claims(pod):
            claim = self._objects.get(claimed.key)
            assert claim is not None, "unusable claims were rejected before"
            if is_fully_bound(claim):
                bound.append(claim)
            # A delayed claim with a volume name is being bound to it; it counts as immediate until that is done.
            elif self._is_delayed(claim) and not claim["spec"].get("volumeName"):
                delayed.append(ClaimRequirements.from_object(claim))
            else:
                immediate.append(claim)
        volumes = {requirements.name: self._volumes.find_candidates(requirements) for requirements in delayed}
        return ClassifiedClaims(tuple(bound), tuple(delayed), tuple(immediate), volumes)

    def are_all_bound(self, pod: PodInfo) -> bool:
        """Return whether every claim of the pod is bound."""
        for claimed in pod_volume_claims(pod):
            claim = self._objects.get(claimed.key)
            if claim is None or not is_fully_bound(claim):
                return False
        return True

    def _is_delayed(self, claim: ReadOnlyObject) -> bool:
        name = storage_class_of(claim)
        storage_class = self._classes.get(Key("", name)) if name else None
        if storage_class is None:
            return False
        if "volumeBindingMode" not in storage_class:
            raise ValueError(f'VolumeBindingMode not set for StorageClass "{name}"')
        return bool(storage_class["volumeBindingMode"] == "WaitForFirstConsumer")
