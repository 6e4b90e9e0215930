"""Feature gates that can affect where a pod goes, given the features that the pod and its volumes use."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.trains import ReleaseTrain
from mockkube.proposals.catalogue import all_proposals

_POD_GATES: Final = ("NodeDeclaredFeatures", "PodLevelResources")
_DEVICE_GATES: Final = (
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


def find_relevant_gates(
    pod: ReadOnlyObject, objects: Mapping[str, Sequence[ReadOnlyObject]], trains: tuple[ReleaseTrain, ...]
) -> Iterator[str]:
    """Yield the gates worth trying; a gate of a feature that is not used cannot change the decision."""
    # Proposals first: they are the most likely reason for a pod that a component does not understand.
    yield from find_proposal_gates(pod, objects, trains)
    yield from _POD_GATES
    # Extended resources have a slash in their name; with DRAExtendedResource a DeviceClass can provide them.
    if pod["spec"].get("resourceClaims") or any("/" in name for name in _requested_resources(pod)):
        yield from _DEVICE_GATES


def find_proposal_gates(
    pod: ReadOnlyObject, objects: Mapping[str, Sequence[ReadOnlyObject]], trains: tuple[ReleaseTrain, ...]
) -> Iterator[str]:
    """Yield the gates of proposals whose fields or operators are used, or that add scheduler plugins."""
    used_names = set(_field_names(pod["spec"]))
    for kind in ("PersistentVolume", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"):
        used_names.update(word for obj in objects.get(kind, ()) for word in _field_names(obj["spec"]))
    for proposal in all_proposals(trains):
        proposal_names = (
            *proposal.tolerations,
            *proposal.toleration_fields,
            *proposal.node_selectors,
            *proposal.device_tolerations,
            *(name for added in proposal.fields.values() for name in added),
        )
        if used_names.intersection(proposal_names) or proposal.scheduler_plugins:
            yield proposal.gate


def _field_names(value: Any) -> Iterator[str]:
    """Yield all field names in a value, and its operators."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield name
            if name == "operator" and isinstance(one, str):
                yield one
            yield from _field_names(one)
    elif isinstance(value, list):
        for one in value:
            yield from _field_names(one)


def _requested_resources(pod: ReadOnlyObject) -> Iterator[str]:
    for container in (*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())):
        yield from (container.get("resources") or {}).get("requests") or ()
