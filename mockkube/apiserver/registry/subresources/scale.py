"""`scale`: the size of a workload as an object of its own."""

from collections.abc import Callable
from typing import Any

from mockkube.api.errors import Invalid, NotFound
from mockkube.api.fields import invalid
from mockkube.api.selectors import labels
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: ReadOnlyObject) -> Object:
    """The scale of a workload."""
    spec, status = obj.get("spec", {}), obj.get("status", {})
    metadata = {key: obj["metadata"][key] for key in _KEPT if key in obj["metadata"]}
    scale: Object = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    scale["spec"] = {"replicas": spec["replicas"]} if spec.get("replicas") else {}
    scale["status"] = {"replicas": status.get("replicas", 0)}
    if selector := _selector(spec.get("selector")):
        scale["status"]["selector"] = selector
    return scale


def _selector(selector: Any) -> str:
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(labels.from_label_selector(selector))
    return str(labels.from_label_selector({"matchLabels": selector}))


async def read(resource: Resource, call: Call) -> Object:
    """The scale of a stored object."""
    await resource.services.cache.fresh()
    record = resource.record(call.namespace, call.name)
    if record is None:
        raise NotFound.object(resource.group, resource.plural, call.name)
    return scale_of(record.load())


async def write(resource: Resource, call: Call, change: Callable[[Object], Object], options: WriteOptions) -> Object:
    """Change the scale of a stored object: `change` turns the current scale into the wanted one."""

    def resized(old: Object) -> Object:
        wanted = change(scale_of(old))
        uid = wanted["metadata"].get("uid", "")
        if uid and uid != old["metadata"]["uid"]:
            raise updating.broken_precondition(resource, call, "UID", uid, old["metadata"]["uid"])
        replicas = wanted.get("spec", {}).get("replicas", 0)
        if replicas < 0:
            error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise Invalid("autoscaling", "Scale", call.name, [error])
        metadata = {**old["metadata"], "resourceVersion": wanted["metadata"].get("resourceVersion", "")}
        return {**old, "metadata": metadata, "spec": {**old["spec"], "replicas": replicas}}

    updated = await updating.update(resource, call, resized, options)
    return scale_of(updated.record.load())
