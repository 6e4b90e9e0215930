"""Why a pod is where it is, or nowhere: asked of the control API, decided as this cluster's scheduler would."""

from typing import TYPE_CHECKING, Final

from aiohttp import web

from mockkube.api.errors import BadRequest, Unavailable
from mockkube.apiserver.http.asked import Asked as Request
from mockkube.apiserver.http.exchange import TEXT, Exchange
from mockkube.apiserver.http.negotiation import JSON, clauses
from mockkube.apiserver.local import LocalClient
from mockkube.apiserver.registry.options import first
from mockkube.client.identity import AUTHENTICATED, MASTERS, Identity
from mockkube.client.protocol import Key
from mockkube.cluster.components import SCHEDULER
from mockkube.cluster.fleet import Fleet
from mockkube.cluster.parts import Flags
from mockkube.runtime.clock import Clock

if TYPE_CHECKING:
    from mockkube.scheduler.why import Explanation

_FORMATS: Final = ("json", "text")
_READER: Final = Identity("system:mockkube", (MASTERS, AUTHENTICATED), "mockkube")


class WhyPage:
    """Answers for the pods of a cluster, once there is a fleet; whether its scheduler runs makes no difference."""

    def __init__(self, clock: Clock, flags: Flags) -> None:
        """Decide with these flags of the scheduler."""
        self._clock = clock
        self._flags = flags
        self.fleet: Fleet | None = None

    async def answer(self, request: Request) -> web.StreamResponse:
        """Answer with the explanation of a pod, as JSON or as text."""
        exchange = request.exchange
        output = _format_of(exchange)
        explanation = await self._explain(Key(request.call.namespace, request.call.name))
        if output == "json":
            return exchange.json(explanation.as_json())
        from mockkube.scheduler.why_text import lines

        return exchange.respond("".join(f"{line}\n" for line in lines(explanation)).encode(), media=TEXT)

    async def _explain(self, key: Key) -> "Explanation":
        from mockkube.cluster.part_flags import scheduler_configuration
        from mockkube.scheduler import configuration, what_if, why

        assert self.fleet is not None, "requests come when the fleet listens"
        asked = self.fleet.asked(SCHEDULER)
        settings = asked.settings
        client = LocalClient(self.fleet.workshop.door(asked.server), _READER)
        given = scheduler_configuration(self._flags)
        try:
            case = await why.case_of(client, key, settings.capabilities(), self._clock, given)
            return await what_if.what_if(case, await why.explain(case), settings.feature_gates)
        except configuration.ConfigurationError as error:
            raise Unavailable(f"{SCHEDULER} of version {settings.version} cannot be configured so: {error}") from None


def _format_of(exchange: Exchange) -> str:
    """Return what was asked for: by `output`, else by what the client prefers."""
    output = first(exchange.query, "output")
    if output and output not in _FORMATS:
        raise BadRequest(f"output: {output!r} is no format: give one of {', '.join(_FORMATS)}")
    if output:
        return output
    preferred = next((one.media for one in clauses(exchange.accept) if one.media in ("text/plain", JSON)), JSON)
    return "text" if preferred == "text/plain" else "json"
