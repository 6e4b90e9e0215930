"""AlwaysPullImages: make every container of a pod pull its image, so that its pull secrets are always checked."""

from collections.abc import Iterator

from mockkube.api.fields import not_supported
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin

_ALWAYS = "Always"
_CONTAINER_FIELDS = ("initContainers", "containers", "ephemeralContainers")


class AlwaysPullImages(AdmissionPlugin):
    """Sets the pull policy of all containers to Always."""

    # upstream 1.36: plugin/pkg/admission/alwayspullimages/admission.go
    name = "AlwaysPullImages"
    resources = (("", "pods"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Set the pull policies."""
        if _has_new_images(request):
            for _, holder, key in _pull_policies(request.new["spec"]):
                holder[key] = _ALWAYS

    def validate(self, request: AdmissionAttributes) -> None:
        """Reject other pull policies."""
        if not _has_new_images(request):
            return
        for at, holder, key in _pull_policies(request.new["spec"]):
            if holder.get(key) != _ALWAYS:
                raise new_forbidden(request, str(not_supported(f"{at}.{key}", holder.get(key, ""), (_ALWAYS,))))


def _pull_policies(spec: Object) -> Iterator[tuple[str, Object, str]]:
    """Yield path, holder and field name of each pull policy."""
    for group in _CONTAINER_FIELDS:
        for index, container in enumerate(spec.get(group) or ()):
            yield f"spec.{group}[{index}]", container, "imagePullPolicy"
    for index, volume in enumerate(spec.get("volumes") or ()):
        if volume.get("image") is not None:
            yield f"spec.volumes[{index}].image", volume["image"], "pullPolicy"


def _has_new_images(request: AdmissionAttributes) -> bool:
    if not request.is_for("", "pods"):
        return False
    # Updates are only checked if they bring new images, so that pods from before the plugin can still be updated.
    return request.old is None or not _images(request.new) <= _images(request.old)


def _images(pod: ReadOnlyObject) -> set[str]:
    return {one.get("image", "") for group in _CONTAINER_FIELDS for one in pod["spec"].get(group) or ()}
