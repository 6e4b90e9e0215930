"""Handlers of ComponentStatuses, which are computed for each request and not stored."""

# upstream 1.36: pkg/registry/core/componentstatus/rest.go
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from mockkube.api.errors import MethodNotAllowed, NotFound
from mockkube.api.types import Object
from mockkube.apiserver.http import rendering
from mockkube.apiserver.http.asked import Asked
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.registry import encoding, listing, options
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.listing import Listed
from mockkube.apiserver.registry.resource import Resource

KIND: Final = ("", "componentstatuses")
_WELL: Final = "ok"
_PORTS: Final[Mapping[str, tuple[str, int]]] = {
    "scheduler": ("kube-scheduler", 10259),
    "controller-manager": ("kube-controller-manager", 10257),
}


def handler_of(target: Target) -> Callable[[Asked], Awaitable[web.StreamResponse]]:
    """Return the handler of a verb; raise MethodNotAllowed if there is none."""
    match target.verb:
        case "get" if target.name:
            return get
        case "list":
            return list_
        case "watch":
            raise MethodNotAllowed.for_verb("", "componentstatuses", "watch")
    raise MethodNotAllowed


async def get(asked: Asked) -> web.StreamResponse:
    """Answer with one component status."""
    for obj in _statuses(asked.resource):
        if obj["metadata"]["name"] == asked.call.name:
            return await asked.answer(_record(asked.resource, obj))
    raise NotFound.for_object("", "componentstatus", asked.call.name)


async def list_(asked: Asked) -> web.StreamResponse:
    """Answer with the selected component statuses."""
    representation = asked.representation
    wanted = options.list_options(asked.exchange.query)
    chosen = listing.selector(asked.resource, wanted)
    records = [_record(asked.resource, obj) for obj in _statuses(asked.resource)]
    found = Listed([record for record in records if chosen is None or chosen(record)], 0)
    body = rendering.show_list(asked.resource, found, representation, asked.exchange.view())
    return asked.exchange.respond(body, media=representation.media)


def _statuses(resource: Resource) -> list[Object]:
    runs = resource.services.runs
    messages = {name: _WELL if runs(component) else _refused(port) for name, (component, port) in _PORTS.items()}
    return [_status(name, text) for name, text in {**messages, "etcd-0": _WELL}.items()]


def _refused(port: int) -> str:
    """Return upstream's message for a component that does not listen."""
    address = f"127.0.0.1:{port}"
    return f'Get "https://{address}/healthz": dial tcp {address}: connect: connection refused'


def _status(name: str, said: str) -> Object:
    healthy = "True" if said == _WELL else "False"
    return {"metadata": {"name": name}, "conditions": [{"type": "Healthy", "status": healthy, "message": said}]}


def _record(resource: Resource, obj: Object) -> Record:
    head = {"kind": resource.kind.kind, "apiVersion": resource.api_version}
    body = encoding.dumps(encoding.ordered({**obj, **head}))
    return Record("", obj["metadata"]["name"], "", 0, resource.head, body[len(resource.head) :], resource.index)
