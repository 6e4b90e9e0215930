"""`MockKube`: a temporary cluster for the duration of a block, for synchronous and asynchronous tests."""

import asyncio
import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    import kubernetes

    from mockkube.api.json_objects import Object
    from mockkube.client.http import HttpClient
    from mockkube.cluster.cluster import RunningCluster
    from mockkube.testing.clock import Duration, KubeClock
    from mockkube.testing.cluster_tools import ClusterTools
    from mockkube.testing.expectation import Predicate
    from mockkube.testing.faults import KubeFaults
    from mockkube.testing.manifests import Manifest
    from mockkube.testing.spy import Spy

START_SECONDS_MAX: Final = 60.0
NAMESPACE: Final = "default"
_NOT_RUNNING: Final = "the cluster runs between entering and leaving the block"


class MockKube:
    """Kubernetes cluster in this process, on a free port of this machine; it leaves nothing behind.

        with MockKube(nodes=3, version="1.35", feature_gates={"TaintTolerationCEL": True}) as kube:
            subprocess.run(["kubectl", "get", "nodes"], env=kube.environment())

    The settings are those of `mockkube up`, by their names in Python (`without`, `components`, `skew_policy`, ...).
    With `async with` it runs in the event loop of the caller, with `with` in a thread of its own. In asynchronous code,
    await the methods whose names end in `_async`. Raises
    `mockkube.cluster.configuration.errors.ConfigurationError` for invalid settings, StartError if it does not start.
    """

    def __init__(self, **settings: Any) -> None:
        from mockkube.cluster.temporary_cluster import reject_unknown_settings

        # Unknown settings fail where they are written, not where the cluster starts.
        reject_unknown_settings(settings)
        self._settings = settings
        self._running: RunningCluster | None = None
        self._tools: ClusterTools | None = None
        self._stack = AsyncExitStack()
        self._thread: _ClusterThread | None = None
        self._activations = ExitStack()

    # Address

    @property
    def url(self) -> str:
        """URL of its API server."""
        return self._require_running().url

    @property
    def token(self) -> str:
        """Bearer token of its administrator."""
        return self._require_running().token

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of its administrator."""
        return self._require_running().kubeconfig

    @property
    def ca_file(self) -> Path | None:
        """CA certificate of the server; None over plain HTTP."""
        return self._require_running().ca_file

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment, by default a copy of this process's, in which kubectl and others find the cluster."""
        import os

        from mockkube.testing.activation import make_environment

        return make_environment(os.environ if base is None else base, self.kubeconfig, self.url)

    def activate(self) -> None:
        """Let all clients of this process, and programs that it starts, find the cluster until the cluster ends.

        It sets KUBECONFIG in `os.environ`, and unsets the variables of other clusters. It also reaches clients that
        have read their configuration already: when they were imported, or by `kubernetes.config.load_kube_config()`.
        """
        from mockkube.testing.activation import activate

        self._activations.enter_context(activate(self.kubeconfig, self.url))

    def api_client(self) -> "kubernetes.client.ApiClient":
        """Return a client of the official Python library, which has to be installed; close it when done."""
        from kubernetes import config

        make: Any = config.new_client_from_config
        client: kubernetes.client.ApiClient = make(str(self.kubeconfig))
        return client

    def client(self, user_agent: str = "mockkube-testing") -> "HttpClient":
        """Return mockkube's own asynchronous client; enter it with `async with`."""
        from mockkube.client import kubeconfig
        from mockkube.client.http import HttpClient
        from mockkube.runtime.clock import RealClock

        return HttpClient(kubeconfig.load(self.kubeconfig), user_agent, clock=RealClock())

    # Objects

    def apply(self, manifest: "Manifest", *, namespace: str = NAMESPACE) -> "list[Object]":
        """Create the objects of a manifest, or change existing ones, and return them as they are stored.

        `manifest` is YAML or JSON text, a path of a file or directory, an object, or several. CRDs come first, and are
        served when the rest follows. Objects are applied on the server side, and take over fields that another manager
        has; those with `generateName` are created. `namespace` is that of objects without one. Unknown fields are an
        error.
        """
        tools = self._require_tools()
        return tools.loop.run(lambda: tools.apply(manifest, namespace))

    async def apply_async(self, manifest: "Manifest", *, namespace: str = NAMESPACE) -> "list[Object]":
        """Create or change the objects of a manifest from asynchronous code; see `apply`."""
        tools = self._require_tools()
        return await tools.loop.run_async(lambda: tools.apply(manifest, namespace))

    def wait(
        self,
        target: str,
        until: "str | Predicate",
        *,
        namespace: str = NAMESPACE,
        selector: str = "",
        timeout: "Duration" = 30.0,
    ) -> "list[Object]":
        """Wait until objects have a state, and return them: `kube.wait("pod/web", "condition=Ready")`.

        `target` names one object, `pod/web`, or all of a kind, `pods`, that have the labels of `selector`. `until` is
        `condition=NAME`, `condition=NAME=STATUS`, `jsonpath={PATH}=VALUE`, `jsonpath={PATH}`, `create` or `delete`
        as in `kubectl wait --for`, or a function that is called with each object. Unlike kubectl, it also waits for
        objects that do not exist yet.

        WaitTimeoutError after `timeout` shows the status, the reason and the events of what was waited for. In virtual
        time the clock advances meanwhile; before that, clients that watch get the time to react.
        """
        tools = self._require_tools()
        return tools.loop.run(lambda: tools.wait(target, until, namespace, selector, timeout))

    async def wait_async(
        self,
        target: str,
        until: "str | Predicate",
        *,
        namespace: str = NAMESPACE,
        selector: str = "",
        timeout: "Duration" = 30.0,  # noqa: ASYNC109 - in the time of the cluster
    ) -> "list[Object]":
        """Wait until objects have a state from asynchronous code; see `wait`."""
        tools = self._require_tools()
        return await tools.loop.run_async(lambda: tools.wait(target, until, namespace, selector, timeout))

    # What happens in the cluster

    @property
    def clock(self) -> "KubeClock":
        """Time of the cluster, which can be advanced with the setting `clock="virtual"`."""
        return self._require_tools().clock

    @property
    def faults(self) -> "KubeFaults":
        """Errors, latency, conflicts and other faults, while a `with` block runs."""
        return self._require_tools().faults

    @property
    def spy(self) -> "Spy":
        """Requests that the cluster has received."""
        return self._require_tools().spy

    async def patch_component_async(self, name: str, **spec: Any) -> None:
        """Change `version`, `featureGates` or `running` of a component; return when it has taken effect."""
        from mockkube.testing.component_patches import patch_and_wait

        async with self.client() as client:
            await patch_and_wait(client, name, spec)

    def patch_component(self, name: str, **spec: Any) -> None:
        """Change a component from synchronous code; see `patch_component_async`."""
        if self._thread is None:
            raise RuntimeError("from asynchronous code, await patch_component_async")
        self._thread.patch_component(name, spec)

    # Start and end

    def _require_running(self) -> "RunningCluster":
        if self._running is None:
            raise RuntimeError(_NOT_RUNNING)
        return self._running

    def _require_tools(self) -> "ClusterTools":
        if self._tools is None:
            raise RuntimeError(_NOT_RUNNING)
        return self._tools

    async def __aenter__(self) -> Self:
        from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster
        from mockkube.testing.cluster_loop import ClusterLoop
        from mockkube.testing.cluster_tools import ClusterTools

        configuration = make_temporary_configuration(self._settings)
        # The stack is only kept once the cluster runs: a failed start cleans up here, as `__aexit__` is not called
        # then.
        async with AsyncExitStack() as stack:
            cluster = await stack.enter_async_context(open_temporary_cluster(configuration))
            self._running = await stack.enter_async_context(cluster)
            loop = ClusterLoop(asyncio.get_running_loop(), has_own_thread=self._thread is not None)
            self._tools = ClusterTools(cluster.control_plane, loop)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._activations.close()
        self._running = self._tools = None
        await self._stack.aclose()

    def __enter__(self) -> Self:
        self._thread = _ClusterThread(self)
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()

    def __repr__(self) -> str:
        where = "not running" if self._running is None else self._running.url
        return f"MockKube({json.dumps(self._settings, default=str)}, {where})"


class _ClusterThread:
    """Thread with the event loop of a cluster that synchronous code uses."""

    def __init__(self, kube: MockKube) -> None:
        self._kube = kube
        self._started: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="mockkube", daemon=True)

    def start(self) -> None:
        """Return when the cluster answers; raise the error if it does not start."""
        self._thread.start()
        try:
            self._started.result(START_SECONDS_MAX)
        except BaseException:
            self.stop()
            raise

    def patch_component(self, name: str, spec: Mapping[str, Any]) -> None:
        """Change a component in the cluster's event loop and wait until it has taken effect."""
        assert self._loop is not None, "it has started"
        coroutine = self._kube.patch_component_async(name, **spec)
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stop(self) -> None:
        """Stop the cluster and wait for the thread."""
        if self._loop is not None and self._end is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            # Before that the error belongs to the caller of `start`, which waits for the result.
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with self._kube:
            self._started.set_result(None)
            await self._end.wait()
