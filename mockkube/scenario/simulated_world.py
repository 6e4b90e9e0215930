"""World in virtual time: a simulated cluster, stepped by the scenario."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from mockkube.api.conditions import make_condition
from mockkube.api.errors import Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.client.identity import AUTHENTICATED, ClientIdentity, user_agent
from mockkube.client.protocol import Client, Key
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.configuration.values import VIRTUAL_CLOCK
from mockkube.cluster.control.clock import ARRIVED_MESSAGE, AT_REST_CONDITION, CLOCK_NAME, format_now, get_target
from mockkube.cluster.control.component_status import set_transition_times
from mockkube.cluster.control.schemas import GROUP
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.controllers.controller_manager import ControllerManager
from mockkube.controllers.custom.custom_kind import CustomKind
from mockkube.features.components import CONTROLLER_MANAGER
from mockkube.features.versions import DEFAULT
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import LogEntry
from mockkube.scenario.errors import StepNotSupported
from mockkube.scenario.world import ADMINISTRATOR, RequestOptions, RunContext, World

_SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"
_CLOCKS: Final = f"Clock.{GROUP}"


class SimulatedWorld(World):
    """A simulated cluster as steps act on it."""

    def __init__(self, cluster: SimulatedCluster, context: RunContext) -> None:
        super().__init__(context)
        self.cluster = cluster

    @property
    def clock(self) -> Clock:
        """Virtual clock."""
        return self.cluster.clock

    def settings(self, component: str) -> ComponentSettings:
        """Return version and gates that the control API asks for."""
        return self.cluster.get_component_specs()[component].settings

    @property
    def now(self) -> float:
        """Seconds since the cluster's time began."""
        return self.cluster.clock.monotonic()

    @property
    def trace_length(self) -> int:
        """Number of steps in the trace."""
        return len(self.cluster.trace.steps)

    def client(self, options: RequestOptions = ADMINISTRATOR) -> Client:
        """Return a client with this identity; its warnings are collected."""
        writes = WriteOptions(options.dry_run, options.field_manager, options.field_validation)
        return self.cluster.client(
            _client_identity(options), options.server, write_options=writes, handle_warnings=self.warnings.extend
        )

    async def settle(self) -> None:
        """Run steps until no worker has one left."""
        await self.cluster.settle()

    async def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        await self.cluster.advance(seconds)

    async def follow_control_clock(self) -> None:
        """Let time pass to the target of the control API's clock, and report its arrival."""
        client, key = self.cluster.client(), Key("", CLOCK_NAME)
        try:
            clock = await client.get(_CLOCKS, key)
        except Unavailable:
            return  # no other process can have set a target
        target, generation = get_target(clock), clock["metadata"]["generation"]
        if target is None or (clock.get("status") or {}).get("observedGeneration") == generation:
            # A fault or a stopped API server may make the clock unreadable; no other process can have written it then.
            return
        await self.cluster.advance(max((target - self.clock.now()).total_seconds(), 0.0))
        now = self.clock.now()
        rest = make_condition(AT_REST_CONDITION, holds=True, reason="Arrived", message=ARRIVED_MESSAGE)
        status = {"mode": VIRTUAL_CLOCK, "now": format_now(now, VIRTUAL_CLOCK), "observedGeneration": generation}
        patch = {"status": {**status, "conditions": set_transition_times(clock, [rest], now)}}
        await client.patch(_CLOCKS, key, patch, patch_type=PatchType.MERGE, subresource="status")

    async def wait_until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Let virtual time pass until a condition holds."""
        return await self.cluster.advance_until(holds, seconds_max)

    async def change_component(self, name: str, **wished: Any) -> Sequence[str]:
        """Change the component through the control API."""
        return await self.cluster.change_component(name, **wished)

    async def restart_component(self, component: str) -> None:
        """Restart the component."""
        await self.cluster.restart_component(component)

    async def remove_component(self, component: str) -> None:
        """Remove the component."""
        await self.cluster.remove_component(component)

    async def start_custom_controller(self, name: str, kind: CustomKind) -> None:
        """Start the controller in the simulation."""
        await self.cluster.start_custom_controller(name, kind)

    async def set_fault(self, name: str, spec: Object | None) -> None:
        """Create the fault, or delete it."""
        if spec is None:
            await self.cluster.remove_fault(name)
        else:
            await self.cluster.set_fault(name, spec)

    async def save_snapshot(self, name: str) -> None:
        """Create the snapshot."""
        await self.cluster.save_snapshot(name)

    async def restore_snapshot(self, name: str) -> None:
        """Restore the snapshot."""
        await self.cluster.restore_snapshot(name)

    async def explain_pod(self, pod: Key) -> ReadOnlyObject:
        """Return the explanation that the control API gives."""
        return (await self.cluster.explain_pod(pod)).as_json()

    def hot_loops(self) -> list[Mapping[str, Any]]:
        """Return the hot loops of the controller manager."""
        part = self.cluster.get_component(CONTROLLER_MANAGER)
        if not isinstance(part, ControllerManager):
            return []
        return [
            {"controller": one.controller, "object": one.object, "cause": str(one.cause), "per_minute": one.per_minute}
            for one in part.hot_loops.current()
        ]

    def list_writes(self, since: float) -> list[tuple[str, str, str]]:
        """Return the writes of the trace since a time."""
        return [
            (step.worker, write.verb, write.resource)
            for step in self.cluster.trace
            if step.at >= since
            for write in step.writes
        ]

    async def read_metrics(self, component: str) -> str:
        """Return the metrics page of a component."""
        return self.cluster.render_metrics(component).decode()

    def read_log(self, component: str, since: float) -> Iterable[LogEntry]:
        """Return the log entries of a component since a time."""
        return self.cluster.get_log(component).entries_since(since)

    def failed_components(self) -> Mapping[str, str]:
        """Return the components that an error has stopped."""
        return self.cluster.find_failed_components()

    async def environment(self) -> Mapping[str, str]:
        """Refuse: a cluster in virtual time has no address."""
        raise StepNotSupported("a cluster in virtual time has no address: run it with --real-time")


def _client_identity(options: RequestOptions) -> ClientIdentity | None:
    """Return the client identity of a user; None for the administrator."""
    if not options.user:
        return None
    groups = options.groups
    # The token authenticator adds these groups to service accounts; an impersonated user would lack them.
    if options.user.startswith(_SERVICE_ACCOUNT_PREFIX):
        namespace = options.user.removeprefix(_SERVICE_ACCOUNT_PREFIX).partition(":")[0]
        groups = (*groups, "system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return ClientIdentity(options.user, (*groups, AUTHENTICATED), user_agent("kubectl", DEFAULT))
