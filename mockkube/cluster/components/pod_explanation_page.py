"""Subresource `why` of pods in the control API: explain a pod by the decisions of this cluster's components."""

from typing import TYPE_CHECKING, Final

from mockkube.api.errors import BadRequest, NotFound, Unavailable
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import TEXT, RequestContext
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.http.responses.negotiation import JSON, parse_accept
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.registry.options import first_value
from mockkube.client.identity import AUTHENTICATED, MASTERS, ClientIdentity
from mockkube.client.protocol import Key
from mockkube.cluster.components.component_controller import ComponentController
from mockkube.cluster.components.component_runner import ComponentFlags
from mockkube.features.components import SCHEDULER
from mockkube.runtime.clock import Clock

if TYPE_CHECKING:
    from mockkube.explain.components import ClusterComponents
    from mockkube.explain.explanation import PodExplanation

_FORMATS: Final = ("json", "text")
_READER_IDENTITY: Final = ClientIdentity("system:mockkube", (MASTERS, AUTHENTICATED), "mockkube")


class PodExplanationPage:
    """Serves explanations of pods, which include whether the components run."""

    def __init__(self, clock: Clock, flags: ComponentFlags) -> None:
        """Use these flags of the scheduler for its decisions."""
        self._clock = clock
        self._flags = flags
        self.component_controller: ComponentController | None = None

    async def serve(self, request: ResourceRequest) -> web.StreamResponse:
        """Answer with the explanation of a pod, as JSON or text."""
        context = request.context
        output = _choose_format(context)
        account = await self.explain(Key(request.scope.namespace, request.scope.name))
        report = account.as_json()
        if output == "json":
            return context.respond_json(report)
        from mockkube.explain.rendering import render_explanation

        return context.respond("".join(f"{line}\n" for line in render_explanation(report)).encode(), media=TEXT)

    async def explain(self, key: Key) -> "PodExplanation":
        """Return the explanation of a pod; NotFound, with similar names, if it never existed."""
        from mockkube.cluster.components.component_flags import get_scheduler_configuration
        from mockkube.explain.owners import suggest_pods
        from mockkube.explain.pod_explainer import PodExplainer
        from mockkube.scheduler.configuration.kube_scheduler_configuration import SchedulerConfigurationError

        assert self.component_controller is not None, "requests come when the fleet listens"
        components = _make_cluster_components(self.component_controller)
        client = LocalClient(
            self.component_controller.local_clients.get_endpoint(components.find_newest_server().name), _READER_IDENTITY
        )
        explainer = PodExplainer(client, components, self._clock, get_scheduler_configuration(self._flags))
        try:
            return await explainer.explain(key)
        except NotFound as error:
            raise NotFound(f"{error}{await suggest_pods(client, key)}", details=error.details) from None
        except SchedulerConfigurationError as error:
            version = components.scheduler.caps.version
            raise Unavailable(f"{SCHEDULER} of version {version} cannot be configured so: {error}") from None


def _make_cluster_components(component_controller: ComponentController) -> "ClusterComponents":
    """Return the components and their state as explanations need them."""
    # Explanations import the scheduler, which a start without requests for them can do without.
    from mockkube.cluster.components.explained_components import make_cluster_components

    specs = {summary.name: component_controller.get_spec(summary.name) for summary in component_controller.summarize()}
    return make_cluster_components(specs, {name: _find_idle_reason(component_controller, name) for name in specs})


def _find_idle_reason(component_controller: ComponentController, name: str) -> str:
    state = component_controller.get_state(name)
    return (
        _find_unlisted_kinds(component_controller.factory.get_component(name))
        if state.is_running
        else state.message or state.reason
    )


def _find_unlisted_kinds(component: object) -> str:
    """Return which kinds a scheduler has not listed yet; empty if it has listed all."""
    from mockkube.scheduler.scheduler import Scheduler

    if not isinstance(component, Scheduler):
        return ""
    kinds = sorted(cache.kind for cache in component.informers.workers if not cache.has_synced)
    return f"it waits until its API server has listed {', '.join(kinds)}" if kinds else ""


def _choose_format(context: RequestContext) -> str:
    """Return the output format: the query's `output`, else the preferred media type."""
    output = first_value(context.query, "output")
    if output and output not in _FORMATS:
        raise BadRequest(f"output: {output!r} is no format: give one of {', '.join(_FORMATS)}")
    if output:
        return output
    preferred = next((one.media for one in parse_accept(context.accept) if one.media in ("text/plain", JSON)), JSON)
    return "text" if preferred == "text/plain" else "json"
