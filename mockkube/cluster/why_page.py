"""Subresource `why` of pods in the control API: explain a pod by the decisions of this cluster's components."""

from typing import TYPE_CHECKING, Final

from aiohttp import web

from mockkube.api.errors import BadRequest, NotFound, Unavailable
from mockkube.apiserver.http.asked import Asked as Request
from mockkube.apiserver.http.exchange import TEXT, Exchange
from mockkube.apiserver.http.negotiation import JSON, clauses
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.registry.options import first
from mockkube.client.identity import AUTHENTICATED, MASTERS, ClientIdentity
from mockkube.client.protocol import Key
from mockkube.cluster.fleet import Fleet
from mockkube.cluster.parts import Flags
from mockkube.features.components import SCHEDULER
from mockkube.runtime.clock import Clock

if TYPE_CHECKING:
    from mockkube.explain.components import Team
    from mockkube.explain.explanation import Account

_FORMATS: Final = ("json", "text")
_READER: Final = ClientIdentity("system:mockkube", (MASTERS, AUTHENTICATED), "mockkube")


class WhyPage:
    """Serves explanations of pods, which include whether the components run."""

    def __init__(self, clock: Clock, flags: Flags) -> None:
        """Use these flags of the scheduler for its decisions."""
        self._clock = clock
        self._flags = flags
        self.fleet: Fleet | None = None

    async def answer(self, request: Request) -> web.StreamResponse:
        """Answer with the explanation of a pod, as JSON or text."""
        exchange = request.exchange
        output = _format_of(exchange)
        account = await self.account(Key(request.call.namespace, request.call.name))
        report = account.as_json()
        if output == "json":
            return exchange.json(report)
        from mockkube.explain.text import lines

        return exchange.respond("".join(f"{line}\n" for line in lines(report)).encode(), media=TEXT)

    async def account(self, key: Key) -> "Account":
        """Return the explanation of a pod; NotFound, with similar names, if it never existed."""
        from mockkube.cluster.part_flags import scheduler_configuration
        from mockkube.explain.owners import instead_of
        from mockkube.explain.pod_explainer import Question
        from mockkube.scheduler.configuration.configuration import SchedulerConfigurationError

        assert self.fleet is not None, "requests come when the fleet listens"
        team = _team_of(self.fleet)
        client = LocalClient(self.fleet.workshop.door(team.newest_server().name), _READER)
        question = Question(client, team, self._clock, scheduler_configuration(self._flags))
        try:
            return await question.account(key)
        except NotFound as error:
            raise NotFound(f"{error}{await instead_of(client, key)}", details=error.details) from None
        except SchedulerConfigurationError as error:
            version = team.scheduler.caps.version
            raise Unavailable(f"{SCHEDULER} of version {version} cannot be configured so: {error}") from None


def _team_of(fleet: Fleet) -> "Team":
    """Return the components and their state as explanations need them."""
    # Explanations import the scheduler, which a start without requests for them can do without.
    from mockkube.cluster.explained_components import team_of

    asked = {summary.name: fleet.asked(summary.name) for summary in fleet.summaries()}
    return team_of(asked, {name: _idle(fleet, name) for name in asked})


def _idle(fleet: Fleet, name: str) -> str:
    doing = fleet.doing(name)
    return _unheard(fleet.workshop.part(name)) if doing.running else doing.message or doing.reason


def _unheard(part: object) -> str:
    """Return which kinds a scheduler has not listed yet; empty if it has listed all."""
    from mockkube.scheduler.scheduler import Scheduler

    if not isinstance(part, Scheduler):
        return ""
    kinds = sorted(cache.kind for cache in part.informers.workers if not cache.has_synced)
    return f"it waits until its API server has listed {', '.join(kinds)}" if kinds else ""


def _format_of(exchange: Exchange) -> str:
    """Return the output format: the query's `output`, else the preferred media type."""
    output = first(exchange.query, "output")
    if output and output not in _FORMATS:
        raise BadRequest(f"output: {output!r} is no format: give one of {', '.join(_FORMATS)}")
    if output:
        return output
    preferred = next((one.media for one in clauses(exchange.accept) if one.media in ("text/plain", JSON)), JSON)
    return "text" if preferred == "text/plain" else "json"
