"""Subresources that are more than a part of their object, as components of the same process use them."""

from typing import Any, Final

from mockkube.api import complaints
from mockkube.api.codec import Found, Mismatch
from mockkube.api.errors import BadRequest, MethodNotAllowed
from mockkube.api.types import Object
from mockkube.apiserver.http.exchange import status_success
from mockkube.apiserver.registry import options
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.apiserver.registry.subresources import binding, eviction, scale

_BINDING: Final = "io.k8s.api.core.v1.Binding"
_EVICTION: Final = "io.k8s.api.policy.v1.Eviction"


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
    return await scale.put(resource, call, _decoded(resource, scale.SCALE, given), wanted)


async def patch_scale(resource: Resource, call: Call, given: Patch, wanted: WriteOptions) -> Object:
    """Change the scale of a workload as a patch says."""

    def decode(value: Any) -> Object:
        return _decoded(resource, scale.SCALE, value)

    return await scale.patch(resource, call, given, wanted, decode)


def _decoded(resource: Resource, definition: str, value: Any) -> Object:
    codec = resource.services.codec
    node = codec.schema.node(definition)
    try:
        obj = codec.decode(node, value, Found())
    except Mismatch as error:
        raise BadRequest(complaints.mismatch(node, value)) from error
    obj.setdefault("metadata", {})
    return obj
