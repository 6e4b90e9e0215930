"""Control plane of a cluster: control API, components, and controllers of the control resources."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from mockkube_storage.store import Store

from mockkube.api.times import parse_time
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.cluster.components import settings_of
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.control.catalogue import WHY
from mockkube.cluster.control.clock import CLOCK
from mockkube.cluster.control.following import Follower
from mockkube.cluster.control.plane import ControlPlane
from mockkube.cluster.credentials import Credentials
from mockkube.cluster.fault_keeper import FaultKeeper
from mockkube.cluster.faults import Faults
from mockkube.cluster.fleet import Fleet, Means
from mockkube.cluster.front import Fronts
from mockkube.cluster.inheritance import settle_in
from mockkube.cluster.pages import ComponentPages
from mockkube.cluster.parts import Flags, signing, told
from mockkube.cluster.servers import Server, Surroundings
from mockkube.cluster.snapshot_keeper import Renew, SnapshotKeeper
from mockkube.cluster.stage import RealStage, Stage
from mockkube.cluster.timekeeper import TimeKeeper
from mockkube.cluster.vault import Vault
from mockkube.cluster.virtual_stage import VirtualStage
from mockkube.cluster.why_page import WhyPage
from mockkube.features.components import API_SERVER, SCHEDULER
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock
from mockkube.runtime.virtual import VirtualClock


@dataclass(frozen=True, slots=True)
class Basis:
    """Dependencies of a control plane."""

    # The cluster's own store, started.
    store: Store
    # Store of the control resources, started.
    control_store: Store
    vault: Vault
    configuration: ClusterConfiguration
    credentials: Credentials
    clock: Clock
    chance: Random
    # Flags of components other than API servers; the configuration's flags are over them.
    # Flags of components other than API servers; they take precedence over the configuration's.
    flags: Mapping[str, Flags] = field(default_factory=dict)


class Interior:
    """Control API, components and controllers, not started."""

    def __init__(
        self,
        basis: Basis,
        build: Callable[[Surroundings], Server],
        fronts: Callable[[Faults], Fronts],
        stage: Stage | None = None,
    ) -> None:
        """Use the given executor, whose owner takes the steps, or create one."""
        self._basis = basis
        configuration, clock, chance = basis.configuration, basis.clock, basis.chance
        flags = signing(basis.credentials, told(configuration, basis.flags))
        self._pages = ComponentPages(configuration, clock)
        self.why = WhyPage(clock, flags.get(SCHEDULER, {}))
        self.control = ControlPlane(
            configuration,
            basis.control_store,
            {**self._pages.handlers(), WHY: self.why.answer},
            revision=lambda: basis.store.revision,
            clock=clock,
            chance=chance,
        )
        self.faults = Faults(chance)
        self._virtual: VirtualStage | None = None
        if stage is None and isinstance(clock, VirtualClock):
            stage = self._virtual = VirtualStage(clock, quiet=self._quiet)
        settings = settings_of(configuration, API_SERVER)
        self.around = Surroundings(
            basis.store,
            configuration,
            basis.credentials,
            clock,
            chance,
            settings,
            self.control.registry,
            TokenIssuer(),
            self._runs,
        )
        means = Means(build, fronts(self.faults), stage or RealStage(clock), self.faults, flags)
        self.fleet = Fleet(self.around, self.control, means)
        # Set afterwards: the control API needs the pages, and the component controller needs the control API.
        self._pages.fleet = self.why.fleet = self.fleet

    def _runs(self, component: str) -> bool:
        return component in self.control.components() and self.fleet.doing(component).running

    async def _quiet(self) -> None:
        await self.fleet.quiet()

    async def enter(self, stack: AsyncExitStack) -> None:
        """Start the control API and apply the configuration; the components are stopped before it is closed."""
        await stack.enter_async_context(self.control)
        self._resume()
        await settle_in(self._basis.configuration, self.control)
        stack.push_async_callback(self.fleet.stop)

    def _resume(self) -> None:
        """Continue virtual time where the last process left it."""
        clock, kept = self._basis.clock, self.control.objects("clocks").get(CLOCK, {})
        if isinstance(clock, VirtualClock) and (then := kept.get("status", {}).get("now")):
            clock.move_to(clock.monotonic() + (parse_time(then) - clock.now()).total_seconds())

    def followers(self, *, renew: Renew) -> list[Follower]:
        """Return reconcilers of faults and snapshots; `restart_components` stops and starts all components."""
        basis = self._basis
        faults = FaultKeeper(self.control, self.faults, recheck=self.fleet.recheck)
        snapshots = SnapshotKeeper(self.control, basis.store, basis.vault, basis.clock, renew=renew)
        return [faults.follower, snapshots.follower]

    async def follow(self, stack: AsyncExitStack) -> None:
        """Reconcile clock, faults and snapshots until the stack is left; call it when the components run."""
        move = None if self._virtual is None else self._virtual.move_to
        clock = TimeKeeper(self.control, self._basis.clock, self._basis.configuration.clock, move)
        group = asyncio.TaskGroup()
        await group.__aenter__()
        stack.push_async_callback(group.__aexit__, None, None, None)
        for follower in (clock.follower, *self.followers(renew=self.fleet.renew)):
            stack.callback(group.create_task(follower.run()).cancel)
