"""What answers below an object: parts of it that are written alone, and actions on it."""

from collections.abc import Mapping
from typing import Final

from mockkube.api.errors import MethodNotAllowed, NotFound
from mockkube.apiserver.http import handlers
from mockkube.apiserver.http.handlers import Handler
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.registry.resource import Resource

ACTIONS: Final[Mapping[tuple[str, str], Mapping[str, Handler]]] = {}
"""(plural, subresource) to the handlers of its verbs, where it is not simply a part of the object."""

_PARTS: Final[Mapping[str, Handler]] = {
    "get": handlers.get,
    "update": handlers.update,
    "patch": handlers.patch,
}


def handler_of(target: Target, resource: Resource) -> Handler:
    """The handler of a verb on a subresource, if it is there."""
    sub = resource.kind.subresource(target.subresource)
    if (
        sub is None
        or (target.rest and target.subresource != "proxy")
        or bool(target.namespace) != resource.kind.namespaced
    ):
        raise NotFound.path()
    table = ACTIONS.get((resource.plural, sub.name), _PARTS)
    if target.verb not in sub.verbs or target.verb not in table:
        raise MethodNotAllowed
    return table[target.verb]
