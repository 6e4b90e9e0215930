"""`MockKube`: a temporary cluster for the duration of a block, for synchronous and asynchronous tests."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    import kubernetes

    from mockkube.client.http import HttpClient
    from mockkube.cluster.cluster import RunningCluster

START_SECONDS_MAX: Final = 60.0
_NOT_RUNNING: Final = "the cluster runs between entering and leaving the block"


class MockKube:
    """Kubernetes cluster in this process, on a free port of this machine; it leaves nothing behind.

        with MockKube(nodes=3, version="1.35", feature_gates={"TaintTolerationCEL": True}) as kube:
            subprocess.run(["kubectl", "get", "nodes"], env=kube.environment())

    The settings are those of `mockkube up`, by their names in Python (`without`, `components`, `skew_policy`, ...).
    With `async with` it runs in the event loop of the caller, with `with` in a thread of its own. Raises
    `mockkube.cluster.configuration.errors.ConfigurationError` for invalid settings, StartError if it does not start.
    """

    def __init__(self, **settings: Any) -> None:
        from mockkube.cluster.temporary_cluster import reject_unknown_settings

        # Unknown settings fail where they are written, not where the cluster starts.
        reject_unknown_settings(settings)
        self._settings = settings
        self._running: RunningCluster | None = None
        self._stack = AsyncExitStack()
        self._thread: _ClusterThread | None = None
        self._activations = ExitStack()

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

        return {**(os.environ if base is None else base), "KUBECONFIG": str(self.kubeconfig)}

    def activate(self) -> None:
        """Set KUBECONFIG in this process to the cluster's until the cluster ends.

        It also reaches the official Python clients, which read the variable only when they are imported.
        """
        from mockkube.testing.activation import activate

        path = str(self.kubeconfig)
        self._activations.enter_context(activate(path))

    def _require_running(self) -> "RunningCluster":
        if self._running is None:
            raise RuntimeError(_NOT_RUNNING)
        return self._running

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

    async def patch_component_async(self, name: str, **spec: Any) -> None:
        """Change `version`, `featureGates` or `running` of a component; return when it has taken effect."""
        from mockkube.testing.component_patches import patch_and_wait

        async with self.client() as client:
            await patch_and_wait(client, name, spec)

    def patch_component(self, name: str, **spec: Any) -> None:
        """Change a component from synchronous code; see `patch_component_async`."""
        if self._thread is None:
            raise RuntimeError("from asynchronous code, await patch_component_async")
        self._thread.run_and_wait(lambda: self.patch_component_async(name, **spec))

    async def __aenter__(self) -> Self:
        from mockkube.cluster.temporary_cluster import make_temporary_configuration, run_temporary_cluster

        configuration = make_temporary_configuration(self._settings)
        # The stack is only kept once the cluster runs: a failed start cleans up here, as `__aexit__` is not called
        # then.
        async with AsyncExitStack() as stack:
            self._running = await stack.enter_async_context(run_temporary_cluster(configuration))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._activations.close()
        self._running = None
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

    def run_and_wait(self, act: Callable[[], Awaitable[None]]) -> None:
        """Run a coroutine function in the cluster's event loop and wait for its end."""
        assert self._loop is not None, "it has started"

        async def done() -> None:
            await act()

        asyncio.run_coroutine_threadsafe(done(), self._loop).result()

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
