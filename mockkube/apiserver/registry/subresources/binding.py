"""`pods/binding`: assign a pod to a node."""

from functools import cache
from types import ModuleType

from mockkube.api.errors import Conflict, aggregate_messages
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource, error_without_reason


async def bind(pods: Resource, scope: RequestScope, binding: ReadOnlyObject, options: WriteOptions) -> None:
    """Assign the pod to the node of the binding."""
    pod_binding = _import_rules()
    if errors := pod_binding.validate_binding(binding):
        raise error_without_reason(500, aggregate_messages(errors))
    preconditions = binding.get("metadata", {})

    def assign(pod: Object) -> Object:
        metadata = pod["metadata"]
        # A scheduler that decided about an earlier pod of this name, or an older state, must not bind this one.
        for what, field in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
            if preconditions.get(field) and preconditions[field] != metadata[field]:
                raise updating.precondition_failed(pods, scope, what, preconditions[field], metadata[field])
        bound = pod_binding.assign_pod(pod, binding, pods.strategy_context("binding"))
        if isinstance(bound, pod_binding.BindingConflict):
            raise Conflict.for_object("", "pods/binding", scope.name, bound.message)
        assert isinstance(bound, dict)
        return bound

    own = RequestScope(scope.user, scope.namespace, scope.name, "binding", scope.user_agent)
    # No admission plugin modifies parts of a pod that is being bound: the one that adds labels replaces them.
    await updating.update(pods, own, assign, options, managers_updated=True, only_reads=True)


@cache
def _import_rules() -> ModuleType:
    """Import the rules of bindings with the first one, because the pod's validation is large."""
    from mockkube.api.kinds.core.pod import binding as pod_binding

    return pod_binding
