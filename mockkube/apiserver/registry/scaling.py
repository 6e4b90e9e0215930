"""How large an object is: where that is read and written, for the scale that shows it."""

from typing import Any, Final

from mockkube.api.managed_fields.field_set import Path
from mockkube.api.selectors import labels
from mockkube.api.types import Object, ReadOnlyObject

_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class Scaling:
    """What a scale shows of a built-in workload, and how that gets another size."""

    judged = True
    """Whether the number of replicas is judged as that of a scale; if not, as that of the object."""

    def of(self, obj: ReadOnlyObject) -> Object:
        """Return the scale of an object."""
        spec, status = obj.get("spec", {}), obj.get("status", {})
        return shown(obj, spec.get("replicas", 0), status.get("replicas", 0), _selector(spec.get("selector")))

    def current(self, obj: ReadOnlyObject) -> Object:
        """Return the scale that a change of it begins with."""
        return self.of(obj)

    def resized(self, obj: ReadOnlyObject, scale: ReadOnlyObject) -> Object:
        """Return the object with the size of a scale."""
        return {**obj, "spec": {**obj["spec"], "replicas": scale.get("spec", {}).get("replicas", 0)}}

    def paths(self, api_version: str) -> dict[str, Path | None]:
        """Return, by version, where the size is managed; `api_version` is the one that is written."""
        return {api_version: ("f:spec", "f:replicas")}


def shown(obj: ReadOnlyObject, replicas: int, ready: int, selector: str) -> Object:
    """Return a scale."""
    metadata = {key: obj["metadata"][key] for key in _KEPT if key in obj["metadata"]}
    scale: Object = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    scale["spec"] = {"replicas": replicas} if replicas else {}
    scale["status"] = {"replicas": ready}
    if selector:
        scale["status"]["selector"] = selector
    return scale


def _selector(selector: Any) -> str:
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(labels.from_label_selector(selector))
    return str(labels.from_label_selector({"matchLabels": selector}))
