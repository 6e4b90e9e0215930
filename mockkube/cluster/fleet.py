"""The API servers of a cluster, as its components ask for them; and what each component is reported to do.

A worker like any controller: a change of a component wakes it, it reads what is asked now, acts, and reports. The
scheduler, the controllers and the kubelets do not exist yet, and their components say so.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api.errors import NotFound
from mockkube.apiserver.registry.cache import Change, ChangeType, Record
from mockkube.cluster.components import API_SERVER, components_of, left_out, settings_of
from mockkube.cluster.control.component import Asked
from mockkube.cluster.control.plane import ControlPlane
from mockkube.cluster.control.reporting import Doing, status_of
from mockkube.cluster.listener import bind
from mockkube.cluster.replica import Replica
from mockkube.cluster.servers import Server, Surroundings
from mockkube.cluster.state import Summary

RETRY_SECONDS: Final = 1.0
"""How long after a server did not come up it is tried again."""
_ABSENT: Final = Doing(running=False, reason="NotImplemented", message="mockkube does not have this component yet")
_STOPPED: Final = Doing(running=False, reason="Stopped", message="spec.running is false")

_LOG: Final = logging.getLogger("mockkube.cluster")


def is_api_server(component: str) -> bool:
    """Whether a component is an API server."""
    return component.partition(".")[0] == API_SERVER


class Fleet:
    """Every component of one cluster."""

    def __init__(
        self,
        surroundings: Surroundings,
        control: ControlPlane,
        build: Callable[[Surroundings], Server],
    ) -> None:
        self.told: Callable[[], None] = lambda: None
        """Called after each report."""
        self._surroundings = surroundings
        self._control = control
        self._build = build
        self._replicas: dict[str, Replica] = {}
        self._failures: dict[str, str] = {}
        self._pending: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._group = asyncio.TaskGroup()
        self._running: asyncio.Task[None] | None = None

    async def start(self, listening: socket.socket) -> Server:
        """Start every API server; return the first, which gets this socket."""
        configuration = self._surroundings.configuration
        for name in components_of(configuration):
            settings = settings_of(configuration, name)
            spec = {
                "version": str(settings.version),
                "featureGates": dict(settings.feature_gates),
                "running": not left_out(configuration, name),
            }
            await self._control.create("components", name, spec)
        components = self._control.components()
        self._replicas[API_SERVER] = self._replica(listening)
        first = await self._replicas[API_SERVER].become(components[API_SERVER])
        for name, asked in components.items():
            if is_api_server(name):
                await self._replica_of(name).become(asked)
        return first

    async def listen(self) -> None:
        """Begin to answer, and to follow the components."""
        for server in self._replicas.values():
            await server.listen()
        await self._report()
        await self._group.__aenter__()
        self._running = self._group.create_task(self._run())

    def refuse(self) -> None:
        """Accept no further connections."""
        for server in self._replicas.values():
            server.refuse()

    async def stop(self) -> None:
        """Stop following, then every server; also after a start that failed."""
        if self._running is not None:
            self._running.cancel()
            await self._group.__aexit__(None, None, None)
            self._running = None
        for server in reversed(self._replicas.values()):
            await server.stop()

    def summaries(self) -> list[Summary]:
        """Return every component in a line."""
        return [
            Summary(name, str(asked.settings.version), self._doing(name, asked).running, self._url(name))
            for name, asked in sorted(self._control.components().items())
        ]

    def _replica(self, listening: socket.socket) -> Replica:
        def build(asked: Asked) -> Server:
            return self._build(replace(self._surroundings, settings=asked.settings))

        return Replica(listening, build, tls=self._surroundings.credentials.tls())

    def _replica_of(self, name: str) -> Replica:
        """Return the API server of a name, on a free port if it is new."""
        if name not in self._replicas:
            self._replicas[name] = self._replica(bind(self._surroundings.configuration.bind, 0))
        return self._replicas[name]

    async def _run(self) -> None:
        """Follow the components until cancelled."""
        collection = self._control.collection("components")
        collection.listeners[self._heed] = None
        try:
            while True:
                await self._wake.wait()
                await self.step()
                if self._failures:
                    await self._surroundings.clock.sleep(RETRY_SECONDS)
                    self._pending |= dict.fromkeys(self._failures)
                    self._wake.set()
        finally:
            del collection.listeners[self._heed]

    def _heed(self, change: Change) -> None:
        if change.type is ChangeType.MODIFIED and _generation(change.record) == _generation(change.previous):
            return  # a report, most likely our own
        self._pending[change.record.name] = None
        self._wake.set()

    async def step(self) -> None:
        """See to every component that has changed, then report on all."""
        self._wake.clear()
        changed, self._pending = self._pending, {}
        components = self._control.components()
        for name in filter(is_api_server, changed):
            await self._follow(name, components.get(name))
        await self._report()

    async def _follow(self, name: str, asked: Asked | None) -> None:
        if asked is None:
            self._failures.pop(name, None)
            if (gone := self._replicas.pop(name, None)) is not None:
                gone.refuse()
                await gone.stop()
            return
        fresh = name not in self._replicas
        try:
            await self._replica_of(name).become(asked)
            if fresh:
                await self._replicas[name].listen()
        except (store_errors.Unavailable, OSError) as error:
            _LOG.warning("%s does not start, next try in %.0f s: %s", name, RETRY_SECONDS, error)
            self._failures[name] = str(error)
        else:
            self._failures.pop(name, None)

    async def _report(self) -> None:
        """Tell of every component what it does."""
        components = self._control.components()
        now = self._surroundings.clock.now()
        for name, obj in self._control.objects("components").items():
            doing = self._doing(name, components[name])
            status = status_of(obj, components, doing, now=now)
            try:
                await self._control.report("components", obj, status)
            except NotFound:
                continue  # deleted meanwhile, which wakes us
        self.told()

    def _doing(self, name: str, asked: Asked) -> Doing:
        if not asked.running:
            return replace(_STOPPED, url=self._url(name))
        if not is_api_server(name):
            return _ABSENT
        if name in self._failures:
            return Doing(running=False, reason="Failed", message=self._failures[name], url=self._url(name))
        return Doing(running=True, reason="Running", message="answers requests", url=self._url(name))

    def _url(self, name: str) -> str:
        return self._replicas[name].url if name in self._replicas else ""


def _generation(record: Record | None) -> int:
    return 0 if record is None else int(record.load()["metadata"]["generation"])
