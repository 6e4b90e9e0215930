"""`pods/binding`: the scheduler's word on where a pod runs."""

from mockkube.api.errors import Conflict, aggregate
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource, result_without_reason


async def bind(pods: Resource, call: Call, binding: ReadOnlyObject, options: WriteOptions) -> None:
    """Assign the pod to the node the binding names, once and for all."""
    # imported for the first binding: the rules of pods are large
    from mockkube.api.kinds.core.pod import binding as pod_binding

    if errors := pod_binding.validate_binding(binding):
        raise result_without_reason(500, aggregate(errors))
    asked = binding.get("metadata", {})

    def assigned(pod: Object) -> Object:
        metadata = pod["metadata"]
        for what, field in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
            if asked.get(field) and asked[field] != metadata[field]:
                raise updating.broken_precondition(pods, call, what, asked[field], metadata[field])
        bound = pod_binding.bind(pod, binding, pods.judge("binding"))
        if isinstance(bound, pod_binding.BindingRefused):
            raise Conflict.object("", "pods/binding", call.name, bound.text)
        return bound

    own = Call(call.user, call.namespace, call.name, "binding", call.user_agent)
    await updating.update(pods, own, assigned, options, tracked=True)
