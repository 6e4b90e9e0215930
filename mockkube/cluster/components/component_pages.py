"""Pages of components, as each serves them on its own port: flagz, statusz and metrics, as subresources."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from mockkube.api.errors import NotFound, Unavailable
from mockkube.apiserver.http import web
from mockkube.apiserver.http.handlers.non_resource_paths import METRICS_MEDIA
from mockkube.apiserver.http.handlers.zpages import Zpages, ZpagesComponent
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.cluster.components.component_controller import ComponentController
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.effective_flags import make_effective_flags
from mockkube.cluster.control.catalogue import PAGE_NAMES
from mockkube.features.components import is_api_server
from mockkube.runtime.clock import Clock

_PATHS: Final = tuple(f"/{page}" for page in PAGE_NAMES)


class ComponentPages:
    """Serves the pages of all components; requires the component controller to be set."""

    def __init__(self, configuration: ClusterConfiguration, clock: Clock) -> None:
        self._configuration = configuration
        self._clock = clock
        self.component_controller: ComponentController | None = None

    def get_handlers(self) -> Mapping[str, Callable[[ResourceRequest], Awaitable[web.StreamResponse]]]:
        """Return the handlers by name of the page."""
        return {"flagz": self._serve_zpage, "metrics": self._serve_metrics, "statusz": self._serve_zpage}

    def _require_running(self, name: str) -> ComponentController:
        """Return the component controller; Unavailable if the component does not run."""
        assert self.component_controller is not None, "requests come when the fleet listens"
        state = self.component_controller.get_state(name)
        if not state.is_running:
            raise Unavailable(f"{name} does not run: {state.message}")
        return self.component_controller

    async def _serve_metrics(self, request: ResourceRequest) -> web.StreamResponse:
        text = self._require_running(request.scope.name).render_metrics(request.scope.name)
        return request.context.respond(text, media=METRICS_MEDIA)

    async def _serve_zpage(self, request: ResourceRequest) -> web.StreamResponse:
        name = request.scope.name
        component_controller = self._require_running(name)
        settings = component_controller.get_settings(name)
        shown = "apiserver" if is_api_server(name) else name.partition(".")[0]
        flags = make_effective_flags(self._configuration, settings)
        subject = ZpagesComponent(shown, settings.capabilities(), flags, component_controller.get_started_at(name))
        pages = Zpages(subject, self._clock, lambda: _PATHS)
        if request.scope.subresource not in pages.enabled_pages:
            raise NotFound.for_path()
        return pages.respond(request.context, request.scope.subresource)
