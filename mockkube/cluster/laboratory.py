"""Simulated cluster: a whole cluster in this process, without sockets or files, in virtual time, each step traced.

Control API, components and API servers are those of `mockkube up`; only the executor differs. Steps are taken only in
`settle`, `advance` and `advance_until`; operators act through a client meanwhile.
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
from mockkube.client.identity import AUTHENTICATED, MASTERS, ClientIdentity, user_agent
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
from mockkube.runtime.chance import Random
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.part import Component
from mockkube.runtime.steps import Chooser, InOrderChooser, LivelockError, Worker
from mockkube.runtime.virtual import EPOCH, VirtualClock, advance, next_moment

if TYPE_CHECKING:
    from mockkube.explain.explanation import Account

# Upstream's limits of the controllers' client, not the higher ones of a cluster in real time: no user waits for virtual
# time, and hot loops have the rate of real ones.
PACE: Final[Flags] = {"kube-api-qps": 20, "kube-api-burst": 30}
# Steps at one moment after which a livelock is reported.
STEPS_MAX: Final = 100_000
_NOBODY: Final = Credentials("", None)


@dataclass(frozen=True, slots=True)
class Setup:
    """Configuration of a simulated cluster."""

    # Versions, gates, nodes; settings of sockets, files and time are ignored.
    configuration: ClusterConfiguration = field(default_factory=ClusterConfiguration)
    # Flags of components, like `node-monitor-grace-period`: see `component_flags`.
    flags: Mapping[str, Flags] = field(default_factory=dict)
    seed: int | str = 0
    start: datetime = EPOCH
    steps_max: int = STEPS_MAX

    def all_flags(self) -> Mapping[str, Flags]:
        """Return the flags with the default limits of the controllers' client."""
        return {**self.flags, CONTROLLER_MANAGER: {**PACE, **self.flags.get(CONTROLLER_MANAGER, {})}}


