"""Handlers of subresources: scale, binding, eviction, log, connect, token, and parts that are written alone."""

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api.catalogue import STATUS
from mockkube.api.errors import BadRequest, MethodNotAllowed, NotFound
from mockkube.api.json_objects import Object
from mockkube.api.kinds.autoscaling.scale import SCALE as SCALE_PRINTER
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.http import web
from mockkube.apiserver.http.handlers import resource_handlers, token_request
from mockkube.apiserver.http.handlers.resource_handlers import ResourceHandler
from mockkube.apiserver.http.requests import request_bodies
from mockkube.apiserver.http.requests.request_context import status_success
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.http.responses import rendering
from mockkube.apiserver.registry import options
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.subresources import binding, eviction, scale

_BINDING: Final = "io.k8s.api.core.v1.Binding"
_EVICTION: Final = "io.k8s.api.policy.v1.Eviction"


async def read_scale(request: ResourceRequest) -> web.StreamResponse:
    """Answer with the Scale of a workload."""
    return _respond_scale(request, await scale.read_scale(request.resource, request.scope))


async def update_scale(request: ResourceRequest) -> web.StreamResponse:
    """Set the replicas of a workload."""
    write_options = options.parse_write_options(request.context.query, "UpdateOptions")
    body = await request_bodies.read_body_as(request, scale.SCALE_SCHEMA, "Scale", ("autoscaling/v1",))
    return _respond_scale(request, await scale.replace_scale(request.resource, request.scope, body, write_options))


async def patch_scale(request: ResourceRequest) -> web.StreamResponse:
    """Apply a patch to the Scale of a workload."""
    kind = resource_handlers.get_patch_type(request)
    patch = await request_bodies.decode_patch(request, kind, await request.context.read_body())
    write_options = options.parse_write_options(request.context.query, "PatchOptions", apply=kind is PatchType.APPLY)

    def decode(value: Any) -> Object:
        return request_bodies.decode_as(request, scale.SCALE_SCHEMA, value)

    return _respond_scale(
        request, await scale.patch_scale(request.resource, request.scope, patch, write_options, decode)
    )


def _respond_scale(request: ResourceRequest, shown: Object) -> web.Response:
    """Build a response with a Scale, as a table if the client requests one."""
    representation = request.representation
    if representation.transform == "Table":
        now = request.resource.dependencies.clock.now()
        printer = SCALE_PRINTER
        shown = rendering.build_table_of_unstored(printer, shown, now, representation, request.context.output_options())
    return request.respond_unstored(shown)


async def create_binding(request: ResourceRequest) -> web.StreamResponse:
    """Bind a pod to a node."""
    write_options = options.parse_write_options(request.context.query, "CreateOptions")
    body = await request_bodies.read_body_as(
        request, _BINDING, "Binding", ("v1",), validation=write_options.field_validation
    )
    name = body["metadata"].get("name", "")
    # A Binding posted to the namespace's `bindings` has no name in its path.
    if request.scope.name and name != request.scope.name:
        raise BadRequest("name in URL does not match name in Binding object")
    scope = RequestScope(request.scope.user, request.scope.namespace, name, "binding", request.scope.user_agent)
    await binding.bind(request.resource, scope, body, write_options)
    return request.respond_unstored(status_success(code=201), status=201)


async def create_eviction(request: ResourceRequest) -> web.StreamResponse:
    """Delete a pod if its disruption budgets allow it."""
    write = options.parse_write_options(request.context.query, "CreateOptions")
    body = await request_bodies.read_body_as(request, _EVICTION, "Eviction", ("policy/v1", "policy/v1beta1"))
    if body["metadata"].get("name", "") != request.scope.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    delete_options = dict(body.get("deleteOptions") or {})
    # The query's dryRun is the Eviction's; the deletion behind it has options of its own, which must say the same.
    if write.dry_run:
        delete_options["dryRun"] = ["All"]
    await eviction.evict(request.resource, request.scope, options.parse_delete_options({}, delete_options))
    return request.respond_unstored(status_success(code=201), status=201)


