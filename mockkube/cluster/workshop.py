"""Build components, each with its own client, gates, random source, metrics registry and log."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry

from mockkube.apiserver.http.metrics import describe, render
from mockkube.apiserver.local.endpoint import LocalDoor
from mockkube.client import identity
from mockkube.client.identity import ClientIdentity
from mockkube.client.sight import VersionedDecoder
from mockkube.cluster.control.component import Asked
from mockkube.cluster.faults import Faults
from mockkube.cluster.line import End, Line
from mockkube.cluster.parts import BUILDERS, Flags, PartContext
from mockkube.cluster.stage import Stage
from mockkube.features.components import CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.versions import Version
from mockkube.proposals.lending import make_schema
from mockkube.runtime.chance import Random
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.loop_board import HotLoop, HotLoops
from mockkube.runtime.part import Component
from mockkube.runtime.steps import Signal


class Workshop:
    """Builds components, and keeps what each was built with last."""

    def __init__(self, clock: Clock, chance: Random, faults: Faults, stage: Stage, flags: Mapping[str, Flags]) -> None:
        self._clock = clock
        self._chance = chance
        self._faults = faults
        self._stage = stage
        # Flags by the name of the component without replica or node.
        self._flags = flags
        self._doors: dict[str, LocalDoor] = {}
        self._lines: dict[str, Line] = {}
        self._metrics: dict[str, CollectorRegistry] = {}
        self._made: dict[str, datetime] = {}
        self._parts: dict[str, Component] = {}
        # Notified when a hot loop of some component may have begun or ended.
        self.looping = Signal()
        self._boards: dict[str, HotLoops] = {}
        self._logs: dict[str, ComponentLog] = {}

    def door(self, server: str) -> LocalDoor:
        """Return the local endpoint of an API server, which exists before and after the server."""
        return self._doors.setdefault(server, LocalDoor())

    def log(self, component: str) -> ComponentLog:
        """Return the log of a component, which outlives restarts."""
        return self._logs.setdefault(component, ComponentLog())

    def make(self, asked: Asked, owns: Callable[[str], bool]) -> Component:
        """Return a new component."""
        settings = asked.settings
        name = settings.component
        schema = make_schema(settings.version, settings.trains)
        # A kubelet of one node has the rights of that node only; it reads stages as the kubelets of all nodes do.
        instructed = identity.kubelets(settings.version) if name.startswith(f"{KUBELET}.") else None
        end = End(_identity_of(name, settings.version), VersionedDecoder(schema), instructed)
        line = Line(asked.server, self.door(asked.server), end, self._faults, pause=self._stage.pause)
        metrics = CollectorRegistry()
        describe(metrics, EffectiveVersion.from_version(settings.version), settings.states())
        self._lines[name], self._metrics[name], self._made[name] = line, metrics, self._clock.now()
        # A random source per component: draws in one do not shift those of another.
        chance = Random.from_seed(self._chance.generator.getrandbits(64), name)
        board = self.board(name)
        log = self.log(name)
        context = PartContext(name, line, settings.capabilities(), self._clock, chance, metrics, owns, board, log)
        fleet = name.partition(".")[0]
        part = self._parts[name] = BUILDERS[fleet](context, self._flags.get(fleet, {}))
        return part

    def board(self, component: str) -> HotLoops:
        """Replace the hot loops of a component by an empty collection."""
        board = self._boards[component] = HotLoops(self.looping)
        return board

    def forget(self, component: str) -> None:
        """Forget a deleted component."""
        for known in (self._lines, self._metrics, self._made, self._parts, self._boards):
            known.pop(component, None)

    def recheck(self, faults: Iterable[str]) -> None:
        """Cut open watches that match these new faults."""
        names = tuple(faults)
        for line in self._lines.values():
            line.recheck(names)

    def metrics(self, component: str) -> bytes | None:
        """Return the metrics of a running component in Prometheus' text format."""
        registry = self._metrics.get(component)
        return None if registry is None else render(registry)

    def registry(self, component: str) -> CollectorRegistry | None:
        """Return the metrics registry of a running component."""
        return self._metrics.get(component)

    def loops(self, component: str) -> list[HotLoop]:
        """Return the hot loops of a component."""
        board = self._boards.get(component)
        return [] if board is None else board.current()

    def part(self, component: str) -> Component | None:
        """Return the component that was built last under a name."""
        return self._parts.get(component)

    def made(self, component: str) -> datetime | None:
        """Return when a component was built."""
        return self._made.get(component)


def _identity_of(component: str, version: Version) -> ClientIdentity:
    name, _, node = component.partition(".")
    if name == SCHEDULER:
        return identity.scheduler(version)
    if name == CONTROLLER_MANAGER:
        return identity.controller_manager(version)
    assert name == KUBELET, f"{name} is no API server, so it is a kubelet"
    return identity.kubelet(node, version) if node else identity.kubelets(version)
