"""Conditions and finalizer of CRDs: names accepted, established, terminating."""

# upstream 1.36: apiextensions-apiserver/pkg/apihelpers/helpers.go, pkg/registry/customresourcedefinition/etcd.go

from typing import Final

from mockkube.api import conditions
from mockkube.api.json_objects import Object, ReadOnlyObject

FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"


def is_condition_true(definition: ReadOnlyObject, kind: str) -> bool:
    """Return whether a condition of a CRD is true."""
    known = (definition.get("status") or {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in known)


def with_condition(definition: ReadOnlyObject, wanted: ReadOnlyObject, now: str) -> Object:
    """Return the CRD with the condition; lastTransitionTime changes only with the status of the condition."""
    status = definition.get("status") or {}
    known = status.get("conditions") or ()
    return {**definition, "status": {**status, "conditions": conditions.with_condition(known, wanted, now)}}


def mark_for_deletion(definition: Object, now: str) -> Object:
    """Return the CRD marked for deletion, with the finalizer that keeps it until its objects are gone."""
    metadata = {**definition["metadata"], "deletionTimestamp": now}
    finalizers = metadata.get("finalizers") or []
    metadata["finalizers"] = [*finalizers, *([] if FINALIZER in finalizers else [FINALIZER])]
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    pending = conditions.make_condition(TERMINATING, holds=True, reason="InstanceDeletionPending", message=message)
    return with_condition({**definition, "metadata": metadata}, pending, now)


def needs_finalization(definition: ReadOnlyObject) -> bool:
    """Return whether the objects of a CRD are still to be deleted."""
    metadata = definition["metadata"]
    return "deletionTimestamp" in metadata and FINALIZER in (metadata.get("finalizers") or ())


def without_finalizer(definition: ReadOnlyObject) -> Object:
    """Return the CRD without the finalizer, after its objects were deleted."""
    metadata = dict(definition["metadata"])
    metadata["finalizers"] = [one for one in metadata.get("finalizers") or () if one != FINALIZER]
    if not metadata["finalizers"]:
        del metadata["finalizers"]
    return {**definition, "metadata": metadata}
