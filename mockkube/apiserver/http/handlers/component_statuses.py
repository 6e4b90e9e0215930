"""Handlers of ComponentStatuses, which are computed for each request and not stored."""

# upstream 1.36: pkg/registry/core/componentstatus/rest.go
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from mockkube.api.errors import MethodNotAllowed, NotFound
from mockkube.api.json_objects import Object
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.http.responses import rendering
from mockkube.apiserver.registry import encoding, listing, options
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.listing import ListResult
from mockkube.apiserver.registry.resource import Resource

KIND: Final = ("", "componentstatuses")
_HEALTHY: Final = "ok"
_PORTS: Final[Mapping[str, tuple[str, int]]] = {
    "scheduler": ("kube-scheduler", 10259),
    "controller-manager": ("kube-controller-manager", 10257),
}


def find_handler(info: RequestInfo) -> Callable[[ResourceRequest], Awaitable[web.StreamResponse]]:
    """Return the handler of a verb; raise MethodNotAllowed if there is none."""
    match info.verb:
        case "get" if info.name:
            return get_component_status
        case "list":
            return list_component_statuses
        case "watch":
            raise MethodNotAllowed.for_verb("", "componentstatuses", "watch")
    raise MethodNotAllowed


async def get_component_status(request: ResourceRequest) -> web.StreamResponse:
    """Answer with one component status."""
    for obj in _build_statuses(request.resource):
        if obj["metadata"]["name"] == request.scope.name:
            return await request.respond_object(_encode_status(request.resource, obj))
    raise NotFound.for_object("", "componentstatus", request.scope.name)


async def list_component_statuses(request: ResourceRequest) -> web.StreamResponse:
    """Answer with the selected component statuses."""
    representation = request.representation
    list_options = options.parse_list_options(request.context.query)
    chosen = listing.build_filter(request.resource, list_options)
    cached_objects = [_encode_status(request.resource, obj) for obj in _build_statuses(request.resource)]
    found = ListResult([cached for cached in cached_objects if chosen is None or chosen(cached)], 0)
    body = rendering.render_list(request.resource, found, representation, request.context.output_options())
    return request.context.respond(body, media=representation.media)


def _build_statuses(resource: Resource) -> list[Object]:
    runs = resource.dependencies.is_component_running
    messages = {
        name: _HEALTHY if runs(component) else _connection_refused(port) for name, (component, port) in _PORTS.items()
    }
    return [_build_status(name, text) for name, text in {**messages, "etcd-0": _HEALTHY}.items()]


def _connection_refused(port: int) -> str:
    """Return upstream's message for a component that does not listen."""
    address = f"127.0.0.1:{port}"
    return f'Get "https://{address}/healthz": dial tcp {address}: connect: connection refused'


def _build_status(name: str, message: str) -> Object:
    healthy = "True" if message == _HEALTHY else "False"
    return {"metadata": {"name": name}, "conditions": [{"type": "Healthy", "status": healthy, "message": message}]}


def _encode_status(resource: Resource, obj: Object) -> CachedObject:
    head = {"kind": resource.kind.kind, "apiVersion": resource.api_version}
    body = encoding.dumps(encoding.order_fields({**obj, **head}))
    return CachedObject(
        "", obj["metadata"]["name"], "", 0, resource.head, body[len(resource.head) :], resource.get_attributes
    )
