"""Choice of a volume for a claim, check of a requested volume, and the default storage class.

upstream 1.36: pkg/controller/volume/persistentvolume/index.go, pv_controller.go
"""

from collections.abc import Iterable, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.controllers.volume.bindings import access_modes
from mockkube.matching.volumes import ClaimRequirements, CompiledVolume, SearchConditions, find_volume, storage_class_of

_DEFAULT: Final = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def find_best_match(
    requirements: ClaimRequirements, volumes: Iterable[ReadOnlyObject], terms: SearchConditions
) -> ReadOnlyObject | None:
    """Return the smallest volume for a claim with the fewest access modes beyond those requested."""
    groups: dict[tuple[str, ...], list[CompiledVolume]] = {}
    for obj in volumes:
        groups.setdefault(tuple(access_modes(obj)), []).append(CompiledVolume.from_object(obj, {}))
    for modes in sorted(groups, key=lambda modes: (len(modes), modes)):
        if requirements.access_modes <= {*modes}:
            found = find_volume(requirements, groups[modes], terms)
            if found is not None:
                return found.obj
    return None


def find_mismatch(volume: ReadOnlyObject, claim: ReadOnlyObject, *, attributes_classes: bool) -> str:
    """Return why a volume does not satisfy the claim that names it; empty if it does."""
    has, wants = CompiledVolume.from_object(volume, {}), ClaimRequirements.from_object(claim)
    if has.is_terminating:
        return f'the volume is marked for deletion "{has.name}"'
    if has.size < wants.size:
        return "requested PV is too small"
    if has.storage_class != wants.storage_class:
        return "storageClassName does not match"
    if attributes_classes and has.attributes_class != wants.attributes_class:
        return "volumeAttributesClassName does not match"
    if not attributes_classes and (has.attributes_class or wants.attributes_class):
        return "volumeAttributesClassName is not supported when the feature-gate VolumeAttributesClass is disabled"
    if has.mode != wants.mode:
        return "incompatible volumeMode"
    return "" if wants.access_modes <= has.access_modes else "incompatible accessMode"


def find_default_class(classes: Sequence[ReadOnlyObject]) -> ReadOnlyObject | None:
    """Return the default storage class: the newest one that is marked as default."""
    marked = [one for one in classes if _is_default(one)]
    # As upstream, the name decides among classes of the same second; `max` keeps the first.
    marked.sort(key=lambda one: one["metadata"]["name"])
    return max(marked, key=lambda one: one["metadata"]["creationTimestamp"], default=None)


def _is_default(storage_class: ReadOnlyObject) -> bool:
    annotations = storage_class["metadata"].get("annotations", {})
    return any(annotations.get(name) == "true" for name in _DEFAULT)


def waits_for_consumer(claim: ReadOnlyObject, storage_class: ReadOnlyObject | None) -> bool:
    """Return whether a claim's class has binding mode WaitForFirstConsumer."""
    if not storage_class_of(claim) or storage_class is None:
        return False
    return bool(storage_class.get("volumeBindingMode") == "WaitForFirstConsumer")
