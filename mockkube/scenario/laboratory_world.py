"""The world of virtual time: a laboratory, in which every step is taken by the scenario."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from mockkube.api.conditions import condition
from mockkube.api.errors import Unavailable
from mockkube.api.types import Object
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.client.identity import AUTHENTICATED, Identity, user_agent
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
    """A laboratory, as steps see it."""

    def __init__(self, laboratory: Laboratory, scene: Scene) -> None:
        super().__init__(scene)
        self.laboratory = laboratory

    @property
    def clock(self) -> Clock:
        """The virtual clock."""
        return self.laboratory.clock

    def settings(self, component: str) -> Settings:
        """Return what the control API has been told of it."""
        return self.laboratory.components()[component].settings

    @property
    def now(self) -> float:
        """Seconds since the cluster's time began."""
        return self.laboratory.clock.monotonic()

    @property
    def moments(self) -> int:
        """Return how long the trace is."""
        return len(self.laboratory.trace.steps)

    def client(self, who: Who = ADMINISTRATOR) -> Client:
        """Return the client of somebody; its warnings are kept."""
        writes = WriteOptions(who.dry_run, who.field_manager, who.field_validation)
        return self.laboratory.client(_identity(who), who.server, writes=writes, heard=self.warnings.extend)

    async def settle(self) -> None:
        """Step until nobody has anything left to do."""
        await self.laboratory.settle()

    async def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        await self.laboratory.advance(seconds)

    async def catch_up(self) -> None:
        """Let time pass to where the clock of the control API has been told to go, and report that it has."""
        client, key = self.laboratory.client(), Key("", CLOCK)
        try:
            clock = await client.get(_CLOCKS, key)
        except Unavailable:
            return  # nobody can have told it anything
        target, generation = target_of(clock), clock["metadata"]["generation"]
        if target is None or (clock.get("status") or {}).get("observedGeneration") == generation:
            return
        await self.laboratory.advance(max((target - self.clock.now()).total_seconds(), 0.0))
        now = self.clock.now()
        rest = condition(
            AT_REST, holds=True, reason="Arrived", message="nobody has anything left to do until time passes"
        )
        status = {"mode": VIRTUAL, "now": render_now(now, VIRTUAL), "observedGeneration": generation}
        patch = {"status": {**status, "conditions": dated(clock, [rest], now)}}
        await client.patch(_CLOCKS, key, patch, media=PatchType.MERGE, subresource="status")

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Let virtual time pass until something holds."""
        return await self.laboratory.until(holds, seconds_max)

    async def component(self, name: str, **wished: Any) -> Sequence[str]:
        """Ask it of the control API."""
        return await self.laboratory.set(name, **wished)

    async def restart(self, component: str) -> None:
        """Restart it."""
        await self.laboratory.restart(component)

    async def remove(self, component: str) -> None:
        """Take it away."""
        await self.laboratory.remove(component)

    async def fault(self, name: str, spec: Object | None) -> None:
        """Create the fault, or end it."""
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
        """Return the loops of the controller manager."""
        part = self.laboratory.part(CONTROLLER_MANAGER)
        if not isinstance(part, ControllerManager):
            return []
        return [
            {"controller": one.controller, "object": one.object, "cause": str(one.cause), "per_minute": one.per_minute}
            for one in part.loops.current()
        ]

    def writes(self, since: float) -> list[tuple[str, str, str]]:
        """Return what the trace has."""
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
        """Return the entries of its log."""
        return self.laboratory.log(component).since(since)

    def failed(self) -> Mapping[str, str]:
        """Return the components that a bug of theirs has stopped."""
        return self.laboratory.failed()

    async def environment(self) -> Mapping[str, str]:
        """Nobody outside the process can reach it."""
        raise Impossible("a cluster in virtual time has no address: run it with --real-time")


def _identity(who: Who) -> Identity | None:
    if not who.user:
        return None
    groups = who.groups
    if who.user.startswith(_ROBOT):
        namespace = who.user.removeprefix(_ROBOT).partition(":")[0]
        groups = (*groups, "system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return Identity(who.user, (*groups, AUTHENTICATED), user_agent("kubectl", DEFAULT))
