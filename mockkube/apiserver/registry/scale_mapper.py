"""Mapping between a workload and its Scale: where replicas are read, written and managed."""

from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.field_set import Path
from mockkube.api.selectors import labels

_SCALE_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class ScaleMapper:
    """Mapping between built-in workloads and their Scale."""

    # Whether negative replicas are an error of the Scale; if not, of the object it is written to.
    validates_replicas = True

    def to_scale(self, obj: ReadOnlyObject) -> Object:
        """Return the Scale of an object."""
        spec, status = obj.get("spec", {}), obj.get("status", {})
        return make_scale(
            obj, spec.get("replicas", 0), status.get("replicas", 0), _format_selector(spec.get("selector"))
        )

    def to_current_scale(self, obj: ReadOnlyObject) -> Object:
        """Return the Scale that an update or patch starts from."""
        return self.to_scale(obj)

    def with_replicas(self, obj: ReadOnlyObject, scale: ReadOnlyObject) -> Object:
        """Return the object with the replicas of a Scale."""
        return {**obj, "spec": {**obj["spec"], "replicas": scale.get("spec", {}).get("replicas", 0)}}

    def replicas_paths(self, api_version: str) -> dict[str, Path | None]:
        """Return the path of the replicas field by version; `api_version` is the one being written."""
        return {api_version: ("f:spec", "f:replicas")}


def make_scale(obj: ReadOnlyObject, replicas: int, ready: int, selector: str) -> Object:
    """Return a Scale object."""
    metadata = {key: obj["metadata"][key] for key in _SCALE_METADATA if key in obj["metadata"]}
    scale: Object = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    scale["spec"] = {"replicas": replicas} if replicas else {}
    scale["status"] = {"replicas": ready}
    if selector:
        scale["status"]["selector"] = selector
    return scale


def _format_selector(selector: Any) -> str:
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(labels.from_label_selector(selector))
    # A ReplicationController has a plain map as selector.
    return str(labels.from_label_selector({"matchLabels": selector}))
