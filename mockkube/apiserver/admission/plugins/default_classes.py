"""DefaultStorageClass and DefaultIngressClass: set the default class where none is named."""

from typing import Final

from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

_STORAGE_DEFAULT_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_INGRESS_DEFAULT_ANNOTATIONS: Final = ("ingressclass.kubernetes.io/is-default-class",)
STORAGE_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
INGRESS_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"


class DefaultStorageClass(AdmissionPlugin):
    """Sets the default storage class on claims that name none."""

    # upstream 1.36: plugin/pkg/admission/storage/storageclass/setdefault/admission.go
    name = "DefaultStorageClass"
    resources = (("", "persistentvolumeclaims"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Complete a new claim; the class "" means that it wants none."""
        if request.operation is not Operation.CREATE or not request.is_for("", "persistentvolumeclaims"):
            return
        spec = request.new["spec"]
        if spec.get("storageClassName") is not None or STORAGE_CLASS_ANNOTATION in request.annotations:
            return
        name = _find_default_class(request, "storage.k8s.io", "storageclasses", _STORAGE_DEFAULT_ANNOTATIONS)
        if name is not None:
            spec["storageClassName"] = name


class DefaultIngressClass(AdmissionPlugin):
    """Sets the default ingress class on ingresses that name none."""

    # upstream 1.36: plugin/pkg/admission/network/defaultingressclass/admission.go
    name = "DefaultIngressClass"
    resources = (("networking.k8s.io", "ingresses"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Complete a new ingress."""
        if request.operation is not Operation.CREATE or not request.is_for("networking.k8s.io", "ingresses"):
            return
        spec = request.new.setdefault("spec", {})
        if spec.get("ingressClassName") is not None or INGRESS_CLASS_ANNOTATION in request.annotations:
            return
        name = _find_default_class(request, "networking.k8s.io", "ingressclasses", _INGRESS_DEFAULT_ANNOTATIONS)
        if name is not None:
            spec["ingressClassName"] = name


def _find_default_class(request: AdmissionAttributes, group: str, plural: str, marks: tuple[str, ...]) -> str | None:
    """Return the newest class marked as default, the first by name among equally old ones."""
    # upstream 1.36: pkg/volume/util/storageclass.go, GetDefaultClass
    collection = request.find_resource(group, plural).collection
    all_metadata = (cached.load()["metadata"] for cached in collection.range(collection.prefix))
    marked = [one for one in all_metadata if any((one.get("annotations") or {}).get(mark) == "true" for mark in marks)]
    if not marked:
        return None
    newest = max(one["creationTimestamp"] for one in marked)
    names: list[str] = [one["name"] for one in marked if one["creationTimestamp"] == newest]
    return min(names)
