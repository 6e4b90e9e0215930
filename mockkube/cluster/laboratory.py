"""A whole cluster inside this process: no sockets, no files, time that moves when told, and every step in view.

The same control API, components and API servers as those of `mockkube up`; what differs is who takes the steps. Nothing
happens but what `settle`, `advance` and `until` let happen, and what an operator does through a client.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.errors import NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.local.client import Heard, LocalClient
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.client.identity import AUTHENTICATED, MASTERS, Identity, user_agent
from mockkube.client.protocol import Key
from mockkube.cluster.certificates import ADMIN
from mockkube.cluster.components import judge
from mockkube.cluster.configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.control.component import Asked
from mockkube.cluster.control.definitions import GROUP
from mockkube.cluster.control.following import Follower
from mockkube.cluster.credentials import Credentials
from mockkube.cluster.front import NoFront
from mockkube.cluster.image import images
from mockkube.cluster.interior import Basis, Interior
from mockkube.cluster.nodes import register
from mockkube.cluster.part_flags import judge as judge_flags
from mockkube.cluster.parts import Flags
from mockkube.cluster.readings import VIRTUAL
from mockkube.cluster.servers import build_api_server
from mockkube.cluster.trace import Trace
from mockkube.cluster.turns import Turns
from mockkube.cluster.vault import MemoryVault
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, is_api_server
from mockkube.features.versions import DEFAULT
from mockkube.runtime.chance import Chance
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.part import Part
from mockkube.runtime.steps import Chooser, InOrderChooser, LivelockError, Worker
from mockkube.runtime.virtual import EPOCH, VirtualClock, advance, next_moment

if TYPE_CHECKING:
    from mockkube.explain.explanation import Account

PACE: Final[Flags] = {"kube-api-qps": 20, "kube-api-burst": 30}
"""Upstream's limits of the controllers' client, not the higher ones of a cluster in real time: nobody waits for virtual
time, and loops go as fast as they really do."""
STEPS_MAX: Final = 100_000
"""Steps at one moment after which it is said that there is no end to them."""
_NOBODY: Final = Credentials("", None)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a laboratory begins with."""

    configuration: ClusterConfiguration = field(default_factory=ClusterConfiguration)
    """Versions, gates, nodes; what it says of sockets, files and time is passed over."""
    flags: Mapping[str, Flags] = field(default_factory=dict)
    """What components are told by flags of their own, like `node-monitor-grace-period`: see `part_flags`."""
    seed: int | str = 0
    start: datetime = EPOCH
    steps_max: int = STEPS_MAX

    def all_flags(self) -> Mapping[str, Flags]:
        """The flags, with the pace of controllers unless they say another."""
        return {**self.flags, CONTROLLER_MANAGER: {**PACE, **self.flags.get(CONTROLLER_MANAGER, {})}}


