"""Resource request: what the handlers of verbs and subresources receive."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from aiohttp import web

from mockkube.api.types import Object
from mockkube.apiserver.http import negotiation, rendering
from mockkube.apiserver.http.exchange import Exchange
from mockkube.apiserver.http.negotiation import Representation
from mockkube.apiserver.http.paths import Target
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """Request for a resource, parsed and authorized, with the resource that serves it."""

    registry: Registry
    resource: Resource
    target: Target
    exchange: Exchange
    call: Call

    @property
    def representation(self) -> Representation:
        """Output format; raise NotAcceptable if the client accepts none."""
        accept = self.exchange.accept
        # Nearly all clients but kubectl and controllers end here, so the plain case skips the negotiation.
        if accept in ("", negotiation.JSON):
            return negotiation.PLAIN
        resource = self.resource
        speaks = resource.services.protobuf.supports(resource.api_version, resource.kind.kind)
        return negotiation.negotiate(
            accept,
            watch=self.target.watch,
            listing=self.target.verb == "list",
            protobuf=speaks,
            tabular=resource.tabular,
        )

    async def heavy(self, size: int, work: Callable[[], T]) -> T:
        """Return the result of `work`, run in a thread if it handles many bytes."""
        return await self.resource.services.heavy.run(size, work)

    async def answer(self, record: Record, *, status: int = 200) -> web.Response:
        """Build a response with a stored object, converted to the requested version."""
        representation = self.representation
        record = await self.resource.seen(record)
        self.exchange.warnings = self.call.warnings
        show = partial(rendering.show_object, self.resource, record, representation, self.exchange.view())
        body = await self.heavy(len(record.tail), show)
        return self.exchange.respond(body, status=status, media=representation.media)

    def say(self, value: Object, *, status: int = 200) -> web.Response:
        """Build a response with a Status or another object that is not stored."""
        self.exchange.warnings = self.call.warnings
        return self.exchange.json(value, status=status, representation=self.representation)
