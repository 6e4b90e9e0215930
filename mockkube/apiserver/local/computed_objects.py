"""Objects that the API server computes, such as PodMetrics, for components of the process."""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.authorization.errors import new_forbidden_request
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.local.endpoint import LocalServer
from mockkube.apiserver.registry.aggregated_api import ComputedApi, find_computed_resource
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
        attributes = AuthorizationAttributes(
            self.user, verb, self.api.spec["group"], self.plural, "", key.namespace, key.name
        )
        decision = self.server.authorizer.authorize(attributes)
        if not decision.allowed:
            raise new_forbidden_request(attributes, decision.reason)
        await self.server.registry.dependencies.watch_cache.wait_until_fresh()


def find_computed_kind(server: LocalServer, kind: str, user: User) -> ComputedKind | None:
    """Return a computed kind (`PodMetrics`, `PodMetrics.metrics.k8s.io`) as a user reads it; None if it is stored."""
    resource = find_computed_resource(server.registry.aggregated_apis, kind)
    return None if resource is None else ComputedKind(server, resource.api, resource.plural, user)
