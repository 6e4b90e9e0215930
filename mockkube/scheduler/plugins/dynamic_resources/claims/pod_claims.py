"""Resource claims of a pod, and the reasons why they cannot be used.

upstream 1.36: dynamic-resource-allocation/resourceclaim/resourceclaim.go
"""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.matching.pod_claims import device_claim
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.assume_cache import AssumeCache


class ClaimNotUsable(Exception):
    """Raised when a claim of the pod does not exist, belongs to another pod, or is being deleted."""


def pod_resource_claims(pod: PodInfo, claims: AssumeCache) -> list[ReadOnlyObject]:
    """Return the pod's claims, except those that it does not need; raise ClaimNotUsable."""
    pod_claims = []
    for wanted in pod.spec.get("resourceClaims") or ():
        known = device_claim(pod.obj, wanted)
        if known.name:
            claim = _get_claim(Key(pod.namespace, known.name), claims)
            if known.generated:
                _check_owner(pod, claim)
            pod_claims.append(claim)
        # The controller may record that a template needs no claim for this pod; that is no error.
        elif not known.unneeded:
            raise ClaimNotUsable(_missing_claim_message(pod, wanted))
    return pod_claims


def _missing_claim_message(pod: PodInfo, wanted: ReadOnlyObject) -> str:
    if "resourceClaimTemplateName" in wanted:
        return f'pod "{pod.key}": ResourceClaim not created yet'
    return f'pod "{pod.key}", spec.resourceClaim "{wanted["name"]}": none of the supported fields are set'


def _get_claim(key: Key, claims: AssumeCache) -> ReadOnlyObject:
    claim = claims.get(key)
    if claim is None:
        raise ClaimNotUsable(f'could not find ResourceClaim "{key}"')
    if claim["metadata"].get("deletionTimestamp"):
        raise ClaimNotUsable(f'resourceclaim "{key.name}" is being deleted')
    return claim


def _check_owner(pod: PodInfo, claim: ReadOnlyObject) -> None:
    metadata = claim["metadata"]
    if not any(one.get("controller") and one["uid"] == pod.uid for one in metadata.get("ownerReferences") or ()):
        name = f"{metadata['namespace']}/{metadata['name']}"
        raise ClaimNotUsable(f"ResourceClaim {name} was not created for Pod {pod.key} (Pod is not owner)")


def allocation_of(claim: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the allocation of a claim; None if it has none."""
    allocation: ReadOnlyObject | None = (claim.get("status") or {}).get("allocation")
    return allocation


def is_reserved_for(claim: ReadOnlyObject, pod: PodInfo) -> bool:
    """Return whether the claim is reserved for the pod."""
    return any(one.get("uid") == pod.uid for one in (claim.get("status") or {}).get("reservedFor") or ())
