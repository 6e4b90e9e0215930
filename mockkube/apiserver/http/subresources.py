"""Handlers of subresources: scale, binding, eviction, log, connect, token, and parts that are written alone."""

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from mockkube.api.catalogue import STATUS
from mockkube.api.errors import BadRequest, MethodNotAllowed, NotFound, Unavailable
from mockkube.api.kinds.autoscaling.scale import SCALE as SCALE_PRINTER
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.http import bodies, handlers, rendering, tokens
from mockkube.apiserver.http.asked import Asked
from mockkube.apiserver.http.exchange import TEXT, status_success
from mockkube.apiserver.http.handlers import Handler
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.registry import options
from mockkube.apiserver.registry.patching import PatchType
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.apiserver.registry.subresources import binding, eviction, logs, scale

_BINDING: Final = "io.k8s.api.core.v1.Binding"
_EVICTION: Final = "io.k8s.api.policy.v1.Eviction"


async def read_scale(asked: Asked) -> web.StreamResponse:
    """Answer with the Scale of a workload."""
    return _say_scale(asked, await scale.read(asked.resource, asked.call))


async def update_scale(asked: Asked) -> web.StreamResponse:
    """Set the replicas of a workload."""
    wanted = options.write_options(asked.exchange.query, "UpdateOptions")
    given = await bodies.body_of(asked, scale.SCALE, "Scale", ("autoscaling/v1",))
    return _say_scale(asked, await scale.put(asked.resource, asked.call, given, wanted))


async def patch_scale(asked: Asked) -> web.StreamResponse:
    """Apply a patch to the Scale of a workload."""
    kind = handlers.patch_type(asked)
    given = await bodies.read_patch(asked, kind, await asked.exchange.body())
    wanted = options.write_options(asked.exchange.query, "PatchOptions", apply=kind is PatchType.APPLY)

    def decode(value: Any) -> Object:
        return bodies.decode_as(asked, scale.SCALE, value)

    return _say_scale(asked, await scale.patch(asked.resource, asked.call, given, wanted, decode))


def _say_scale(asked: Asked, shown: Object) -> web.Response:
    """Build a response with a Scale, as a table if the client requests one."""
    representation = asked.representation
    if representation.transform == "Table":
        now = asked.resource.services.clock.now()
        printer = SCALE_PRINTER
        shown = rendering.table_of(printer, shown, now, representation, asked.exchange.view())
    return asked.say(shown)


async def bind(asked: Asked) -> web.StreamResponse:
    """Bind a pod to a node."""
    wanted = options.write_options(asked.exchange.query, "CreateOptions")
    given = await bodies.body_of(asked, _BINDING, "Binding", ("v1",), validation=wanted.field_validation)
    name = given["metadata"].get("name", "")
    # A Binding posted to the namespace's `bindings` has no name in its path.
    if asked.call.name and name != asked.call.name:
        raise BadRequest("name in URL does not match name in Binding object")
    scope = Call(asked.call.user, asked.call.namespace, name, "binding", asked.call.user_agent)
    await binding.bind(asked.resource, scope, given, wanted)
    return asked.say(status_success(code=201), status=201)


async def evict(asked: Asked) -> web.StreamResponse:
    """Delete a pod if its disruption budgets allow it."""
    write = options.write_options(asked.exchange.query, "CreateOptions")
    given = await bodies.body_of(asked, _EVICTION, "Eviction", ("policy/v1", "policy/v1beta1"))
    if given["metadata"].get("name", "") != asked.call.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    body = dict(given.get("deleteOptions") or {})
    # The query's dryRun is the Eviction's; the deletion behind it has options of its own, which must say the same.
    if write.dry_run:
        body["dryRun"] = ["All"]
    await eviction.evict(asked.resource, asked.call, options.delete_options({}, body))
    return asked.say(status_success(code=201), status=201)


async def read_log(asked: Asked) -> web.StreamResponse:
    """Answer with the log of a container."""
    text = await logs.read(asked.resource, asked.call, asked.exchange.query)
    return asked.exchange.respond(text.encode(), media=TEXT.replace("; charset=utf-8", ""))


