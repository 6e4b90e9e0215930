"""`scale`: the size of a workload as an object of its own."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

from mockkube.api.errors import Invalid, NotFound
from mockkube.api.fields import invalid
from mockkube.api.managed_fields.scale import bring_back, lend
from mockkube.api.selectors import labels
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import tracking, updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource

Change = Callable[[Object], Object]
_REPLICAS: Final = ("f:spec", "f:replicas")
_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


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


async def write(resource: Resource, call: Call, change: Change, options: WriteOptions) -> Object:
    """Change the scale of a stored object: `change` turns the current scale into the wanted one."""

    def resized(old: Object) -> Object:
        paths = {resource.api_version: _REPLICAS}
        entries = old["metadata"].get("managedFields", [])
        current = scale_of(old)
        if lent := lend(entries, paths):
            current["metadata"]["managedFields"] = lent
        wanted = change(current)
        _judge(resource, call, old, wanted)
        replicas = wanted.get("spec", {}).get("replicas", 0)
        metadata = {**old["metadata"], "resourceVersion": wanted["metadata"].get("resourceVersion", "")}
        managed = wanted["metadata"].get("managedFields", [])
        metadata["managedFields"] = bring_back(entries, managed, resource.api_version, paths)
        if not metadata["managedFields"]:
            del metadata["managedFields"]
        return {**old, "metadata": metadata, "spec": {**old["spec"], "replicas": replicas}}

    updated = await updating.update(resource, call, resized, options, tracked=True)
    return scale_of(updated.record.load())


def tracked(resource: Resource, call: Call, change: Change, options: WriteOptions) -> Change:
    """The same change, with its manager noted."""
    tracker = resource.services.trackers.scale()
    write_now = tracking.write_of(resource, call, options)
    return lambda current: tracker.update(current, change(deepcopy(current)), write_now)


def applied(resource: Resource, call: Call, document: Any, options: WriteOptions) -> Change:
    """The change that applies a document to the scale."""
    tracker = resource.services.trackers.scale()
    write_now = tracking.write_of(resource, call, options)
    given = document if isinstance(document, dict) else {}
    return lambda current: tracking.applied_by(tracker, resource, call, current, given, write_now, options)


def _judge(resource: Resource, call: Call, old: ReadOnlyObject, wanted: ReadOnlyObject) -> None:
    uid = wanted["metadata"].get("uid", "")
    if uid and uid != old["metadata"]["uid"]:
        raise updating.broken_precondition(resource, call, "UID", uid, old["metadata"]["uid"])
    replicas = wanted.get("spec", {}).get("replicas", 0)
    if replicas < 0:
        error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid("autoscaling", "Scale", call.name, [error])
