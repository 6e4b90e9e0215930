"""Which gates can have a say in where a pod goes: those of what it, its volumes or its claims make use of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.features.trains import ReleaseTrain
from mockkube.proposals.catalogue import all_proposals

_OF_PODS: Final = ("NodeDeclaredFeatures", "PodLevelResources")
_OF_DEVICES: Final = (
    "DynamicResourceAllocation",
    "DRADeviceTaints",
    "DRADeviceTaintRules",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
    "DRAConsumableCapacity",
    "DRAFractionalCapacityRange",
    "DRAAdminAccess",
)


def gates_for(
    pod: ReadOnlyObject, objects: Mapping[str, Sequence[ReadOnlyObject]], trains: tuple[ReleaseTrain, ...]
) -> Iterator[str]:
    """Yield the gates whose change may be worth a try; a gate of what nobody uses changes nothing."""
    yield from proposed_for(pod, objects, trains)
    yield from _OF_PODS
    if pod["spec"].get("resourceClaims") or any("/" in name for name in _requested(pod)):
        yield from _OF_DEVICES


def proposed_for(
    pod: ReadOnlyObject, objects: Mapping[str, Sequence[ReadOnlyObject]], trains: tuple[ReleaseTrain, ...]
) -> Iterator[str]:
    """Yield the gates of proposals that the objects use, or whose scheduler plugins may have a say."""
    used = set(_words(pod["spec"]))
    for kind in ("PersistentVolume", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"):
        used.update(word for obj in objects.get(kind, ()) for word in _words(obj["spec"]))
    for proposal in all_proposals(trains):
        own = (
            *proposal.tolerations,
            *proposal.toleration_fields,
            *proposal.node_selectors,
            *proposal.device_tolerations,
            *(name for added in proposal.fields.values() for name in added),
        )
        if used.intersection(own) or proposal.scheduler_plugins:
            yield proposal.gate


def _words(value: Any) -> Iterator[str]:
    """Yield the names of all fields in a value, and what its operators are."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield name
            if name == "operator" and isinstance(one, str):
                yield one
            yield from _words(one)
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)


def _requested(pod: ReadOnlyObject) -> Iterator[str]:
    for container in (*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())):
        yield from (container.get("resources") or {}).get("requests") or ()
