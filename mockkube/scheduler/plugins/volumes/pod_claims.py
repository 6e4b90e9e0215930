"""PersistentVolumeClaims of a pod, and the cluster events that concern them."""

from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pod_claims import volume_claims
from mockkube.scheduler.framework.events import ClusterEvent
from mockkube.scheduler.framework.pod_info import PodInfo

_OWNER: Final = "volume_claims"


@dataclass(frozen=True, slots=True)
class PodClaim:
    """Claim used by a volume of a pod; `generated` ones belong to an ephemeral volume and must be owned by the pod."""

    key: Key
    generated: bool = False


def pod_volume_claims(pod: PodInfo) -> tuple[PodClaim, ...]:
    """Return the pod's claims in the order of its volumes."""
    return pod.derive(_OWNER, _read_claims)


def _read_claims(pod: PodInfo) -> tuple[PodClaim, ...]:
    return tuple(PodClaim(Key(pod.namespace, name), generated) for name, generated in volume_claims(pod.obj))


def has_volume_claims(spec: ReadOnlyObject) -> bool:
    """Return whether pods with this spec have claims."""
    return any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in spec.get("volumes") or ())


def named_volume_claims(pod: PodInfo) -> tuple[Key, ...]:
    """Return the claims that the pod refers to by name."""
    return tuple(claim.key for claim in pod_volume_claims(pod) if not claim.generated)


def ownership_error(pod: PodInfo, claim: ReadOnlyObject) -> str:
    """Return why a generated claim does not belong to the pod; empty if it does."""
    metadata = claim["metadata"]
    if any(owner.get("controller") and owner["uid"] == pod.uid for owner in metadata.get("ownerReferences") or ()):
        return ""
    return f"PVC {metadata['namespace']}/{metadata['name']} was not created for pod {pod.key} (pod is not owner)"


def concerns_claim_of(pod: PodInfo, event: ClusterEvent) -> bool:
    """Return whether the event concerns a claim of the pod."""
    key = _event_key(event)
    return any(claim.key == key for claim in pod_volume_claims(pod))


def concerns_named_claim_of(pod: PodInfo, event: ClusterEvent) -> bool:
    """Return whether the event concerns a claim that the pod refers to by name."""
    return _event_key(event) in named_volume_claims(pod)


def _event_key(event: ClusterEvent) -> Key:
    obj = event.new or event.old
    assert obj is not None, "an event has an object"
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
