"""StorageObjectInUseProtection: keep volumes, claims and attribute classes until they are unused."""

from typing import Final

from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

_FINALIZERS: Final = {
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(AdmissionPlugin):
    """Adds the finalizer that a controller removes when the object is unused."""

    # upstream 1.36: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go
    name = "StorageObjectInUseProtection"
    resources = tuple(_FINALIZERS)

    def admit(self, request: AdmissionAttributes) -> None:
        """Add the finalizer to a new object."""
        if request.operation is not Operation.CREATE or request.scope.subresource:
            return
        storage_resource = request.resource.storage_resource
        finalizer = _FINALIZERS.get((storage_resource.group, storage_resource.plural))
        if finalizer is None or (
            storage_resource.group and not storage_resource.dependencies.capabilities.enabled("VolumeAttributesClass")
        ):
            return
        metadata = request.new["metadata"]
        if finalizer not in metadata.get("finalizers", ()):
            metadata["finalizers"] = [*metadata.get("finalizers", ()), finalizer]
