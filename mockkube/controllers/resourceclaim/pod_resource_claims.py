"""ResourceClaims of pods: generated names, owners and reservations.

upstream 1.36: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim
"""

from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.framework.controller_ref_manager import controller_of, has_deletion_timestamp
from mockkube.matching.pods import is_finished

RESERVED_MAX: Final = 256
# Longest generateName that leaves room for a hyphen and five characters in a name of 63.
_BASE_MAX: Final = 57


def claim_name_prefix(pod: str, claim: str) -> str:
    """Return the generateName of a pod's claim, with as much of both names as fits."""
    text = f"{pod}-{claim}-"
    if len(text) <= _BASE_MAX:
        return text
    return f"{pod[: len(pod) * _BASE_MAX // len(text)]}-{claim[: len(claim) * _BASE_MAX // len(text)]}"


def is_pod_done(pod: ReadOnlyObject) -> bool:
    """Return whether a pod needs its claims no more: finished, or deleted before it was bound."""
    if is_finished(pod):
        return True
    # A terminating pod on a node may still run, and the kubelet needs its devices until it ends.
    return has_deletion_timestamp(pod) and not pod["spec"].get("nodeName")


def owner_pod_uid(claim: ReadOnlyObject) -> str:
    """Return the uid of the pod a claim was created for; empty if for none."""
    owner = controller_of(claim)
    return owner["uid"] if owner is not None and owner["kind"] == "Pod" else ""


def can_reserve(claim: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    """Return whether an allocated claim is not reserved for a pod yet and has room for it."""
    status = claim.get("status", {})
    reserved = status.get("reservedFor", ())
    is_reserved = any(one["uid"] == pod["metadata"]["uid"] for one in reserved)
    return "allocation" in status and not is_reserved and len(reserved) < RESERVED_MAX


def with_reservation(claim: ReadOnlyObject, pod: ReadOnlyObject) -> Object:
    """Return the claim with a reservation for one more pod."""
    status, metadata = claim.get("status", {}), pod["metadata"]
    consumer = {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
    return {**claim, "status": {**status, "reservedFor": [*status.get("reservedFor", ()), consumer]}}
