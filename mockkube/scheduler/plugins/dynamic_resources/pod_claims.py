"""The claims of a pod: which they are, and what keeps it from using them.

upstream 1.36: dynamic-resource-allocation/resourceclaim/resourceclaim.go
"""

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.matching.pod_claims import device_claim
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.assumed import AssumedObjects


class Unusable(Exception):
    """A claim of the pod is not there, not its own, or about to go."""


def claims_of(pod: PodInfo, claims: AssumedObjects) -> list[ReadOnlyObject]:
    """Return the pod's claims, but for those it intentionally has none for; raise Unusable."""
    found = []
    for wanted in pod.spec.get("resourceClaims") or ():
        known = device_claim(pod.obj, wanted)
        if known.name:
            claim = _existing(Key(pod.namespace, known.name), claims)
            if known.generated:
                _check_owner(pod, claim)
            found.append(claim)
        elif not known.unneeded:
            raise Unusable(_why_none(pod, wanted))
    return found


def _why_none(pod: PodInfo, wanted: ReadOnlyObject) -> str:
    if "resourceClaimTemplateName" in wanted:
        return f'pod "{pod.key}": ResourceClaim not created yet'
    return f'pod "{pod.key}", spec.resourceClaim "{wanted["name"]}": none of the supported fields are set'


def _existing(key: Key, claims: AssumedObjects) -> ReadOnlyObject:
    claim = claims.get(key)
    if claim is None:
        raise Unusable(f'could not find ResourceClaim "{key}"')
    if claim["metadata"].get("deletionTimestamp"):
        raise Unusable(f'resourceclaim "{key.name}" is being deleted')
    return claim


def _check_owner(pod: PodInfo, claim: ReadOnlyObject) -> None:
    metadata = claim["metadata"]
    if not any(one.get("controller") and one["uid"] == pod.uid for one in metadata.get("ownerReferences") or ()):
        name = f"{metadata['namespace']}/{metadata['name']}"
        raise Unusable(f"ResourceClaim {name} was not created for Pod {pod.key} (Pod is not owner)")


def allocation_of(claim: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return what a claim has been given; None if nothing yet."""
    allocation: ReadOnlyObject | None = (claim.get("status") or {}).get("allocation")
    return allocation


def reserved_for(claim: ReadOnlyObject, pod: PodInfo) -> bool:
    """Whether the pod is among those that may use the claim."""
    return any(one.get("uid") == pod.uid for one in (claim.get("status") or {}).get("reservedFor") or ())
