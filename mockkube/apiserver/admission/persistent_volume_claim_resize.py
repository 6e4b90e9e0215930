"""PersistentVolumeClaimResize: allow a claim to grow only if its storage class does."""

from mockkube.api.quantity import parse
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.default_classes import STORAGE_CLASS
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request


class PersistentVolumeClaimResize(Plugin):
    """Rejects expansion of claims that are unbound, or whose class does not allow it."""

    # upstream 1.36: plugin/pkg/admission/storage/persistentvolume/resize/admission.go
    name = "PersistentVolumeClaimResize"

    def validate(self, request: Request) -> None:
        """Check updates that request more storage."""
        if request.operation is not Operation.UPDATE or not request.about("", "persistentvolumeclaims"):
            return
        assert request.old is not None
        if parse(_size(request.given)) <= parse(_size(request.old)):
            return
        if (request.old.get("status") or {}).get("phase") != "Bound":
            raise refuse(request, "Only bound persistent volume claims can be expanded")
        if not _expandable(request, request.given, request.old):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize"
            )
            raise refuse(request, why)


def _size(claim: ReadOnlyObject) -> str:
    size: str = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
    return size


def _expandable(request: Request, claim: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    name = _class_of(claim)
    if not name or name != _class_of(old):
        return False
    record = request.find("storage.k8s.io", "storageclasses").record("", name)
    return record is not None and bool(record.load().get("allowVolumeExpansion"))


def _class_of(claim: ReadOnlyObject) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return annotations.get(STORAGE_CLASS) or claim["spec"].get("storageClassName") or ""