class Laboratory:
    """One cluster: entering starts it and brings it to rest, leaving ends it."""

    def __init__(self, setup: Setup | None = None, *, chooser: Chooser | None = None) -> None:
        """Let `chooser` pick who goes next, once the cluster has come to rest for the first time."""
        self.setup = setup or Setup()
        self.chooser: Chooser = chooser or InOrderChooser()
        self.clock = VirtualClock(self.setup.start)
        self.store = MemoryStore()
        self.steps = 0
        """How many steps were taken so far."""
        self._control_store = MemoryStore()
        self._turns = Turns(self.clock)
        self._followers: list[Follower] = []
        self._stack = AsyncExitStack()
        self._trace: Trace | None = None
        self._interior = self._furnished()

    def _furnished(self) -> Interior:
        configuration = replace(self.setup.configuration, clock=VIRTUAL, db=MEMORY, tls=False)
        judge(configuration)
        judge_flags(self.setup.flags)
        chance = Chance.from_seed(self.setup.seed, "cluster")
        basis = Basis(
            self.store,
            self._control_store,
            MemoryVault(),
            configuration,
            _NOBODY,
            self.clock,
            chance,
            self.setup.all_flags(),
        )
        return Interior(basis, build_api_server, lambda faults: NoFront, self._turns)

    # Life

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._start(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def _start(self, stack: AsyncExitStack) -> None:
        for store in (self.store, self._control_store):
            await store.start()
            stack.push_async_callback(store.close)
        interior, fleet = self._interior, self._interior.fleet
        for key, value in await images().of(interior.around):
            await self.store.create(key, value)
        self._trace = Trace(await stack.enter_async_context(self.store.watch("", after=self.store.revision)))
        await interior.enter(stack)
        server = await fleet.start()
        configuration = interior.around.configuration
        version = fleet.settings(KUBELET).version
        await register(server, configuration.nodes, version=version, now=self.clock.now())
        await fleet.listen()
        self._followers = interior.followers(renew=fleet.renew_now)
        for follower in self._followers:
            stack.enter_context(follower.following())
        await self._settle(InOrderChooser())

    @property
    def trace(self) -> Trace:
        """All that has happened so far."""
        assert self._trace is not None, "a laboratory is looked at while it runs"
        return self._trace

    # Time

    async def settle(self) -> int:
        """Let all that can happen now happen; return the steps taken. Raises LivelockError when there is no end."""
        return await self._settle(self.chooser)

    async def _settle(self, chooser: Chooser) -> int:
        taken = 0
        for taken in range(self.setup.steps_max):
            await self._quiet()
            worker = self._next(chooser)
            if worker is None:
                await self.trace.outside(self.clock.monotonic())
                return taken
            await self.trace.outside(self.clock.monotonic())
            await worker.step()
            self.steps += 1
            await self.trace.step(self.clock.monotonic(), worker.name)
        raise LivelockError(f"no rest after {taken} steps at one moment: components undo each other")

    def _next(self, chooser: Chooser) -> Worker | None:
        """Return who goes next; None if nobody has anything to do."""
        waiting = (turn for turn in self._turns.present() if turn.ready())
        if isinstance(chooser, InOrderChooser):
            return next(waiting, None)  # what it would choose, without asking the others
        ready = list(waiting)
        return chooser.choice(ready) if ready else None

    async def _quiet(self) -> None:
        """Return when nothing goes on but steps held up, and what was asked of the control API is done."""
        while True:
            await self._turns.halted()
            await self._interior.fleet.quiet()
            await self._interior.control.registry.services.cache.reach(self._control_store.revision)
            if self._interior.fleet.ready():
                await self._interior.fleet.step()
            elif (waiting := next((one for one in self._followers if one.ready()), None)) is not None:
                await waiting.step()
            else:
                return

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen at its moment."""
        await advance(self.clock, seconds, self._turns.present, self.settle)

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Let time pass until something holds, at most so long; return whether it does.

        It is asked whenever all is at rest, so the clock stands at the moment from which it holds.
        """
        deadline = self.clock.monotonic() + seconds_max
        await self.settle()
        while not await holds():
            moment = next_moment(self.clock, self._turns.present())
            if moment is None or moment > deadline:
                await self.advance(deadline - self.clock.monotonic())
                return await holds()
            await self.advance(moment - self.clock.monotonic())
        return True

    # People

    def client(
        self,
        user: Identity | None = None,
        server: str = API_SERVER,
        *,
        writes: WriteOptions | None = None,
        heard: Heard | None = None,
    ) -> LocalClient:
        """Return the client of somebody, an administrator unless told who, at an API server of a name."""
        who = user or Identity(ADMIN, (MASTERS, AUTHENTICATED), user_agent("kubectl", DEFAULT))
        door = self._interior.fleet.workshop.door(server)
        options = writes or WriteOptions(field_manager="kubectl")
        return LocalClient(door, who, None, writes=options, heard=heard or (lambda warnings: None))

    # Components

    def components(self) -> Mapping[str, Asked]:
        """Return what every component is asked for."""
        return self._interior.control.components()

    async def set(self, component: str, **wished: Any) -> Sequence[str]:
        """Ask something else of a component, or for one that is new; return what the control API warns of.

        `version`, `gates`, `running` and `server` are those of its spec; what is not named stays. A gate that is None
        is as its version has it again. Raises Invalid, in the words of the real binary, when it would not start.
        """
        control = self._interior.control
        present = control.objects("components").get(component)
        spec = _changed({} if present is None else present["spec"], wished)
        await self.trace.outside(self.clock.monotonic())
        warnings = await (control.create if present is None else control.tell)("components", component, spec)
        await self._quiet()
        await self.trace.note(self.clock.monotonic(), "component", f"{component} {_shown(wished)}")
        return warnings

    async def restart(self, component: str) -> None:
        """Let a component lose all that it had in memory."""
        if component not in self.components():
            raise NotFound.object(GROUP, "components", component)
        await self._quiet()
        await self._interior.fleet.restart(component)
        await self.trace.note(self.clock.monotonic(), "restart", component)

    async def remove(self, component: str) -> None:
        """Take away a replica, or the kubelet of one node."""
        await self._interior.control.remove("components", component)
        await self._quiet()
        await self.trace.note(self.clock.monotonic(), "component", f"{component} is gone")

    def part(self, component: str) -> Part | None:
        """Return the part that a component is at the moment; None for an API server, or when it does not run."""
        asked = self.components().get(component)
        return self._interior.fleet.workshop.part(component) if asked is not None and asked.running else None

    async def why(self, pod: Key) -> "Account":
        """Return what is to be said of a pod, by asking everybody again; NotFound if nobody has heard of it."""
        return await self._interior.why.account(pod)

    def failed(self) -> dict[str, str]:
        """Return the components that are to run and do not, for a bug of theirs; with what it says of itself."""
        doings = {name: self._interior.fleet.doing(name) for name in self.components()}
        return {name: doing.message for name, doing in doings.items() if doing.reason == "Failed"}

    def scribbled(self) -> list[str]:
        """Return the keys of objects that somebody has changed in place although all share them: a bug."""
        workshop = self._interior.fleet.workshop
        running = [name for name, asked in self.components().items() if is_api_server(name) and asked.running]
        return [key for name in running for key in workshop.door(name).desk().scribbled()]

    def metrics(self, component: str) -> bytes:
        """Return the metrics of a component, as Prometheus scrapes them; NotFound if there is no such component."""
        self._interior.fleet.doing(component)
        return self._interior.fleet.metrics(component)

    def log(self, component: str) -> ComponentLog:
        """Return the log of a component; NotFound if there is no such component."""
        self._interior.fleet.doing(component)
        return self._interior.fleet.log(component)

    # Faults and snapshots

    async def fault(self, name: str, spec: Object) -> None:
        """Let requests go wrong from now on; Invalid if the control API would refuse such a fault."""
        known = name in self._interior.control.objects("faults")
        await (self._interior.control.tell if known else self._interior.control.create)("faults", name, spec)
        await self._quiet()

    async def end_fault(self, name: str) -> None:
        """Let requests go well again."""
        await self._interior.control.remove("faults", name)
        await self._quiet()

    async def snapshot(self, name: str) -> ReadOnlyObject:
        """Keep the state of the cluster under a new name; return the Snapshot."""
        await self._quiet()
        await self._interior.control.create("snapshots", name, {})
        await self._quiet()
        return self._interior.control.objects("snapshots")[name]

    async def restore(self, name: str) -> ReadOnlyObject:
        """Bring the cluster back to a snapshot; every component starts anew. NotFound if there is none."""
        await self._quiet()
        present = self._interior.control.objects("snapshots").get(name)
        if present is None:
            raise NotFound.object(GROUP, "snapshots", name)
        asked = present["spec"].get("restore", 0) + 1
        await self._interior.control.tell("snapshots", name, {"restore": asked})
        await self._quiet()
        await self.trace.note(self.clock.monotonic(), "restore", name)
        return self._interior.control.objects("snapshots")[name]


def _changed(spec: ReadOnlyObject, wished: Mapping[str, Any]) -> Object:
    """Return the spec of a component with what is wished over it."""
    changed = {**spec}
    for name in ("version", "running", "server"):
        if (value := wished.get(name)) is not None:
            changed[name] = str(value) if name == "version" else value
    if gates := wished.get("gates"):
        told = {**spec.get("featureGates", {}), **gates}
        changed["featureGates"] = {name: on for name, on in told.items() if on is not None}
    return changed


def _shown(wished: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(wished.items()) if value is not None)
