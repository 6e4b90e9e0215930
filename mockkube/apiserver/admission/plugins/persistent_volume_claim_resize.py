"""PersistentVolumeClaimResize: allow a claim to grow only if its storage class does."""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.admission.plugins.default_classes import STORAGE_CLASS_ANNOTATION
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation


class PersistentVolumeClaimResize(AdmissionPlugin):
    """Rejects expansion of claims that are unbound, or whose class does not allow it."""

    # upstream 1.36: plugin/pkg/admission/storage/persistentvolume/resize/admission.go
    name = "PersistentVolumeClaimResize"
    resources = (("", "persistentvolumeclaims"),)

    def validate(self, request: AdmissionAttributes) -> None:
        """Check updates that request more storage."""
        if request.operation is not Operation.UPDATE or not request.is_for("", "persistentvolumeclaims"):
            return
        assert request.old is not None
        if parse(_requested_size(request.new)) <= parse(_requested_size(request.old)):
            return
        if (request.old.get("status") or {}).get("phase") != "Bound":
            raise new_forbidden(request, "Only bound persistent volume claims can be expanded")
        if not _is_expandable(request, request.new, request.old):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize"
            )
            raise new_forbidden(request, why)


def _requested_size(claim: ReadOnlyObject) -> str:
    size: str = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
    return size


def _is_expandable(request: AdmissionAttributes, claim: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    name = _storage_class(claim)
    if not name or name != _storage_class(old):
        return False
    cached = request.find_resource("storage.k8s.io", "storageclasses").get_cached("", name)
    return cached is not None and bool(cached.load().get("allowVolumeExpansion"))


def _storage_class(claim: ReadOnlyObject) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return annotations.get(STORAGE_CLASS_ANNOTATION) or claim["spec"].get("storageClassName") or ""
