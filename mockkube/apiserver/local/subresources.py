"""Subresources scale, binding and eviction for components of the process."""

from typing import Any, Final

from mockkube.api.decoding import decoding_errors
from mockkube.api.decoding.codec import DecodingError, DecodingState
from mockkube.api.errors import BadRequest, MethodNotAllowed
from mockkube.api.json_objects import Object
from mockkube.apiserver.http.requests.request_context import status_success
from mockkube.apiserver.registry import options
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.subresources import binding, eviction, scale

_BINDING: Final = "io.k8s.api.core.v1.Binding"
_EVICTION: Final = "io.k8s.api.policy.v1.Eviction"


async def read_subresource(resource: Resource, scope: RequestScope) -> Object:
    """Return the Scale of a workload."""
    if scope.subresource != "scale":
        raise MethodNotAllowed
    return await scale.read_scale(resource, scope)


async def create_subresource(
    resource: Resource, scope: RequestScope, given: Object, write_options: WriteOptions
) -> Object:
    """Bind or evict a pod."""
    match scope.subresource:
        case "binding":
            await binding.bind(resource, scope, _decode(resource, _BINDING, given), write_options)
        case "eviction":
            delete_options = _decode(resource, _EVICTION, given).get("deleteOptions") or {}
            await eviction.evict(resource, scope, options.parse_delete_options({}, delete_options))
        case _:
            raise MethodNotAllowed
    return status_success(code=201)


async def update_scale(resource: Resource, scope: RequestScope, given: Object, write_options: WriteOptions) -> Object:
    """Set the replicas of a workload."""
    return await scale.replace_scale(resource, scope, _decode(resource, scale.SCALE_SCHEMA, given), write_options)


async def patch_scale(resource: Resource, scope: RequestScope, patch: Patch, write_options: WriteOptions) -> Object:
    """Apply a patch to the Scale of a workload."""

    def decode(value: Any) -> Object:
        return _decode(resource, scale.SCALE_SCHEMA, value)

    return await scale.patch_scale(resource, scope, patch, write_options, decode)


def _decode(resource: Resource, definition: str, value: Any) -> Object:
    codec = resource.dependencies.codec
    node = codec.schema.get_type(definition)
    try:
        obj = codec.decode(node, value, DecodingState())
    except DecodingError as error:
        raise BadRequest(decoding_errors.find_decoding_error(node, value)) from error
    obj.setdefault("metadata", {})
    return obj
