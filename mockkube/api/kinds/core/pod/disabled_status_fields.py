"""Drop pod status fields of disabled gates, unless the stored pod uses them."""

# upstream 1.36: pkg/api/pod/util.go, dropDisabledPodStatusFields

from collections.abc import Callable, Iterator
from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.container_lists import all_containers
from mockkube.api.kinds.core.pod.options import is_feature_enabled
from mockkube.features.capabilities import Capabilities

_STATUS_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
StatusItems = Callable[[ReadOnlyObject], Iterator[Any]]


def _status(status: ReadOnlyObject) -> Iterator[Any]:
    yield status


def _containers(status: ReadOnlyObject) -> Iterator[Any]:
    for kind in _STATUS_LISTS:
        yield from status.get(kind, ())


def _mounts(status: ReadOnlyObject) -> Iterator[Any]:
    for container in _containers(status):
        yield from container.get("volumeMounts", ())


def _resource_healths(status: ReadOnlyObject) -> Iterator[Any]:
    for container in _containers(status):
        for allocated in container.get("allocatedResourcesStatus", ()):
            yield from allocated.get("resources", ())


def _with_observed_generation(status: ReadOnlyObject) -> Iterator[Any]:
    yield status
    yield from status.get("conditions", ())


def _uses_claims(spec: ReadOnlyObject) -> bool:
    return "resourceClaims" in spec


def _uses_resize_policies(spec: ReadOnlyObject) -> bool:
    return any("resizePolicy" in container for container in all_containers(spec))


def _uses_recursive_mounts(spec: ReadOnlyObject) -> bool:
    return any("recursiveReadOnly" in m for c in all_containers(spec) for m in c.get("volumeMounts", ()))


def _uses_group_policy(spec: ReadOnlyObject) -> bool:
    return "supplementalGroupsPolicy" in spec.get("securityContext", ())


# A field stays if the stored status has it.
_GATED_BY_STATUS: Final[tuple[tuple[str, StatusItems, tuple[str, ...]], ...]] = (
    ("InPlacePodLevelResourcesVerticalScaling", _status, ("resources", "allocatedResources")),
    ("DRAExtendedResource", _status, ("extendedResourceClaimStatus",)),
    ("ResourceHealthStatus", _containers, ("allocatedResourcesStatus",)),
    ("ResourceHealthStatusMessage", _resource_healths, ("message",)),
    ("PodObservedGenerationTracking", _with_observed_generation, ("observedGeneration",)),
    ("ImageVolumeWithDigest", _mounts, ("volumeStatus",)),
    ("CSIVolumeHealth", _status, ("volumeHealth",)),
    ("DRANodeAllocatableResources", _status, ("nodeAllocatableResourceClaimStatuses",)),
)
# A field stays if the stored spec asks for the feature: the kubelet may not have reported on it yet.
_GATED_BY_SPEC: Final[tuple[tuple[str, StatusItems, tuple[str, ...], Callable[[ReadOnlyObject], bool]], ...]] = (
    ("InPlacePodVerticalScaling", _containers, ("resources", "allocatedResources"), _uses_resize_policies),
    ("DynamicResourceAllocation", _status, ("resourceClaimStatuses",), _uses_claims),
    ("RecursiveReadOnlyMounts", _containers, ("volumeMounts",), _uses_recursive_mounts),
    ("SupplementalGroupsPolicy", _containers, ("user",), _uses_group_policy),
)


def drop_disabled_pod_status(new: Object, old: ReadOnlyObject, caps: Capabilities) -> None:
    """Drop status fields of disabled gates unless the stored pod uses them."""
    status, before = new.get("status", {}), old.get("status", {})
    for gate, items, fields in _GATED_BY_STATUS:
        used = any(field in item for item in items(before) for field in fields)
        if not used and not is_feature_enabled(caps, gate):
            _drop(items(status), fields)
    for gate, items, fields, uses in _GATED_BY_SPEC:
        if not uses(old.get("spec", {})) and not is_feature_enabled(caps, gate):
            _drop(items(status), fields)


def _drop(items: Iterator[Any], fields: tuple[str, ...]) -> None:
    for item in items:
        for field in fields:
            item.pop(field, None)
