"""Controller of Components: runs what their specs ask for, and reports their status.

It reconciles like any controller: a changed component wakes it, it reads the present specs, acts and reports.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from mockkube_storage import errors as store_errors

from mockkube.api.errors import NotFound
from mockkube.apiserver.registry.cache import Change
from mockkube.cluster.components import Settings
from mockkube.cluster.control.component import Asked
from mockkube.cluster.control.definitions import GROUP
from mockkube.cluster.control.following import is_report
from mockkube.cluster.control.plane import ControlPlane
from mockkube.cluster.control.reporting import Doing, status_of
from mockkube.cluster.crew import Crew
from mockkube.cluster.faults import Faults
from mockkube.cluster.front import Fronts
from mockkube.cluster.loop_watch import LoopWatch
from mockkube.cluster.parts import Flags
from mockkube.cluster.replica import Replica
from mockkube.cluster.servers import Server, Surroundings
from mockkube.cluster.stage import Stage
from mockkube.cluster.state import Summary
from mockkube.cluster.workshop import Workshop
from mockkube.features.components import API_SERVER, is_api_server
from mockkube.runtime.component_log import ComponentLog

if TYPE_CHECKING:
    from mockkube.apiserver.server import ApiServer

# Delay before a component that failed is started again.
RETRY_SECONDS: Final = 1.0
_STOPPED: Final = Doing(running=False, reason="Stopped", message="spec.running is false")

_LOG: Final = logging.getLogger("mockkube.cluster")


@dataclass(frozen=True, slots=True)
class Means:
    """Dependencies of the component controller, besides those of API servers."""

    build: Callable[[Surroundings], Server]
    fronts: Fronts
    stage: Stage
    faults: Faults
    # Flags of components other than API servers, by name: see `component_flags`.
    flags: Mapping[str, Flags] = field(default_factory=dict)


class Fleet:
    """Controller of all components of one cluster."""

    def __init__(self, surroundings: Surroundings, control: ControlPlane, means: Means) -> None:
        # Called after each report.
        self.told: Callable[[], None] = lambda: None
        self._surroundings = surroundings
        self._control = control
        self._means = means
        self.workshop = Workshop(surroundings.clock, surroundings.chance, means.faults, means.stage, means.flags)
        self._crew = Crew(self.workshop, means.stage, control, failed=self._fall)
        self._replicas: dict[str, Replica] = {}
        self._failures: dict[str, str] = {}
        self._pending: dict[str, None] = {}
        self._renewals: deque[tuple[Callable[[], Awaitable[None]], asyncio.Future[None]]] = deque()
        self._wake = asyncio.Event()
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []
        self._listening = False

    async def start(self) -> Server:
        """Start every API server; return the first one."""
        components = self._control.components()
        first = await self._replica_of(API_SERVER).become(components[API_SERVER])
        for name, asked in components.items():
            if is_api_server(name):
                await self._replica_of(name).become(asked)
        return first

    async def listen(self) -> None:
        """Accept connections, start the other components, receive changes; `step` or `run` acts on them."""
        for replica in self._replicas.values():
            await replica.front.listen()
        self._listening = True
        await self._means.stage.__aenter__()
        await self._group.__aenter__()
        for name, asked in self._control.components().items():
            if not is_api_server(name):
                await self._crew.follow(name, asked)
        await self._report()
        self._control.collection("components").listeners[self._heed] = None

    def run(self) -> None:
        """Reconcile in a task of its own until stopped."""
        loops = LoopWatch(self._surroundings.clock, self.workshop.looping, self._any_loops, self._wake.set)
        self._tasks += [self._group.create_task(self._run()), self._group.create_task(loops.run())]

    def refuse(self) -> None:
        """Accept no further connections."""
        for replica in self._replicas.values():
            replica.front.refuse()

    async def stop(self) -> None:
        """Stop reconciling, then every component; also after a start that failed."""
        if self._listening:
            self._listening = False
            self._control.collection("components").listeners.pop(self._heed, None)
            for task in self._tasks:
                task.cancel()
            await self._group.__aexit__(None, None, None)
            for _, done in self._renewals:
                done.cancel()
            await self._crew.stop()
            await self._means.stage.__aexit__(None, None, None)
        # API servers last, so that the other components can end their requests.
        for server in reversed(self._replicas.values()):
            await server.stop()

    def summaries(self) -> list[Summary]:
        """Return name, version and state of every component."""
        return [
            Summary(name, str(asked.settings.version), self._doing(name, asked).running, self.url(name))
            for name, asked in sorted(self._control.components().items())
        ]

    async def quiet(self) -> None:
        """Return when every API server has all stored changes and has delivered them to its watchers."""
        clock, store = self._surroundings.clock, self._surroundings.store
        await clock.sleep(0)
        # A loop: delivering to one server's watchers may cause writes that another has to read.
        while busy := [server for server in self.servers() if server.busy]:
            for server in busy:
                await server.registry.services.cache.reach(store.revision)
            await clock.sleep(0)

    def servers(self) -> list["ApiServer"]:
        """Return all API servers in this process."""
        servers = (replica.server for replica in self._replicas.values())
        return [server.whole for server in servers if server is not None and server.whole is not None]

    async def restart(self, name: str) -> None:
        """Restart a component, which loses all memory."""
        asked = self._control.components()[name]
        if is_api_server(name):
            await self._replicas[name].end()
        else:
            await self._crew.follow(name, replace(asked, running=False))
        await self._follow(name, asked)
        await self._report()

    def url(self, name: str) -> str:
        """Return the URL of an API server; empty for other components."""
        return self._replicas[name].front.url if name in self._replicas else ""

    def doing(self, name: str) -> Doing:
        """Return the state of a component; NotFound if it does not exist."""
        asked = self._control.components().get(name)
        if asked is None:
            raise NotFound.for_object(GROUP, "components", name)
        return self._doing(name, asked)

    def since(self, name: str) -> datetime:
        """Return when a running component was started."""
        since = self._replicas[name].since if is_api_server(name) else self.workshop.made(name)
        return since or self._surroundings.clock.now()

    def asked(self, name: str) -> Asked:
        """Return the spec of a component."""
        return self._control.components()[name]

    def settings(self, name: str) -> Settings:
        """Return version and gates of a component."""
        return self.asked(name).settings

    def metrics(self, name: str) -> bytes:
        """Return the metrics of a running component."""
        server = self._replicas[name].server if is_api_server(name) else None
        if server is None or server.whole is None:
            return self.workshop.metrics(name) or b""
        return server.whole.metrics.render()

    def log(self, name: str) -> ComponentLog:
        """Return the log of a component."""
        return self.workshop.door(name).log if is_api_server(name) else self.workshop.log(name)

    def recheck(self, faults: list[str]) -> None:
        """Cut open watches that match these new faults."""
        for replica in self._replicas.values():
            replica.front.recheck(faults)
        self.workshop.recheck(faults)

    async def renew(self, between: Callable[[], Awaitable[None]]) -> None:
        """Stop every component, await `between`, start all again; raise the error of `between` after that."""
        done = asyncio.get_running_loop().create_future()
        self._renewals.append((between, done))
        self._wake.set()
        await done

    def _replica_of(self, name: str) -> Replica:
        """Return the API server of a name; create it if it is new."""
        if name not in self._replicas:
            around = self._surroundings

            def build(asked: Asked) -> Server:
                return self._means.build(replace(around, settings=asked.settings, board=self.workshop.board(name)))

            self._replicas[name] = Replica(self._means.fronts(name), self.workshop.door(name), build, around.clock)
        return self._replicas[name]

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            await self.step()

    def is_ready(self) -> bool:
        """Return whether some change is not reconciled yet."""
        return self._wake.is_set()

    def _heed(self, change: Change) -> None:
        if not is_report(change):
            self._look_at(change.record.name)

    def _look_at(self, name: str) -> None:
        self._pending[name] = None
        self._wake.set()

    async def _retry(self, name: str) -> None:
        await self._surroundings.clock.sleep(RETRY_SECONDS)
        self._look_at(name)

    async def step(self) -> None:
        """Reconcile every changed component, then report the status of all."""
        self._wake.clear()
        while self._renewals:
            await self._renew_for(*self._renewals.popleft())
        await self._crew.clear()
        changed, self._pending = self._pending, {}
        components = self._control.components()
        # API servers first: other components may need a new one.
        for name in sorted(changed, key=lambda name: not is_api_server(name)):
            await self._follow(name, components.get(name))
        await self._report()

    async def _renew_for(self, between: Callable[[], Awaitable[None]], done: "asyncio.Future[None]") -> None:
        """Restart all components, and pass the result to the waiting caller."""
        try:
            await self.renew_now(between)
        except Exception as error:  # passed to the caller of `restart_all`
            if not done.done():
                # The components run again at this point; the error belongs to the caller's function.
                done.set_exception(error)
        except BaseException:
            done.cancel()
            raise
        if not done.done():
            done.set_result(None)

    async def renew_now(self, between: Callable[[], Awaitable[None]]) -> None:
        """Do the same as `restart_all`, for callers that take the steps of this controller themselves."""
        await self._crew.stop()
        for replica in self._replicas.values():
            await replica.end()
        try:
            await between()
        finally:
            components = self._control.components()
            for name in sorted({**components, **self._replicas}, key=lambda name: not is_api_server(name)):
                await self._follow(name, components.get(name))

    async def _follow(self, name: str, asked: Asked | None) -> None:
        if not is_api_server(name):
            await self._crew.follow(name, asked)
        elif asked is None:
            self._failures.pop(name, None)
            if (gone := self._replicas.pop(name, None)) is not None:
                gone.front.refuse()
                await gone.stop()
        else:
            await self._follow_server(name, asked)

    async def _follow_server(self, name: str, asked: Asked) -> None:
        fresh = name not in self._replicas
        try:
            await self._replica_of(name).become(asked)
            # A new replica listens only after its server has started; the socket of an existing one stays open.
            if fresh:
                await self._replicas[name].front.listen()
        except (store_errors.Unavailable, OSError) as error:
            self._failures[name] = str(error)
            self._fall(name)
        else:
            self._failures.pop(name, None)

    def _fall(self, name: str) -> None:
        """Schedule another attempt for a component that failed."""
        _LOG.warning("%s failed: next try in %.0f s", name, RETRY_SECONDS)
        self._wake.set()
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(self._group.create_task(self._retry(name)))

    async def _report(self) -> None:
        """Report the status of every component."""
        components = self._control.components()
        doings = {name: self._doing(name, asked) for name, asked in components.items()}
        now = self._surroundings.clock.now()
        for obj in self._control.objects("components").values():
            status = status_of(obj, components, doings, now=now)
            try:
                await self._control.report("components", obj, status)
            except NotFound:
                continue  # deleted meanwhile, which wakes us
        self.told()

    def _any_loops(self) -> bool:
        return any(self.workshop.loops(name) for name in self._control.components())

    def _doing(self, name: str, asked: Asked) -> Doing:
        if not asked.running:
            return replace(_STOPPED, url=self.url(name))
        if not is_api_server(name):
            return self._crew.doing(name, asked)
        if name in self._failures:
            return Doing(running=False, reason="Failed", message=self._failures[name], url=self.url(name))
        loops = tuple(self.workshop.loops(name))
        return Doing(running=True, reason="Running", message="answers requests", url=self.url(name), loops=loops)
