"""Claims of a StatefulSet's pods: templates, and owners by the retention policy.

upstream 1.36: pkg/controller/statefulset/stateful_set_utils.go
"""

from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.framework.controller_ref_manager import new_controller_ref
from mockkube.controllers.statefulset.identity import (
    API_VERSION,
    KIND,
    claim_name,
    claim_templates,
    ordinal_of,
    ordinals,
)

RETAIN: Final = "Retain"
CLAIM: Final = "PersistentVolumeClaim"


def persistent_volume_claims(owner: ReadOnlyObject, pod: ReadOnlyObject) -> list[Object]:
    """Return the claims a pod needs, with the labels of the set's selector."""
    selected = (owner["spec"].get("selector") or {}).get("matchLabels") or {}

    def claim(template: ReadOnlyObject) -> Object:
        metadata = {
            **template["metadata"],
            "name": claim_name(owner, template, ordinal_of(pod)),
            "namespace": owner["metadata"]["namespace"],
            "labels": {**(template["metadata"].get("labels") or {}), **selected},
        }
        return {**template, "apiVersion": "v1", "kind": CLAIM, "metadata": metadata}

    return [claim(template) for template in claim_templates(owner)]


def retains_claims_when_scaled(owner: ReadOnlyObject) -> bool:
    """Return whether claims are retained when the set is scaled down."""
    return _retention_policy(owner, "whenScaled") == RETAIN


def _retention_policy(owner: ReadOnlyObject, moment: str) -> str:
    policy: str = (owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}).get(moment) or RETAIN
    return policy


def _owner_references(claim: ReadOnlyObject) -> list[Object]:
    return list(claim["metadata"].get("ownerReferences") or ())


def _refers_to(reference: ReadOnlyObject, obj: ReadOnlyObject, api_version: str, kind: str) -> bool:
    named = (reference.get("apiVersion"), reference.get("kind"), reference.get("name"))
    return named == (api_version, kind, obj["metadata"]["name"])


def _refers_to_either(reference: ReadOnlyObject, owner: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    return _refers_to(reference, owner, API_VERSION, KIND) or _refers_to(reference, pod, "v1", "Pod")


def _is_owned_by(claim: ReadOnlyObject, obj: ReadOnlyObject) -> bool:
    uid = obj["metadata"].get("uid", "")
    return any(reference.get("uid") == uid for reference in _owner_references(claim))


def _has_stale_owner_ref(claim: ReadOnlyObject, obj: ReadOnlyObject, api_version: str, kind: str) -> bool:
    uid = obj["metadata"].get("uid", "")
    known = next((one for one in _owner_references(claim) if _refers_to(one, obj, api_version, kind)), None)
    return known is not None and bool(known["uid"] != uid)


def has_stale_pod_owner(claim: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    """Return whether an earlier pod of the same name owns a claim, which is deleted with it."""
    return _has_stale_owner_ref(claim, pod, "v1", "Pod")


def has_unexpected_controller(claim: ReadOnlyObject, owner: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    """Return whether another controller owns a claim that the policy could delete."""
    # With Retain for both the set never owns claims, so other owners do not matter.
    if _retention_policy(owner, "whenScaled") == RETAIN and _retention_policy(owner, "whenDeleted") == RETAIN:
        return False
    return any(_is_unexpected_controller(reference, owner, pod) for reference in _owner_references(claim))


def _is_unexpected_controller(reference: ReadOnlyObject, owner: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    if _refers_to(reference, owner, API_VERSION, KIND):
        return bool(reference["uid"] != owner["metadata"]["uid"])
    if _refers_to(reference, pod, "v1", "Pod"):
        return bool(reference["uid"] != pod["metadata"].get("uid", ""))
    return bool(reference.get("controller"))


def _wanted_owners(owner: ReadOnlyObject, pod: ReadOnlyObject) -> tuple[bool, bool]:
    """Return whether the set, and whether the pod, should own the claims."""
    # A pod beyond the replicas owns its claims, so that they are deleted together with it.
    scaled_away = ordinal_of(pod) not in ordinals(owner)
    if retains_claims_when_scaled(owner):
        return _retention_policy(owner, "whenDeleted") != RETAIN, False
    return _retention_policy(owner, "whenDeleted") != RETAIN and not scaled_away, scaled_away


def is_claim_owner_up_to_date(claim: ReadOnlyObject, owner: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    """Return whether a claim has the owners of the policy, or is not to be touched."""
    # A stale owner reference lets the garbage collector delete the claim: changing it now would race with that.
    if _has_stale_owner_ref(claim, owner, API_VERSION, KIND) or has_stale_pod_owner(claim, pod):
        return True
    owned = _is_owned_by(claim, owner), _is_owned_by(claim, pod)
    if has_unexpected_controller(claim, owner, pod):
        return not any(owned)
    uids = (owner["metadata"]["uid"], pod["metadata"].get("uid", ""))
    if any(one.get("uid") in uids and not one.get("controller") for one in _owner_references(claim)):
        return False
    return owned == _wanted_owners(owner, pod)


def with_updated_owner_refs(claim: ReadOnlyObject, owner: ReadOnlyObject, pod: ReadOnlyObject) -> Object:
    """Return a claim with the owners of the policy; with neither if another controller owns it."""
    references = [one for one in _owner_references(claim) if not _refers_to_either(one, owner, pod)]
    if not has_unexpected_controller(claim, owner, pod):
        by_set, by_pod = _wanted_owners(owner, pod)
        references += [new_controller_ref(owner, API_VERSION, KIND)] if by_set else []
        references += [new_controller_ref(pod, "v1", "Pod")] if by_pod else []
    return {**claim, "metadata": {**claim["metadata"], "ownerReferences": references}}
