"""Where the parts of a cluster are made: each with its line to an API server, its gates, clock, chance and metrics."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry

from mockkube.apiserver.http.metrics import describe, render
from mockkube.apiserver.local.endpoint import LocalDoor
from mockkube.client import identity
from mockkube.client.identity import Identity
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
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import ComponentLog
from mockkube.runtime.loop_board import HotLoops, Loop
from mockkube.runtime.part import Part
from mockkube.runtime.steps import Signal


class Workshop:
    """Makes parts, and knows what each was last given."""

    def __init__(self, clock: Clock, chance: Chance, faults: Faults, stage: Stage, flags: Mapping[str, Flags]) -> None:
        self._clock = clock
        self._chance = chance
        self._faults = faults
        self._stage = stage
        self._flags = flags
        """What components are told by flags, by their names or that of their fleet."""
        self._doors: dict[str, LocalDoor] = {}
        self._lines: dict[str, Line] = {}
        self._metrics: dict[str, CollectorRegistry] = {}
        self._made: dict[str, datetime] = {}
        self._parts: dict[str, Part] = {}
        self.looping = Signal()
        """Rings when a part may have begun to get nowhere with something, or ceased to."""
        self._boards: dict[str, HotLoops] = {}
        self._logs: dict[str, ComponentLog] = {}

    def door(self, server: str) -> LocalDoor:
        """The way in to an API server of this name, whether there is one or not."""
        return self._doors.setdefault(server, LocalDoor())

    def log(self, component: str) -> ComponentLog:
        """Return the log of a part, which outlives the part."""
        return self._logs.setdefault(component, ComponentLog())

    def make(self, asked: Asked, owns: Callable[[str], bool]) -> Part:
        """Return a new part."""
        settings = asked.settings
        name = settings.component
        schema = make_schema(settings.version, settings.trains)
        instructed = identity.kubelets(settings.version) if name.startswith(f"{KUBELET}.") else None
        end = End(_identity_of(name, settings.version), VersionedDecoder(schema), instructed)
        line = Line(asked.server, self.door(asked.server), end, self._faults, pause=self._stage.pause)
        metrics = CollectorRegistry()
        describe(metrics, EffectiveVersion.of(settings.version), settings.states())
        self._lines[name], self._metrics[name], self._made[name] = line, metrics, self._clock.now()
        chance = Chance.from_seed(self._chance.random.getrandbits(64), name)
        board = self.board(name)
        log = self.log(name)
        context = PartContext(name, line, settings.capabilities(), self._clock, chance, metrics, owns, board, log)
        fleet = name.partition(".")[0]
        part = self._parts[name] = BUILDERS[fleet](context, self._flags.get(fleet, {}))
        return part

    def board(self, component: str) -> HotLoops:
        """Return a new board for a component, whose loops are what is on it."""
        board = self._boards[component] = HotLoops(self.looping)
        return board

    def forget(self, component: str) -> None:
        """Forget what a part was given that is gone."""
        for known in (self._lines, self._metrics, self._made, self._parts, self._boards):
            known.pop(component, None)

    def recheck(self, faults: Iterable[str]) -> None:
        """Cut the open watches where a fault that is new says so."""
        names = tuple(faults)
        for line in self._lines.values():
            line.recheck(names)

    def metrics(self, component: str) -> bytes | None:
        """Return the metrics of a part that runs, as Prometheus scrapes them."""
        registry = self._metrics.get(component)
        return None if registry is None else render(registry)

    def registry(self, component: str) -> CollectorRegistry | None:
        """Return what a part that runs measures."""
        return self._metrics.get(component)

    def loops(self, component: str) -> list[Loop]:
        """Return what a part gets nowhere with."""
        board = self._boards.get(component)
        return [] if board is None else board.current()

    def part(self, component: str) -> Part | None:
        """Return the part of a name that was made last."""
        return self._parts.get(component)

    def made(self, component: str) -> datetime | None:
        """Return since when a part is up."""
        return self._made.get(component)


def _identity_of(component: str, version: Version) -> Identity:
    name, _, node = component.partition(".")
    if name == SCHEDULER:
        return identity.scheduler(version)
    if name == CONTROLLER_MANAGER:
        return identity.controller_manager(version)
    assert name == KUBELET, f"{name} is no API server, so it is a kubelet"
    return identity.kubelet(node, version) if node else identity.kubelets(version)
