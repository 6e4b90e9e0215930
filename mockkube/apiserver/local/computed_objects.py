"""Objects that the API server computes, such as PodMetrics, for components of the process."""

from collections.abc import Mapping

from mockkube.api.errors import NotFound, Unavailable
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.authorization.errors import new_forbidden_request
from mockkube.apiserver.http.handlers.computed_apis import make_values_request
from mockkube.apiserver.http.requests.request_info import parse_request_info
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.local.endpoint import LocalServer
from mockkube.apiserver.registry.aggregated_api import ComputedApi, MetricValuesApi, find_computed_resource
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.apiserver.registry.options import ListOptions
from mockkube.client.protocol import Key, ObjectList
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ComputedKind:
    """Kind of a computed API, as one user reads it."""

    server: LocalServer
    api: ComputedApi
    plural: str
    user: User

    async def get(self, key: Key) -> ReadOnlyObject:
        """Return one object."""
        await self._authorize("get", key)
        return self.api.get_object(self.plural, key.namespace, key.name)

    async def list(self, namespace: str, options: ListOptions) -> ObjectList:
        """Return the selected objects; there is nothing to watch, so they have no resourceVersion."""
        await self._authorize("list", Key(namespace, ""))
        return ObjectList(self.api.list_objects(self.plural, namespace, options), "")

    async def _authorize(self, verb: str, key: Key) -> None:
        group = self.api.spec["group"]
        await _authorize(
            self.server, AuthorizationAttributes(self.user, verb, group, self.plural, "", key.namespace, key.name)
        )


async def _authorize(server: LocalServer, attributes: AuthorizationAttributes) -> None:
    """Raise Forbidden unless the request is allowed; wait until the server knows all that was written before it."""
    decision = server.authorizer.authorize(attributes)
    if not decision.allowed:
        raise new_forbidden_request(attributes, decision.reason)
    await server.registry.dependencies.watch_cache.wait_until_fresh()


async def read_metric_values(server: LocalServer, path: str, query: Mapping[str, str], user: User) -> ReadOnlyObject:
    """Return the values of a metric at a path, as a user reads it; NotFound if no such API is served."""
    info = parse_request_info("GET", path)
    known = None if info is None else server.registry.aggregated_apis.get((info.group, info.version))
    if info is None or known is None:
        raise NotFound.for_path()
    await _authorize(
        server,
        AuthorizationAttributes(
            user, info.verb, info.group, info.resource, info.subresource, info.namespace, info.name
        ),
    )
    if not isinstance(known.computed, MetricValuesApi):
        raise Unavailable(f"{info.group} is served by another server, which components of this process do not ask")
    return known.computed.read_values(make_values_request(info, {name: [text] for name, text in query.items()}))


def find_computed_kind(server: LocalServer, kind: str, user: User) -> ComputedKind | None:
    """Return a computed kind (`PodMetrics`, `PodMetrics.metrics.k8s.io`) as a user reads it; None if it is stored."""
    resource = find_computed_resource(server.registry.aggregated_apis, kind)
    return None if resource is None else ComputedKind(server, resource.api, resource.plural, user)
