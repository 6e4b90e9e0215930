"""`pods/binding`: the scheduler's word on where a pod runs."""

from mockkube.api.errors import Conflict, aggregate
from mockkube.api.fields import FieldError, not_supported, required
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource, result_without_reason


def complaints(binding: ReadOnlyObject) -> list[FieldError]:
    """Judge a binding."""
    target, errors = binding.get("target") or {}, []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


async def bind(pods: Resource, call: Call, binding: ReadOnlyObject, options: WriteOptions) -> None:
    """Assign the pod to the node the binding names, once and for all."""
    # upstream 1.36: pkg/registry/core/pod/storage/storage.go
    if errors := complaints(binding):
        raise result_without_reason(500, aggregate(errors))
    asked = binding.get("metadata", {})
    now = render_time(pods.services.clock.now())

    def assigned(pod: Object) -> Object:
        metadata = pod["metadata"]
        for what, field in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
            if asked.get(field) and asked[field] != metadata[field]:
                raise updating.broken_precondition(pods, call, what, asked[field], metadata[field])
        if (why := _unassignable(pod, call.name)) is not None:
            raise Conflict.object("", "pods/binding", call.name, why)
        pod["spec"]["nodeName"] = binding["target"]["name"]
        for extra in ("annotations", "labels"):
            if asked.get(extra):
                metadata[extra] = {**metadata.get(extra, {}), **asked[extra]}
        _set_scheduled(pod, now)
        return pod

    own = Call(call.user, call.namespace, call.name, "binding", call.user_agent)
    await updating.update(pods, own, assigned, options, tracked=True)


def _unassignable(pod: ReadOnlyObject, name: str) -> str | None:
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if node := pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{node}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return None


def _set_scheduled(pod: Object, now: str) -> None:
    conditions = pod["status"].setdefault("conditions", [])
    found = next((one for one in conditions if one["type"] == "PodScheduled"), None)
    if found is None:
        scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        conditions.append(scheduled)
        return
    if found["status"] != "True":
        found["lastTransitionTime"] = now
    found["status"] = "True"
    for name in ("reason", "message"):
        found.pop(name, None)
