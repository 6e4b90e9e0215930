"""AlwaysPullImages: make every container of a pod pull its image, so that its pull secrets are always checked."""

from collections.abc import Iterator

from mockkube.api.fields import not_supported
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Plugin, Request

_ALWAYS = "Always"
_GROUPS = ("initContainers", "containers", "ephemeralContainers")


class AlwaysPullImages(Plugin):
    """Sets the pull policy of all containers to Always."""

    # upstream 1.36: plugin/pkg/admission/alwayspullimages/admission.go
    name = "AlwaysPullImages"

    def admit(self, request: Request) -> None:
        """Set the pull policies."""
        if _concerns(request):
            for _, holder, key in _policies(request.given["spec"]):
                holder[key] = _ALWAYS

    def validate(self, request: Request) -> None:
        """Reject other pull policies."""
        if not _concerns(request):
            return
        for at, holder, key in _policies(request.given["spec"]):
            if holder.get(key) != _ALWAYS:
                raise refuse(request, str(not_supported(f"{at}.{key}", holder.get(key, ""), (_ALWAYS,))))


def _policies(spec: Object) -> Iterator[tuple[str, Object, str]]:
    """Yield path, holder and field name of each pull policy."""
    for group in _GROUPS:
        for index, container in enumerate(spec.get(group) or ()):
            yield f"spec.{group}[{index}]", container, "imagePullPolicy"
    for index, volume in enumerate(spec.get("volumes") or ()):
        if volume.get("image") is not None:
            yield f"spec.volumes[{index}].image", volume["image"], "pullPolicy"


def _concerns(request: Request) -> bool:
    if not request.about("", "pods"):
        return False
    # Updates are only checked if they bring new images, so that pods from before the plugin can still be updated.
    return request.old is None or not _images(request.given) <= _images(request.old)


def _images(pod: ReadOnlyObject) -> set[str]:
    return {one.get("image", "") for group in _GROUPS for one in pod["spec"].get(group) or ()}
