"""Subresources that are more than a part of their object, as components of the same process use them."""

from collections.abc import Callable
from typing import Any, Final

from mockkube.api import complaints
from mockkube.api.codec import Found, Mismatch
from mockkube.api.errors import BadRequest, MethodNotAllowed
from mockkube.api.types import Object
from mockkube.apiserver.http.exchange import status_success
from mockkube.apiserver.registry import options, patching
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch, PatchType
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.apiserver.registry.subresources import binding, eviction, scale

_BINDING: Final = "io.k8s.api.core.v1.Binding"
_EVICTION: Final = "io.k8s.api.policy.v1.Eviction"
_SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"


async def post(resource: Resource, call: Call, given: Object, wanted: WriteOptions) -> Object:
    """Act on an object: bind a pod, evict it."""
    match call.subresource:
        case "binding":
            await binding.bind(resource, call, _decoded(resource, _BINDING, given), wanted)
        case "eviction":
            asked = _decoded(resource, _EVICTION, given).get("deleteOptions") or {}
            await eviction.evict(resource, call, options.delete_options({}, asked))
        case _:
            raise MethodNotAllowed
    return status_success(code=201)


async def put_scale(resource: Resource, call: Call, given: Object, wanted: WriteOptions) -> Object:
    """Set the scale of a workload."""
    wished = _decoded(resource, _SCALE, given)
    change = scale.tracked(resource, call, lambda _: wished, wanted)
    return await scale.write(resource, call, change, wanted)


async def patch_scale(resource: Resource, call: Call, given: Patch, wanted: WriteOptions) -> Object:
    """Change the scale of a workload as a patch says."""
    node = resource.services.codec.schema.node(_SCALE)
    if given.type is PatchType.JSON:
        patching.operations(given, typed=False)

    def patched(current: Object) -> Object:
        return _decoded(resource, _SCALE, patching.patched(node, given, current))

    def applied(current: Object) -> Object:
        return _decoded(resource, _SCALE, scale.applied(resource, call, given.document, wanted)(current))

    change: Callable[[Object], Object] = applied
    if given.type is not PatchType.APPLY:
        change = scale.tracked(resource, call, patched, wanted)
    return await scale.write(resource, call, change, wanted)


def _decoded(resource: Resource, definition: str, value: Any) -> Object:
    codec = resource.services.codec
    node = codec.schema.node(definition)
    try:
        obj = codec.decode(node, value, Found())
    except Mismatch as error:
        raise BadRequest(complaints.mismatch(node, value)) from error
    obj.setdefault("metadata", {})
    return obj