async def proxy(request: ResourceRequest) -> web.StreamResponse:
    """Proxy a request to a pod, a service, or the kubelet of a node."""
    if "dryRun" in request.context.query:
        raise BadRequest("dryRun is not supported")
    from mockkube.apiserver.http.handlers import node_proxy, pod_proxy  # for few servers

    match request.resource.plural:
        case "pods":
            return await pod_proxy.proxy_to_pod(request)
        case "services":
            return await pod_proxy.proxy_to_service(request)
    return await node_proxy.proxy_to_node(request)


async def read_extra_subresource(request: ResourceRequest) -> web.StreamResponse:
    """Answer with a subresource that the registry's kind set serves (metrics, flagz, statusz)."""
    resource = request.resource
    page: ResourceHandler = request.registry.kind_set.get_handlers[
        resource.group, resource.plural, request.scope.subresource
    ]
    return await page(request)


def _connect(name: str) -> ResourceHandler:
    """Return a handler of streams; the first request for one imports what it needs."""

    async def handle(request: ResourceRequest) -> web.StreamResponse:
        from mockkube.apiserver.http.streaming import connect

        handler: ResourceHandler = getattr(connect, name)
        return await handler(request)

    return handle


_READ_EXTRA: Final[Mapping[str, ResourceHandler]] = {"get": read_extra_subresource}
_CONNECT_HANDLERS: Final[Mapping[str, ResourceHandler]] = dict.fromkeys(
    ("", "create", "get", "update", "patch", "delete"), proxy
)
_SCALE_HANDLERS: Final[Mapping[str, ResourceHandler]] = {
    "get": read_scale,
    "update": update_scale,
    "patch": patch_scale,
}
_OBJECT_PARTS: Final[Mapping[str, ResourceHandler]] = {
    "get": resource_handlers.get,
    "update": resource_handlers.update,
    "patch": resource_handlers.patch,
}
SUBRESOURCE_HANDLERS: Final[Mapping[str, Mapping[str, ResourceHandler]]] = {
    "scale": _SCALE_HANDLERS,
    "binding": {"create": create_binding},
    "eviction": {"create": create_eviction},
    "log": {"get": _connect("read_log")},
    "exec": dict.fromkeys(("create", "get"), _connect("exec_command")),
    "attach": dict.fromkeys(("create", "get"), _connect("attach")),
    "portforward": dict.fromkeys(("create", "get"), _connect("forward_ports")),
    "proxy": _CONNECT_HANDLERS,
    "token": {"create": token_request.create_token},
    "flagz": _READ_EXTRA,
    "ui": _READ_EXTRA,
    "metrics": _READ_EXTRA,
    "statusz": _READ_EXTRA,
}
"""Handlers by verb of the subresources that are more than a part of the object."""


def find_handler(info: RequestInfo, resource: Resource) -> ResourceHandler:
    """Return the handler of a verb on a subresource; raise NotFound or MethodNotAllowed if there is none."""
    sub = resource.kind.subresource(info.subresource)
    # `namespaces` is cluster-scoped, but its own name parses as the namespace of the path.
    misplaced = bool(info.namespace) != resource.kind.namespaced and resource.plural != "namespaces"
    if sub is None and resource.accepts_other_kinds:
        raise NotFound.for_object(resource.group, resource.plural, info.name)
    if sub == STATUS and not resource.accepts_other_kinds and not resource.has_status:
        raise NotFound.for_path()  # a later version gave it one
    if sub is None or misplaced or (info.rest and sub.name != "proxy"):
        raise NotFound.for_path()
    table = SUBRESOURCE_HANDLERS.get(sub.name, _OBJECT_PARTS)
    # Only a proxy is asked with a method that has no verb (OPTIONS), and it passes all methods on.
    if (info.verb and info.verb not in sub.verbs) or info.verb not in table:
        if resource.accepts_other_kinds:
            raise MethodNotAllowed.for_verb(resource.group, resource.plural, info.verb)
        raise MethodNotAllowed
    return table[info.verb]
