"""`pods/binding`: assign a pod to a node."""

from mockkube.api.errors import Conflict, aggregate_messages
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource, result_without_reason


async def bind(pods: Resource, call: Call, binding: ReadOnlyObject, options: WriteOptions) -> None:
    """Assign the pod to the node of the binding."""
    # Imported with the first binding, because the pod's validation is large.
    from mockkube.api.kinds.core.pod import binding as pod_binding

    if errors := pod_binding.validate_binding(binding):
        raise result_without_reason(500, aggregate_messages(errors))
    preconditions = binding.get("metadata", {})

    def assigned(pod: Object) -> Object:
        metadata = pod["metadata"]
        # A scheduler that decided about an earlier pod of this name, or an older state, must not bind this one.
        for what, field in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
            if preconditions.get(field) and preconditions[field] != metadata[field]:
                raise updating.broken_precondition(pods, call, what, preconditions[field], metadata[field])
        bound = pod_binding.assign_pod(pod, binding, pods.judge("binding"))
        if isinstance(bound, pod_binding.BindingConflict):
            raise Conflict.for_object("", "pods/binding", call.name, bound.message)
        return bound

    own = Call(call.user, call.namespace, call.name, "binding", call.user_agent)
    await updating.update(pods, own, assigned, options, tracked=True)
