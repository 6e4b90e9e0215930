"""Resource request: what the handlers of verbs and subresources receive."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from mockkube.api.json_objects import Object
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.responses import negotiation, rendering
from mockkube.apiserver.http.responses.negotiation import Representation
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.lazy_dataclasses import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """Request for a resource, parsed and authorized, with the resource that serves it."""

    registry: Registry
    resource: Resource
    info: RequestInfo
    context: RequestContext
    scope: RequestScope

    @property
    def representation(self) -> Representation:
        """Output format; raise NotAcceptable if the client accepts none."""
        accept = self.context.accept
        # Nearly all clients but kubectl and controllers end here, so the plain case skips the negotiation.
        if accept in ("", negotiation.JSON):
            return negotiation.PLAIN_JSON
        resource = self.resource
        speaks = resource.dependencies.protobuf.supports(resource.api_version, resource.kind.kind)
        return negotiation.negotiate_output(
            accept,
            watch=self.info.watch,
            is_list=self.info.verb == "list",
            protobuf=speaks,
            tabular=resource.has_table,
        )

    def run_heavy_work(self, size_bytes: int, work: Callable[[], T]) -> Awaitable[T]:
        """Return the result of `work`, run in a thread if it handles many bytes."""
        return self.resource.dependencies.heavy_work.run(size_bytes, work)

    async def respond_object(self, cached: CachedObject, *, status: int = 200) -> web.Response:
        """Build a response with a stored object, converted to the requested version."""
        representation = self.representation
        cached = await self.resource.convert_for_reading(cached)
        self.context.warnings = self.scope.warnings
        show = partial(rendering.render_object, self.resource, cached, representation, self.context.output_options())
        body = await self.run_heavy_work(cached.size, show)
        return self.context.respond(body, status=status, media=representation.media)

    def respond_unstored(self, value: Object, *, status: int = 200) -> web.Response:
        """Build a response with a Status or another object that is not stored."""
        self.context.warnings = self.scope.warnings
        return self.context.respond_json(value, status=status, representation=self.representation)