async def connect(asked: Asked) -> web.StreamResponse:
    """Refuse exec, attach, port-forward and proxy after upstream's own checks: no container runs."""
    await asked.resource.services.cache.fresh()
    name, port = asked.call.name, ""
    if asked.call.subresource == "proxy":
        # Only proxied names may carry a scheme and a port.
        name, port = split_name_port(name, asked.resource.plural.removesuffix("s"))
    record = asked.resource.record(asked.call.namespace, name)
    if record is None:
        raise NotFound.for_object("", asked.resource.plural, name)
    obj = record.load()
    if asked.resource.plural == "services" and port.isdigit() and not _has_port(obj, int(port)):
        raise Unavailable(f'no service port {port} found for service "{name}"')
    if asked.resource.plural == "pods":
        logs.choose(obj, options.first(asked.exchange.query, "container"))
        if not obj["spec"].get("nodeName"):
            raise BadRequest(f"pod {name} does not have a host assigned")
    raise BadRequest(
        f"{asked.resource.plural} {name}: nothing runs behind this object, so there is nothing to connect to"
    )


def split_name_port(text: str, singular: str) -> tuple[str, str]:
    """Split `name`, `name:port` or `scheme:name:port` of a proxied object into name and port."""
    # upstream 1.36: apimachinery/pkg/util/net/port_split.go
    parts = text.split(":")
    if len(parts) < 3:
        parts = ["", *parts, ""][:3]
    if len(parts) > 3 or parts[0] not in ("", "http", "https") or not parts[1]:
        raise BadRequest(f'invalid {singular} request "{text}"')
    return parts[1], parts[2]


def _has_port(service: ReadOnlyObject, number: int) -> bool:
    return any(port["port"] == number for port in service["spec"].get("ports") or ())


async def read_page(asked: Asked) -> web.StreamResponse:
    """Answer with a subresource that the registry's kind set serves (metrics, flagz, statusz)."""
    resource = asked.resource
    page: Handler = asked.registry.family.pages[resource.group, resource.plural, asked.call.subresource]
    return await page(asked)


_PAGE: Final[Mapping[str, Handler]] = {"get": read_page}
_CONNECT: Final[Mapping[str, Handler]] = dict.fromkeys(("create", "get", "update", "patch", "delete"), connect)
_SCALES: Final[Mapping[str, Handler]] = {"get": read_scale, "update": update_scale, "patch": patch_scale}
_PARTS: Final[Mapping[str, Handler]] = {"get": handlers.get, "update": handlers.update, "patch": handlers.patch}
ACTIONS: Final[Mapping[str, Mapping[str, Handler]]] = {
    "scale": _SCALES,
    "binding": {"create": bind},
    "eviction": {"create": evict},
    "log": {"get": read_log},
    "exec": _CONNECT,
    "attach": _CONNECT,
    "portforward": _CONNECT,
    "proxy": _CONNECT,
    "token": {"create": tokens.create},
    "flagz": _PAGE,
    "metrics": _PAGE,
    "statusz": _PAGE,
}
"""Handlers by verb of the subresources that are more than a part of the object."""


def handler_of(target: Target, resource: Resource) -> Handler:
    """Return the handler of a verb on a subresource; raise NotFound or MethodNotAllowed if there is none."""
    sub = resource.kind.subresource(target.subresource)
    # `namespaces` is cluster-scoped, but its own name parses as the namespace of the path.
    misplaced = bool(target.namespace) != resource.kind.namespaced and resource.plural != "namespaces"
    if sub is None and resource.open_kind:
        raise NotFound.for_object(resource.group, resource.plural, target.name)
    if sub == STATUS and not resource.open_kind and "status" not in resource.node.fields:
        raise NotFound.for_path()  # a later version gave it one
    if sub is None or misplaced or (target.rest and sub.name != "proxy"):
        raise NotFound.for_path()
    table = ACTIONS.get(sub.name, _PARTS)
    if target.verb not in sub.verbs or target.verb not in table:
        if resource.open_kind:
            raise MethodNotAllowed.for_verb(resource.group, resource.plural, target.verb)
        raise MethodNotAllowed
    return table[target.verb]
