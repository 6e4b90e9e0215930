"""Page of the cluster: starts its listener when it is first asked for, and issues links to it.

The subresource `ui` of the component `kube-apiserver` returns a link that logs in whoever asks for it, once.
"""

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from mockkube_storage.store import Store

from mockkube.api.errors import NotFound, Unavailable
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, MASTERS_GROUP, User
from mockkube.cluster.api_servers.credentials import Credentials
from mockkube.cluster.components.component_controller import ComponentController
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.state.certificates import ADMIN
from mockkube.features.components import API_SERVER
from mockkube.features.versions import RELEASES
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock, RealClock
from mockkube.runtime.random import Random

if TYPE_CHECKING:
    from mockkube.apiserver.local.endpoint import LocalEndpoint
    from mockkube.apiserver.registry.resource import Resource
    from mockkube.ui.cluster_history import ClusterHistory
    from mockkube.ui.sessions import Sessions
    from mockkube.ui.site import Site
    from mockkube.ui.store_follower import StoreFollower


@dataclass(frozen=True, slots=True)
class UserInterfaceDependencies:
    """Dependencies of the page."""

    store: Store
    control_api: ControlApi
    component_controller: ComponentController
    configuration: ClusterConfiguration
    credentials: Credentials
    clock: Clock


class UserInterface:
    """Page of one cluster; its parts are imported and started with the first link."""

    def __init__(self) -> None:
        # Set afterwards: the control API serves the links, and the page needs the control API.
        self.dependencies: UserInterfaceDependencies | None = None
        self._pace_clock = RealClock()
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._sessions: Sessions | None = None
        self._url = ""

    async def serve(self, request: ResourceRequest) -> web.StreamResponse:
        """Answer with a link for the user of the request."""
        if request.scope.name != API_SERVER:
            raise NotFound.for_path()
        try:
            link = await self.make_link(request.context.user)
        except StartError as error:  # the port of the page is in use
            raise Unavailable(str(error)) from None
        return request.context.respond_json({"url": link})

    async def make_administrator_link(self) -> str:
        """Return a link for the administrator of the cluster."""
        return await self.make_link(User(ADMIN, groups=(MASTERS_GROUP, ALL_AUTHENTICATED)))

    async def make_link(self, user: User) -> str:
        """Return a link that logs in a user once; start the listener if it does not run."""
        async with self._lock:
            if self._sessions is None:
                self._sessions = await self._start()
        # A fragment is neither sent to a server nor logged by one; the page removes it from its address at once.
        return f"{self._url}/ui/#{self._sessions.issue_code(user)}"

    async def stop(self) -> None:
        """Close the page."""
        self._sessions = None
        await self._stack.aclose()

    async def _start(self) -> "Sessions":
        from mockkube.apiserver.http.filters.cross_site import CrossSiteGuard
        from mockkube.apiserver.http.filters.failed_authentication_throttle import FailedAuthenticationThrottle
        from mockkube.cluster.api_servers.tcp_listener import Handler, TcpListener, bind
        from mockkube.ui.cluster_history import ClusterHistory
        from mockkube.ui.sessions import Sessions

        assert self.dependencies is not None, "requests come when the cluster listens"
        configuration = self.dependencies.configuration
        # On loopback without TLS: no browser knows the CA of the cluster, and nothing leaves the machine.
        tls = None if configuration.is_loopback else self.dependencies.credentials.make_tls_context()
        listening = bind(configuration.bind, configuration.ui_port, flag="--ui-port")
        try:
            sessions, history = Sessions(self._pace_clock, Random()), ClusterHistory()
            port = listening.getsockname()[1]
            site = self._make_site(sessions, history, cookie_name=f"mockkube-ui-{port}", tls=tls is not None)
            handler: Handler = FailedAuthenticationThrottle(site, self._pace_clock)
            if tls is None:
                handler = CrossSiteGuard(handler, configuration.allowed_hosts)
            listener = TcpListener(listening, handler, tls=tls, http2=False)
            group = await self._stack.enter_async_context(asyncio.TaskGroup())
            for follower in self._make_followers(history):
                self._stack.callback(group.create_task(follower.run()).cancel)
            self._stack.push_async_callback(listener.stop)
            await listener.start()
        except BaseException:
            listening.close()
            await self._stack.aclose()
            raise
        self._url = listener.url
        return sessions

    def _make_site(self, sessions: "Sessions", history: "ClusterHistory", *, cookie_name: str, tls: bool) -> "Site":
        from mockkube.ui.api_forwarding import ApiForwarder
        from mockkube.ui.site import Site, SiteDependencies

        dependencies = self.dependencies
        assert dependencies is not None
        controller = dependencies.component_controller
        endpoint = controller.local_clients.get_endpoint(API_SERVER)

        def get_store(resource: str) -> "tuple[Store, Resource]":
            if resource == "components":
                return _get_control_store(dependencies.control_api), dependencies.control_api.get_resource(resource)
            return dependencies.store, _CoreResources(endpoint).get(resource)

        def describe_cluster() -> dict[str, object]:
            return {
                "name": dependencies.configuration.name,
                "version": str(dependencies.configuration.version),
                "versions": [str(one) for one in RELEASES],
                "clock": dependencies.configuration.clock,
                "now": round(dependencies.clock.now().timestamp() * 1000),
                "server": controller.get_url(API_SERVER),
            }

        return Site(
            SiteDependencies(
                sessions,
                history,
                ApiForwarder(controller.get_listener(API_SERVER).handle, dependencies.credentials.token),
                lambda: endpoint.get_server().authorizer,
                get_store,
                describe_cluster,
                self._pace_clock,
                cookie_name,
                tls,
            )
        )

    def _make_followers(self, history: "ClusterHistory") -> "list[StoreFollower]":
        from mockkube.ui.object_rows import make_component_row, make_node_row, make_pod_row
        from mockkube.ui.store_follower import RowSource, StoreFollower

        dependencies = self.dependencies
        assert dependencies is not None
        endpoint = dependencies.component_controller.local_clients.get_endpoint(API_SERVER)
        control_api, clock = dependencies.control_api, dependencies.clock
        resources = _CoreResources(endpoint)
        objects = [
            RowSource("nodes", lambda: resources.get("nodes"), make_node_row),
            RowSource("pods", lambda: resources.get("pods"), make_pod_row),
        ]
        components = [RowSource("components", lambda: control_api.get_resource("components"), make_component_row)]
        return [
            StoreFollower(dependencies.store, objects, history, clock, self._pace_clock),
            StoreFollower(_get_control_store(control_api), components, history, clock, self._pace_clock),
        ]


class _CoreResources:
    """Resources of the core group as the present API server has them, or the last one while there is none."""

    def __init__(self, endpoint: "LocalEndpoint") -> None:
        self._endpoint = endpoint
        self._registry = endpoint.get_server().registry

    def get(self, plural: str) -> "Resource":
        """Return the resource of this name."""
        with suppress(Unavailable):
            self._registry = self._endpoint.get_server().registry
        return self._registry.resources["", "v1", plural]


def _get_control_store(control_api: ControlApi) -> Store:
    return control_api.registry.dependencies.store
