"""World in virtual time: a simulated cluster, stepped by the scenario."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from mockkube.api.conditions import make_condition
from mockkube.api.errors import Unavailable
from mockkube.api.types import Object
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.client.identity import AUTHENTICATED, ClientIdentity, user_agent
from mockkube.client.protocol import Client, Key, PatchType
from mockkube.cluster.components import Settings
from mockkube.cluster.control.clock import AT_REST, CLOCK, render_now, target_of
from mockkube.cluster.control.definitions import GROUP
from mockkube.cluster.control.reporting import dated
from mockkube.cluster.laboratory import Laboratory
from mockkube.cluster.readings import VIRTUAL
from mockkube.controllers.controller_manager import ControllerManager
from mockkube.features.components import CONTROLLER_MANAGER
from mockkube.features.versions import DEFAULT
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import LogEntry
from mockkube.scenario.errors import Impossible
from mockkube.scenario.world import ADMINISTRATOR, Scene, Who, World

_ROBOT: Final = "system:serviceaccount:"
_CLOCKS: Final = f"Clock.{GROUP}"


class LaboratoryWorld(World):
    """A simulated cluster as steps act on it."""

    def __init__(self, laboratory: Laboratory, scene: Scene) -> None:
        super().__init__(scene)
        self.laboratory = laboratory

    @property
    def clock(self) -> Clock:
        """Virtual clock."""
        return self.laboratory.clock

    def settings(self, component: str) -> Settings:
        """Return version and gates that the control API asks for."""
        return self.laboratory.components()[component].settings

    @property
    def now(self) -> float:
        """Seconds since the cluster's time began."""
        return self.laboratory.clock.monotonic()

    @property
    def moments(self) -> int:
        """Number of steps in the trace."""
        return len(self.laboratory.trace.steps)

    def client(self, who: Who = ADMINISTRATOR) -> Client:
        """Return a client with this identity; its warnings are collected."""
        writes = WriteOptions(who.dry_run, who.field_manager, who.field_validation)
        return self.laboratory.client(_identity(who), who.server, writes=writes, heard=self.warnings.extend)

    async def settle(self) -> None:
        """Run steps until no worker has one left."""
        await self.laboratory.settle()

    async def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        await self.laboratory.advance(seconds)

    async def catch_up(self) -> None:
        """Let time pass to the target of the control API's clock, and report its arrival."""
        client, key = self.laboratory.client(), Key("", CLOCK)
        try:
            clock = await client.get(_CLOCKS, key)
        except Unavailable:
            return  # nobody can have told it anything
        target, generation = target_of(clock), clock["metadata"]["generation"]
        if target is None or (clock.get("status") or {}).get("observedGeneration") == generation:
            # A fault or a stopped API server may make the clock unreadable; nobody can have written it then.
            return
        await self.laboratory.advance(max((target - self.clock.now()).total_seconds(), 0.0))
        now = self.clock.now()
        rest = make_condition(
            AT_REST, holds=True, reason="Arrived", message="nobody has anything left to do until time passes"
        )
        status = {"mode": VIRTUAL, "now": render_now(now, VIRTUAL), "observedGeneration": generation}
        patch = {"status": {**status, "conditions": dated(clock, [rest], now)}}
        await client.patch(_CLOCKS, key, patch, media=PatchType.MERGE, subresource="status")

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Let virtual time pass until a condition holds."""
        return await self.laboratory.until(holds, seconds_max)

    async def component(self, name: str, **wished: Any) -> Sequence[str]:
        """Change the component through the control API."""
        return await self.laboratory.set(name, **wished)

    async def restart(self, component: str) -> None:
        """Restart the component."""
        await self.laboratory.restart(component)

    async def remove(self, component: str) -> None:
        """Remove the component."""
        await self.laboratory.remove(component)

    async def fault(self, name: str, spec: Object | None) -> None:
        """Create the fault, or delete it."""
        if spec is None:
            await self.laboratory.end_fault(name)
        else:
            await self.laboratory.fault(name, spec)

    async def snapshot(self, name: str) -> None:
        """Create the snapshot."""
        await self.laboratory.snapshot(name)

    async def restore(self, name: str) -> None:
        """Restore the snapshot."""
        await self.laboratory.restore(name)

    def loops(self) -> list[Mapping[str, Any]]:
        """Return the hot loops of the controller manager."""
        part = self.laboratory.part(CONTROLLER_MANAGER)
        if not isinstance(part, ControllerManager):
            return []
        return [
            {"controller": one.controller, "object": one.object, "cause": str(one.cause), "per_minute": one.per_minute}
            for one in part.hot_loops.current()
        ]

    def writes(self, since: float) -> list[tuple[str, str, str]]:
        """Return the writes of the trace since a time."""
        return [
            (step.worker, write.verb, write.resource)
            for step in self.laboratory.trace
            if step.at >= since
            for write in step.writes
        ]

    async def metrics(self, component: str) -> str:
        """Return the metrics page of a component."""
        return self.laboratory.metrics(component).decode()

    def log(self, component: str, since: float) -> Iterable[LogEntry]:
        """Return the log entries of a component since a time."""
        return self.laboratory.log(component).entries_since(since)

    def failed(self) -> Mapping[str, str]:
        """Return the components that an error has stopped."""
        return self.laboratory.failed()

    async def environment(self) -> Mapping[str, str]:
        """Refuse: a cluster in virtual time has no address."""
        raise Impossible("a cluster in virtual time has no address: run it with --real-time")


def _identity(who: Who) -> ClientIdentity | None:
    """Return the client identity of a user; None for the administrator."""
    if not who.user:
        return None
    groups = who.groups
    # The token authenticator adds these groups to service accounts; an impersonated user would lack them.
    if who.user.startswith(_ROBOT):
        namespace = who.user.removeprefix(_ROBOT).partition(":")[0]
        groups = (*groups, "system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return ClientIdentity(who.user, (*groups, AUTHENTICATED), user_agent("kubectl", DEFAULT))
