"""Load rollout plans from files; every mistake is reported with file, line and remedy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from mockkube.cluster.components import SINGLE, Settings
from mockkube.cluster.readings import read_version_up_to, usual_trains
from mockkube.features.errors import FlagError
from mockkube.features.trains import ReleaseTrain, parse_trains
from mockkube.features.versions import DEFAULT, NEWEST, Version
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.explore.actions import check
from mockkube.scenario.explore.invariants import INVARIANTS
from mockkube.scenario.explore.plan import (
    Change,
    Demand,
    Disturbance,
    NodeWanted,
    Order,
    Phase,
    Plan,
    Setting,
    When,
    WrittenOrder,
)
from mockkube.scenario.explore.written import (
    ChangeEntry,
    DemandEntry,
    DisturbanceEntry,
    OrderEntry,
    PlanFile,
    SpecEntry,
)
from mockkube.scenario.fields import Place, read
from mockkube.scenario.located import read_file, read_text
from mockkube.scenario.written import CHAINSAW_KIND
from mockkube.scenario.written import KIND as SCENARIO_KIND

# Five components have 120 orders, so 14,400 paths up and down; more would take too long.
COMPONENTS_MAX: Final = 5
_SCENARIOS: Final = (SCENARIO_KIND, CHAINSAW_KIND)
_CLAIMS: Final = {"safe": True, "harmful": False, "none": None}


def load(path: Path) -> Plan:
    """Return the plan of a file; ScenarioError for the first mistake."""
    documents = read_file(path)
    return replace(_one(documents, str(path)), text=path.read_text())


def parse(text: str, file: str = "plan.yaml") -> Plan:
    """Return the plan of a text."""
    return replace(_one(read_text(text, file), file), text=text)


def _one(documents: Sequence[Any], file: str) -> Plan:
    if len(documents) != 1:
        raise ScenarioError(f"{file}: {len(documents)} documents: a plan is one document")
    at = Place(file)
    if isinstance(documents[0], Mapping) and documents[0].get("kind") in _SCENARIOS:
        raise ScenarioError(f"{file}: a scenario, not a rollout plan: play it with 'mockkube test {file}'")
    return _Reading(documents[0], at).plan(read(PlanFile, documents[0], at))


class _Reading:
    """Reads one file and keeps the locations of its values."""

    def __init__(self, document: Any, at: Place) -> None:
        self._spec: Any = document["spec"]
        self._at = at.of(document, "spec")

    def _place(self, *way: str | int) -> Place:
        node, at = self._spec, self._at
        for key in way:
            at = at.of(node, key)
            node = node[key]
        return at

    def plan(self, file: PlanFile) -> Plan:
        spec, metadata = file.spec, file.metadata
        trains = self._trains(spec) if spec.trains else None
        version = self._version(spec.version, "version") if spec.version else DEFAULT
        changes = self._changes(spec, version, trains or usual_trains())
        components = tuple(change.component for change in changes)
        return Plan(
            name=metadata.name,
            title=metadata.title or metadata.name,
            source=metadata.source,
            kep=metadata.kep,
            notes=metadata.notes,
            changes=changes,
            nodes=tuple(NodeWanted(node.labels, node.taints) for node in spec.nodes),
            workload=tuple(self._object(obj, "workload", index) for index, obj in enumerate(spec.workload)),
            demands=self._demands(spec),
            version=version,
            trains=trains,
            setup=self._actions(spec.setup, "setup") if spec.setup else (),
            disturbances=self._disturbances(spec),
            orders=tuple(self._written(entry, components, index) for index, entry in enumerate(spec.orders)),
            seconds=int(spec.seconds),
            creations_max=spec.creations_max,
            seed=spec.seed,
        )

    def _trains(self, spec: SpecEntry) -> tuple[ReleaseTrain, ...]:
        try:
            return parse_trains(list(spec.trains), usual_trains())
        except ValueError as error:
            raise self._place("trains").error(str(error)) from None

    def _version(self, text: str, *way: str | int) -> Version:
        try:
            return read_version_up_to(text, NEWEST)
        except ValueError as error:
            raise self._place(*way).error(str(error)) from None

    def _changes(self, spec: SpecEntry, version: Version, trains: tuple[ReleaseTrain, ...]) -> tuple[Change, ...]:
        if not 1 <= len(spec.change) <= COMPONENTS_MAX:
            raise self._place("change").error(f"{len(spec.change)} components: give 1 to {COMPONENTS_MAX}")
        return tuple(self._change(name, entry, version, trains) for name, entry in spec.change.items())

    def _change(self, name: str, entry: ChangeEntry, version: Version, trains: tuple[ReleaseTrain, ...]) -> Change:
        at = self._place("change", name)
        if name.partition(".")[0] not in SINGLE:
            raise at.error(f"no component is called so: there are {', '.join(SINGLE)}, kubelet.NODE, kube-apiserver.N")
        if not entry.version and not entry.gates:
            raise at.error("nothing changes: give a version, or gates")
        before = self._before(entry, version)
        over: dict[str, bool | None] = dict.fromkeys(entry.from_.gates)  # what it was told before is over then
        after = Setting(entry.version or None, {**over, **entry.gates})
        change = Change(name, before, after)
        for setting in (before, after):
            self._judge(name, setting, version, trains, at)
        return change

    def _before(self, entry: ChangeEntry, version: Version) -> Setting:
        gates: dict[str, bool | None] = dict.fromkeys(entry.gates)
        return Setting(entry.from_.version or (str(version) if entry.version else None), {**gates, **entry.from_.gates})

    def _judge(
        self, name: str, setting: Setting, version: Version, trains: tuple[ReleaseTrain, ...], at: Place
    ) -> None:
        """Reject gates and versions that the component's binary would reject."""
        own = self._version(setting.version, "change", name) if setting.version else version
        gates = {gate: on for gate, on in setting.gates.items() if on is not None}
        try:
            Settings(name, own, gates, trains).judge()
        except FlagError as error:
            raise at.error(f"{name} {own} does not start with {setting}: {error}") from None

    def _object(self, obj: Any, *way: str | int) -> Any:
        at = self._place(*way)
        if not isinstance(obj, dict) or not obj.get("apiVersion") or not obj.get("kind"):
            raise at.error("not a manifest: it needs apiVersion and kind")
        if not (obj.get("metadata") or {}).get("name"):
            raise at.error(f"a {obj['kind']} without a name: give metadata.name")
        # Plain dicts instead of those with lines: the plan is sent to other processes.
        return orjson.loads(orjson.dumps(obj))

    def _actions(self, given: Sequence[Any], *way: str | int) -> tuple[Any, ...]:
        for index, action in enumerate(given):
            check(action, self._place(*way, index))
        return tuple(given)

    def _disturbances(self, spec: SpecEntry) -> tuple[Disturbance, ...]:
        return tuple(self._disturbance(entry, index) for index, entry in enumerate(spec.disturbances))

    def _disturbance(self, entry: DisturbanceEntry, index: int) -> Disturbance:
        phases = frozenset(Phase(phase) for phase in entry.phases)
        # Before the direction down it is already too late for the direction up.
        if When(entry.when) is When.BEFORE_DOWN and Phase.DOWN not in phases:
            at = self._place("disturbances", index, "phases")
            raise at.error("with `when: before-down` it belongs to the way down: leave `phases` out")
        actions = self._actions(entry.do, "disturbances", index, "do")
        return Disturbance(entry.name, actions, When(entry.when), phases)

    def _written(self, entry: OrderEntry, components: Order, index: int) -> WrittenOrder:
        at = self._place("orders", index, "order")
        for name in entry.order:
            if name not in components:
                raise at.error(f"{name!r} does not change in this plan: known are {', '.join(components)}")
        if len(set(entry.order)) != len(entry.order):
            raise at.error("a component is listed twice: name each once")
        whole = (*entry.order, *(name for name in components if name not in entry.order))
        prepare = self._actions(entry.prepare, "orders", index, "prepare") if entry.prepare else ()
        named = len(entry.order)
        return WrittenOrder(entry.name, Phase(entry.phase), whole, _CLAIMS[entry.claim], entry.source, prepare, named)

    def _demands(self, spec: SpecEntry) -> tuple[Demand, ...]:
        if not spec.invariants:
            return tuple(Demand(name) for name in INVARIANTS)
        return tuple(self._demand(entry, index) for index, entry in enumerate(spec.invariants))

    def _demand(self, entry: DemandEntry, index: int) -> Demand:
        at = self._place("invariants", index)
        if entry.object is None and entry.name not in INVARIANTS:
            raise at.error(
                f"no invariant is called {entry.name!r}: known are {', '.join(INVARIANTS)}; or give `object`"
            )
        if entry.object is not None:
            self._object(entry.object, "invariants", index, "object")
        return Demand(entry.name, entry.object, entry.every_step)
