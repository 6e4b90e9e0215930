"""Load rollout plans from files; every mistake is reported with file, line and remedy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import orjson

from mockkube.apiserver.registry.runtime_config import make_runtime_config
from mockkube.cluster.configuration.component_settings import REQUIRED_COMPONENTS, ComponentSettings
from mockkube.cluster.configuration.values import (
    default_release_trains,
    format_runtime_config,
    parse_version_up_to,
)
from mockkube.explore.plans.actions import validate_action
from mockkube.explore.plans.invariants import INVARIANTS
from mockkube.explore.plans.plan import (
    ComponentSetting,
    Direction,
    Disturbance,
    DisturbanceTiming,
    Order,
    PlanInvariant,
    PlannedChange,
    PlannedNode,
    RolloutPlan,
    WrittenOrder,
)
from mockkube.explore.plans.plan_format import (
    ChangeEntry,
    DisturbanceEntry,
    InvariantEntry,
    OrderEntry,
    PlanFile,
    SpecEntry,
)
from mockkube.features.errors import FlagError
from mockkube.features.trains import ReleaseTrain, parse_trains
from mockkube.features.versions import DEFAULT, NEWEST, Version
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.fields import SourceLocation, read
from mockkube.scenario.file_format import CHAINSAW_KIND, INTERLEAVING_PLAN_KIND
from mockkube.scenario.file_format import KIND as SCENARIO_KIND
from mockkube.scenario.yaml_lines import read_file, read_text

# Five components have 120 orders, so 14,400 paths up and down; more would take too long.
COMPONENTS_MAX: Final = 5
_SCENARIOS: Final = (SCENARIO_KIND, CHAINSAW_KIND)
_CLAIMS: Final = {"safe": True, "harmful": False, "none": None}


def load(path: Path) -> RolloutPlan:
    """Return the plan of a file; ScenarioError for the first mistake."""
    documents = read_file(path)
    return replace(_read_plan(documents, str(path)), text=path.read_text())


def parse(text: str, file: str = "plan.yaml") -> RolloutPlan:
    """Return the plan of a text."""
    return replace(_read_plan(read_text(text, file), file), text=text)


def _read_plan(documents: Sequence[Any], file: str) -> RolloutPlan:
    if len(documents) != 1:
        raise ScenarioError(f"{file}: {len(documents)} documents: a plan is one document")
    at = SourceLocation(file)
    if isinstance(documents[0], Mapping) and documents[0].get("kind") in _SCENARIOS:
        raise ScenarioError(f"{file}: a scenario, not a rollout plan: run it with 'mockkube test {file}'")
    if isinstance(documents[0], Mapping) and documents[0].get("kind") == INTERLEAVING_PLAN_KIND:
        raise ScenarioError(f"{file}: an interleaving plan: explore it with 'mockkube explore {file} --interleavings'")
    plan = read(PlanFile, documents[0], at)
    return _PlanReader(documents[0], at).read_plan(plan)


class _PlanReader:
    """Reads one file and keeps the locations of its values."""

    def __init__(self, document: Any, at: SourceLocation) -> None:
        self._spec: Any = document["spec"]
        self._at = at.child(document, "spec")

    def _locate(self, *way: str | int) -> SourceLocation:
        node, at = self._spec, self._at
        for key in way:
            at = at.child(node, key)
            node = node[key]
        return at

    def read_plan(self, file: PlanFile) -> RolloutPlan:
        spec, metadata = file.spec, file.metadata
        trains = self._read_trains(spec) if spec.trains else None
        version = self._read_version(spec.version, "version") if spec.version else DEFAULT
        changes = self._read_changes(spec, version, trains or default_release_trains())
        components = tuple(change.component for change in changes)
        return RolloutPlan(
            name=metadata.name,
            title=metadata.title or metadata.name,
            source=metadata.source,
            kep=metadata.kep,
            notes=metadata.notes,
            changes=changes,
            nodes=tuple(PlannedNode(node.labels, node.taints) for node in spec.nodes),
            workload=tuple(self._read_object(obj, "workload", index) for index, obj in enumerate(spec.workload)),
            invariants=self._read_invariants(spec),
            version=version,
            trains=trains,
            runtime_config=self._read_runtime_config(spec),
            setup=self._read_actions(spec.setup, "setup") if spec.setup else (),
            disturbances=self._read_disturbances(spec),
            orders=tuple(self._read_order(entry, components, index) for index, entry in enumerate(spec.orders)),
            undisturbed_rollback=self._read_undisturbed(spec, components),
            seconds=int(spec.seconds),
            workload_after=self._read_workload_after(spec, components),
            creations_max=spec.creations_max,
            seed=spec.seed,
        )

    def _read_trains(self, spec: SpecEntry) -> tuple[ReleaseTrain, ...]:
        try:
            return parse_trains(list(spec.trains), default_release_trains())
        except ValueError as error:
            raise self._locate("trains").error(str(error)) from None

    def _read_runtime_config(self, spec: SpecEntry) -> dict[str, str]:
        texts = format_runtime_config(spec.runtime_config)
        try:
            make_runtime_config(texts)
        except ValueError as error:
            raise self._locate("runtimeConfig").error(str(error)) from None
        return texts

    def _read_version(self, text: str, *way: str | int) -> Version:
        try:
            return parse_version_up_to(text, NEWEST)
        except ValueError as error:
            raise self._locate(*way).error(str(error)) from None

    def _read_changes(
        self, spec: SpecEntry, version: Version, trains: tuple[ReleaseTrain, ...]
    ) -> tuple[PlannedChange, ...]:
        if not 1 <= len(spec.change) <= COMPONENTS_MAX:
            raise self._locate("change").error(f"{len(spec.change)} components: give 1 to {COMPONENTS_MAX}")
        return tuple(self._read_change(name, entry, version, trains) for name, entry in spec.change.items())

    def _read_change(
        self, name: str, entry: ChangeEntry, version: Version, trains: tuple[ReleaseTrain, ...]
    ) -> PlannedChange:
        at = self._locate("change", name)
        if name.partition(".")[0] not in REQUIRED_COMPONENTS:
            raise at.error(
                f"unknown component: choose one of {', '.join(REQUIRED_COMPONENTS)}, kubelet.NODE, kube-apiserver.N"
            )
        if not entry.version and not entry.gates:
            raise at.error("nothing changes: give a version, or gates")
        before = self._settings_before(entry, version)
        over: dict[str, bool | None] = dict.fromkeys(entry.from_.gates)  # the gates of before are reset
        after = ComponentSetting(entry.version or None, {**over, **entry.gates})
        change = PlannedChange(name, before, after)
        earlier, later = (self._read_settings(name, setting, version, trains, at) for setting in (before, after))
        if earlier.capabilities() == later.capabilities():
            raise at.error(
                f"nothing changes: {name} {earlier.version} is as {after} without a change; "
                "give `from` with the version or the gates that it has before"
            )
        return change

    def _settings_before(self, entry: ChangeEntry, version: Version) -> ComponentSetting:
        gates: dict[str, bool | None] = dict.fromkeys(entry.gates)
        return ComponentSetting(
            entry.from_.version or (str(version) if entry.version else None), {**gates, **entry.from_.gates}
        )

    def _read_settings(
        self,
        name: str,
        setting: ComponentSetting,
        version: Version,
        trains: tuple[ReleaseTrain, ...],
        at: SourceLocation,
    ) -> ComponentSettings:
        """Return the settings of a component; reject gates and versions that its binary would reject."""
        workload = self._read_version(setting.version, "change", name) if setting.version else version
        gates = {gate: on for gate, on in setting.gates.items() if on is not None}
        settings = ComponentSettings(name, workload, gates, trains)
        try:
            settings.validate()
        except FlagError as error:
            raise at.error(f"{name} {workload} does not start with {setting}: {error}") from None
        return settings

    def _read_object(self, obj: Any, *way: str | int) -> Any:
        at = self._locate(*way)
        if not isinstance(obj, dict) or not obj.get("apiVersion") or not obj.get("kind"):
            raise at.error("not a manifest: it needs apiVersion and kind")
        if not (obj.get("metadata") or {}).get("name"):
            raise at.error(f"a {obj['kind']} without a name: give metadata.name")
        # Plain dicts instead of those with lines: the plan is sent to other processes.
        return orjson.loads(orjson.dumps(obj))

    def _read_actions(self, given: Sequence[Any], *way: str | int) -> tuple[Any, ...]:
        for index, action in enumerate(given):
            validate_action(action, self._locate(*way, index))
        return tuple(given)

    def _read_disturbances(self, spec: SpecEntry) -> tuple[Disturbance, ...]:
        return tuple(self._read_disturbance(entry, index) for index, entry in enumerate(spec.disturbances))

    def _read_disturbance(self, entry: DisturbanceEntry, index: int) -> Disturbance:
        phases = frozenset(Direction(direction) for direction in entry.phases)
        # Before the direction down it is already too late for the direction up.
        if DisturbanceTiming(entry.when) is DisturbanceTiming.BEFORE_DOWN and Direction.DOWN not in phases:
            at = self._locate("disturbances", index, "phases")
            raise at.error("with `when: before-down` it belongs to the rollback: leave `phases` out")
        actions = self._read_actions(entry.do, "disturbances", index, "do")
        return Disturbance(entry.name, actions, DisturbanceTiming(entry.when), phases)

    def _read_order(self, entry: OrderEntry, components: Order, index: int) -> WrittenOrder:
        at = self._locate("orders", index, "order")
        for name in entry.order:
            if name not in components:
                raise at.error(f"{name!r} does not change in this plan: known are {', '.join(components)}")
        if len(set(entry.order)) != len(entry.order):
            raise at.error("a component is listed twice: name each once")
        full_order = (*entry.order, *(name for name in components if name not in entry.order))
        prepare = self._read_actions(entry.prepare, "orders", index, "prepare") if entry.prepare else ()
        named = len(entry.order)
        return WrittenOrder(
            entry.name, Direction(entry.phase), full_order, _CLAIMS[entry.claim], entry.source, prepare, named
        )

    def _read_undisturbed(self, spec: SpecEntry, components: Order) -> frozenset[Order] | None:
        every, given = frozenset(permutations(components)), spec.undisturbed_rollback
        if given is None:
            return None
        if given in ("all", "none"):
            return every if given == "all" else frozenset()
        orders = frozenset(tuple(one) for one in given if isinstance(one, list)) if isinstance(given, list) else None
        if orders is None or len(orders) != len(given) or not orders <= every:
            raise self._locate("undisturbedRollback").error(
                f"give all, none, or a list of orders, each with {', '.join(components)}"
            )
        return orders

    def _read_workload_after(self, spec: SpecEntry, components: Order) -> str:
        name = spec.workload_after
        if name and name not in components:
            at = self._locate("workloadAfter")
            raise at.error(f"{name!r} does not change in this plan: known are {', '.join(components)}")
        return name

    def _read_invariants(self, spec: SpecEntry) -> tuple[PlanInvariant, ...]:
        if not spec.invariants:
            return tuple(PlanInvariant(name) for name in INVARIANTS)
        return tuple(self._read_invariant(entry, index) for index, entry in enumerate(spec.invariants))

    def _read_invariant(self, entry: InvariantEntry, index: int) -> PlanInvariant:
        at = self._locate("invariants", index)
        if entry.object is None and entry.name not in INVARIANTS:
            raise at.error(
                f"no invariant is called {entry.name!r}: known are {', '.join(INVARIANTS)}; or give `object`"
            )
        if entry.object is not None:
            self._read_object(entry.object, "invariants", index, "object")
        return PlanInvariant(entry.name, entry.object, entry.every_step)
