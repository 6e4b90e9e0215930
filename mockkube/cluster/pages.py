"""Pages of components, as each serves them on its own port: flagz, statusz and metrics, as subresources."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from mockkube.api.errors import NotFound, Unavailable
from mockkube.apiserver.http.asked import Asked as Request
from mockkube.apiserver.http.plain import METRICS_MEDIA
from mockkube.apiserver.http.zpages import Pages, Subject
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.control.catalogue import PAGES
from mockkube.cluster.flags import flags_of
from mockkube.cluster.fleet import Fleet
from mockkube.features.components import is_api_server
from mockkube.runtime.clock import Clock

_PATHS: Final = tuple(f"/{page}" for page in PAGES)


class ComponentPages:
    """Serves the pages of all components; requires the component controller to be set."""

    def __init__(self, configuration: ClusterConfiguration, clock: Clock) -> None:
        self._configuration = configuration
        self._clock = clock
        self.fleet: Fleet | None = None

    def handlers(self) -> Mapping[str, Callable[[Request], Awaitable[web.StreamResponse]]]:
        """Return the handlers by name of the page."""
        return {"flagz": self._zpage, "metrics": self._metrics, "statusz": self._zpage}

    def _running(self, name: str) -> Fleet:
        """Return the component controller; Unavailable if the component does not run."""
        assert self.fleet is not None, "requests come when the fleet listens"
        doing = self.fleet.doing(name)
        if not doing.running:
            raise Unavailable(f"{name} does not run: {doing.message}")
        return self.fleet

    async def _metrics(self, request: Request) -> web.StreamResponse:
        text = self._running(request.call.name).metrics(request.call.name)
        return request.exchange.respond(text, media=METRICS_MEDIA)

    async def _zpage(self, request: Request) -> web.StreamResponse:
        name = request.call.name
        fleet = self._running(name)
        settings = fleet.settings(name)
        shown = "apiserver" if is_api_server(name) else name.partition(".")[0]
        flags = flags_of(self._configuration, settings)
        subject = Subject(shown, settings.capabilities(), flags, fleet.since(name))
        pages = Pages(subject, self._clock, lambda: _PATHS)
        if request.call.subresource not in pages.served:
            raise NotFound.for_path()
        return pages.answer(request.exchange, request.call.subresource)
