"""`MockKube`: a cluster of one's own for as long as a block lasts, from synchronous and asynchronous code alike."""

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
    from mockkube.cluster.assembly import Running

START_SECONDS_MAX: Final = 60.0
_OUTSIDE: Final = "the cluster runs between entering and leaving the block"


class MockKube:
    """A Kubernetes cluster in this process, on a free port of this machine; nothing of it is left afterwards.

        with MockKube(nodes=3, version="1.35", feature_gates={"TaintTolerationCEL": True}) as kube:
            subprocess.run(["kubectl", "get", "nodes"], env=kube.environment())

    The settings are those of `mockkube up`, by their names in Python (`without`, `components`, `skew_policy`, ...).
    With `async with` it runs in the event loop of the caller, with `with` in a thread of its own. Raises
    `mockkube.cluster.errors.ConfigurationError` for settings that cannot be meant, StartError when it does not start.
    """

    def __init__(self, **settings: Any) -> None:
        from mockkube.cluster.passing import refuse_unknown

        refuse_unknown(settings)
        self._settings = settings
        self._running: Running | None = None
        self._stack = AsyncExitStack()
        self._thread: _Thread | None = None
        self._activations = ExitStack()

    # Where it is

    @property
    def url(self) -> str:
        """Where its API server answers."""
        return self._present().url

    @property
    def token(self) -> str:
        """The bearer token of its administrator."""
        return self._present().token

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig that leads to it, as its administrator."""
        return self._present().kubeconfig

    @property
    def ca_file(self) -> Path | None:
        """The certificate that vouches for it; None over plain HTTP."""
        return self._present().ca_file

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment, by default that of this process, in which kubectl and the like find the cluster."""
        import os

        return {**(os.environ if base is None else base), "KUBECONFIG": str(self.kubeconfig)}

    def activate(self) -> None:
        """Set KUBECONFIG in this process to the cluster's, until the cluster ends.

        Finds its way into the official Python clients, too, which read the variable only when they are imported.
        """
        from mockkube.testing.activation import activate

        path = str(self.kubeconfig)
        self._activations.enter_context(activate(path))

    def _present(self) -> "Running":
        if self._running is None:
            raise RuntimeError(_OUTSIDE)
        return self._running

    # Clients

    def api_client(self) -> "kubernetes.client.ApiClient":
        """Return a client of the official Python library, which has to be installed; close it when done."""
        from kubernetes import config

        make: Any = config.new_client_from_config
        client: kubernetes.client.ApiClient = make(str(self.kubeconfig))
        return client

    def client(self, user_agent: str = "mockkube-testing") -> "HttpClient":
        """Return mockkube's own asynchronous client, to be entered with `async with`."""
        from mockkube.client import kubeconfig
        from mockkube.client.http import HttpClient
        from mockkube.runtime.clock import RealClock

        return HttpClient(kubeconfig.read(self.kubeconfig), user_agent, clock=RealClock())

    # What only a mock can do

    async def patch_component_async(self, name: str, **spec: Any) -> None:
        """Ask something else of a component: `version`, `featureGates`, `running`; return when it does it."""
        from mockkube.testing.steering import change_component

        async with self.client() as client:
            await change_component(client, name, spec)

    def patch_component(self, name: str, **spec: Any) -> None:
        """The same, from synchronous code."""
        if self._thread is None:
            raise RuntimeError("from asynchronous code, await patch_component_async")
        self._thread.do(lambda: self.patch_component_async(name, **spec))

    # Life

    async def __aenter__(self) -> Self:
        from mockkube.cluster.passing import configuration_of, passing_cluster

        configuration = configuration_of(self._settings)
        async with AsyncExitStack() as stack:
            self._running = await stack.enter_async_context(passing_cluster(configuration))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._activations.close()
        self._running = None
        await self._stack.aclose()

    def __enter__(self) -> Self:
        self._thread = _Thread(self)
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()

    def __repr__(self) -> str:
        where = "not running" if self._running is None else self._running.url
        return f"MockKube({json.dumps(self._settings, default=str)}, {where})"


class _Thread:
    """The event loop of a cluster that synchronous code uses."""

    def __init__(self, kube: MockKube) -> None:
        self._kube = kube
        self._started: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="mockkube", daemon=True)

    def start(self) -> None:
        """Return when the cluster answers; raise what it raised if it does not start."""
        self._thread.start()
        try:
            self._started.result(START_SECONDS_MAX)
        except BaseException:
            self.stop()
            raise

    def do(self, act: Callable[[], Awaitable[None]]) -> None:
        """Do something in the loop of the cluster, and wait for it."""
        assert self._loop is not None, "it has started"

        async def done() -> None:
            await act()

        asyncio.run_coroutine_threadsafe(done(), self._loop).result()

    def stop(self) -> None:
        """End the cluster, and wait until nothing of it runs."""
        if self._loop is not None and self._end is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:  # it belongs to whoever waits for the start
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _live(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with self._kube:
            self._started.set_result(None)
            await self._end.wait()
