"""Claims of a pod: PersistentVolumeClaims of its volumes, ResourceClaims of its device requests.

upstream 1.36: component-helpers/storage/ephemeral, dynamic-resource-allocation/resourceclaim
"""

from collections.abc import Iterator
from typing import NamedTuple

from mockkube.api.json_objects import ReadOnlyObject


class VolumeClaim(NamedTuple):
    """A PersistentVolumeClaim by name; `generated` ones belong to one pod."""

    name: str
    generated: bool = False


def volume_claims(pod: ReadOnlyObject) -> Iterator[VolumeClaim]:
    """Yield the PersistentVolumeClaims of a pod, in the order of its volumes."""
    for volume in pod["spec"].get("volumes") or ():
        if (source := volume.get("persistentVolumeClaim")) is not None:
            yield VolumeClaim(source.get("claimName", ""))
        elif volume.get("ephemeral") is not None:
            yield VolumeClaim(ephemeral_claim_name(pod, volume), generated=True)


def ephemeral_claim_name(pod: ReadOnlyObject, volume: ReadOnlyObject) -> str:
    """Return the name of the claim that is generated for an ephemeral volume."""
    return f"{pod['metadata']['name']}-{volume['name']}"


class DeviceClaim(NamedTuple):
    """A ResourceClaim of a pod: its name once it exists, whether it is generated, whether it is unneeded."""

    name: str = ""
    generated: bool = False
    unneeded: bool = False


def device_claim(pod: ReadOnlyObject, pod_claim: ReadOnlyObject) -> DeviceClaim:
    """Return the state of a claim in a pod's `resourceClaims`; without a name it does not exist yet."""
    if pod_claim.get("resourceClaimName"):
        return DeviceClaim(pod_claim["resourceClaimName"])
    for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if status["name"] == pod_claim["name"]:
            name = status.get("resourceClaimName")
            # The resource claim controller records an empty name for a claim that the pod does not need.
            return DeviceClaim(name, generated=True) if name else DeviceClaim(unneeded=True)
    return DeviceClaim()