class Laboratory:
    """One cluster: entering starts and settles it, leaving stops it."""

    def __init__(self, setup: Setup | None = None, *, chooser: Chooser | None = None) -> None:
        """Let `chooser` pick the worker of each step, once the cluster has settled for the first time."""
        self.setup = setup or Setup()
        self.chooser: Chooser = chooser or InOrderChooser()
        self.clock = VirtualClock(self.setup.start)
        self.store = MemoryStore()
        # Number of steps taken.
        self.steps = 0
        self._control_store = MemoryStore()
        self._turns = Turns(self.clock)
        self._followers: list[Follower] = []
        self._stack = AsyncExitStack()
        self._trace: Trace | None = None
        self._interior = self._furnished()

    def _furnished(self) -> Interior:
        # No socket means no TLS, and so no certificates to generate.
        configuration = replace(self.setup.configuration, clock=VIRTUAL, db=MEMORY, tls=False)
        judge(configuration)
        judge_flags(self.setup.flags)
        chance = Random.from_seed(self.setup.seed, "cluster")
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
        """All steps since the start."""
        assert self._trace is not None, "a laboratory is looked at while it runs"
        return self._trace

    # Time

    async def settle(self) -> int:
        """Take steps until the cluster is at rest; return their number. Raises LivelockError without an end."""
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
        """Return the worker that takes the next step; None if the cluster is at rest."""
        ready_workers = (turn for turn in self._turns.present() if turn.is_ready())
        if isinstance(chooser, InOrderChooser):
            return next(ready_workers, None)  # what it would choose, without asking the others
        ready = list(ready_workers)
        return chooser.choose(ready) if ready else None

    async def _quiet(self) -> None:
        """Return when only suspended steps are left and all control resources are reconciled."""
        while True:
            await self._turns.halted()
            await self._interior.fleet.quiet()
            await self._interior.control.registry.services.cache.reach(self._control_store.revision)
            # Control resources are reconciled between steps, not as steps: an operator's command takes effect as a
            # whole.
            if self._interior.fleet.is_ready():
                await self._interior.fleet.step()
            elif (waiting := next((one for one in self._followers if one.is_ready()), None)) is not None:
                await waiting.step()
            else:
                return

    async def advance(self, seconds: float) -> None:
        """Advance time; workers take their steps at the moments they wake."""
        await advance(self.clock, seconds, self._turns.present, self.settle)

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Advance time until a condition holds, at most this long; return whether it does.

        It is evaluated whenever the cluster is at rest, so the clock stops at the first moment at which it holds.
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
        user: ClientIdentity | None = None,
        server: str = API_SERVER,
        *,
        writes: WriteOptions | None = None,
        heard: Heard | None = None,
    ) -> LocalClient:
        """Return a client of an API server, by default the administrator's."""
        who = user or ClientIdentity(ADMIN, (MASTERS, AUTHENTICATED), user_agent("kubectl", DEFAULT))
        door = self._interior.fleet.workshop.door(server)
        options = writes or WriteOptions(field_manager="kubectl")
        return LocalClient(door, who, None, writes=options, heard=heard or (lambda warnings: None))

    # Components

    def components(self) -> Mapping[str, Asked]:
        """Return the spec of every component."""
        return self._interior.control.components()

    async def set(self, component: str, **wished: Any) -> Sequence[str]:
        """Create a component or change its spec; return warnings of the control API.

        `version`, `gates`, `running` and `server` are fields of the spec; others stay. A gate of None returns to its
        default. Raises Invalid, in the words of the real binary, if it would not start.
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
        """Restart a component, which loses all memory."""
        if component not in self.components():
            raise NotFound.for_object(GROUP, "components", component)
        await self._quiet()
        await self._interior.fleet.restart(component)
        await self.trace.note(self.clock.monotonic(), "restart", component)

    async def remove(self, component: str) -> None:
        """Delete a replica, or the kubelet of one node."""
        await self._interior.control.remove("components", component)
        await self._quiet()
        await self.trace.note(self.clock.monotonic(), "component", f"{component} is gone")

    def part(self, component: str) -> Component | None:
        """Return the object of a running component; None for API servers and stopped components."""
        asked = self.components().get(component)
        return self._interior.fleet.workshop.part(component) if asked is not None and asked.running else None

    async def why(self, pod: Key) -> "Account":
        """Explain a pod; NotFound if it never existed."""
        return await self._interior.why.account(pod)

    def failed(self) -> dict[str, str]:
        """Return components that stopped because of a bug, with the error."""
        doings = {name: self._interior.fleet.doing(name) for name in self.components()}
        return {name: doing.message for name, doing in doings.items() if doing.reason == "Failed"}

    def scribbled(self) -> list[str]:
        """Return keys of cached objects that were modified in place, which is a bug: caches share them."""
        workshop = self._interior.fleet.workshop
        running = [name for name, asked in self.components().items() if is_api_server(name) and asked.running]
        return [key for name in running for key in workshop.door(name).desk().scribbled()]

    def metrics(self, component: str) -> bytes:
        """Return the metrics of a component in Prometheus' text format; NotFound if it does not exist."""
        self._interior.fleet.doing(component)
        return self._interior.fleet.metrics(component)

    def log(self, component: str) -> ComponentLog:
        """Return the log of a component; NotFound if it does not exist."""
        self._interior.fleet.doing(component)
        return self._interior.fleet.log(component)

    # Faults and snapshots

    async def fault(self, name: str, spec: Object) -> None:
        """Create or change a fault; Invalid if the control API rejects it."""
        known = name in self._interior.control.objects("faults")
        await (self._interior.control.tell if known else self._interior.control.create)("faults", name, spec)
        await self._quiet()

    async def end_fault(self, name: str) -> None:
        """Delete a fault."""
        await self._interior.control.remove("faults", name)
        await self._quiet()

    async def snapshot(self, name: str) -> ReadOnlyObject:
        """Save the state of the cluster under a new name; return the Snapshot."""
        await self._quiet()
        await self._interior.control.create("snapshots", name, {})
        await self._quiet()
        return self._interior.control.objects("snapshots")[name]

    async def restore(self, name: str) -> ReadOnlyObject:
        """Restore the cluster from a snapshot, which restarts every component. NotFound if there is none."""
        await self._quiet()
        present = self._interior.control.objects("snapshots").get(name)
        if present is None:
            raise NotFound.for_object(GROUP, "snapshots", name)
        asked = present["spec"].get("restore", 0) + 1
        await self._interior.control.tell("snapshots", name, {"restore": asked})
        await self._quiet()
        await self.trace.note(self.clock.monotonic(), "restore", name)
        return self._interior.control.objects("snapshots")[name]


def _changed(spec: ReadOnlyObject, wished: Mapping[str, Any]) -> Object:
    """Return the spec of a component with these changes."""
    changed = {**spec}
    for name in ("version", "running", "server"):
        if (value := wished.get(name)) is not None:
            changed[name] = str(value) if name == "version" else value
    if gates := wished.get("gates"):
        gate_values = {**spec.get("featureGates", {}), **gates}
        changed["featureGates"] = {name: on for name, on in gate_values.items() if on is not None}
    return changed


def _shown(wished: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(wished.items()) if value is not None)
