"""Interleaving plans in files; every mistake is reported with file, line and remedy."""

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from mockkube.cluster.configuration.component_settings import REQUIRED_COMPONENTS, ComponentSettings
from mockkube.cluster.configuration.values import default_release_trains, parse_version_up_to
from mockkube.explore.interleavings.invariants import INVARIANTS
from mockkube.explore.interleavings.plan import (
    CREATIONS_MAX,
    RECOVERY_SECONDS,
    WINDOW_SECONDS,
    InterleavingPlan,
    WindowAction,
)
from mockkube.explore.interleavings.schedule import Delay, Schedule
from mockkube.explore.plans import loading
from mockkube.explore.plans.actions import validate_action
from mockkube.explore.plans.plan import Action, ComponentSetting, Direction, Disturbance, PlannedNode, RolloutPlan
from mockkube.explore.plans.plan_format import NodeEntry, SettingEntry
from mockkube.features.errors import FlagError
from mockkube.features.versions import DEFAULT, NEWEST, Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.fields import Seconds, SourceLocation, Tree, read
from mockkube.scenario.file_format import INTERLEAVING_PLAN_KIND
from mockkube.scenario.yaml_lines import read_file

# Steps of scenarios that let time pass or wait for others: in a window, that is left to the schedule.
_REFUSED_IN_WINDOW: Final = ("advance", "sleep", "settle", "wait", "snapshot", "restore")


@dataclass(frozen=True, slots=True)
class WindowEntry:
    """An action of the operator."""

    do: Annotated[Tree, "a step of the scenario language"]
    at: Annotated[Seconds, "earliest time in the window"] = Seconds(0)  # a NewType of a float


@dataclass(frozen=True, slots=True)
class LateEntry:
    """A watch that is late."""

    worker: Annotated[str, "its worker, as in a trace"]
    seconds: Annotated[Seconds, "how late, beyond being last"] = Seconds(0)


@dataclass(frozen=True, slots=True)
class ScheduleEntry:
    """A schedule, as `--trace` prints it."""

    workers: Annotated[tuple[str, ...], "workers of the first steps; then the default order applies"]
    late: Annotated[LateEntry | None, "the watch that is late from then on"] = None
    changes: Annotated[tuple[str, ...], "how it differs from the default order"] = ()


@dataclass(frozen=True, slots=True)
class SpecEntry:
    """Specification of a plan."""

    window: Annotated[tuple[WindowEntry, ...], "actions of the operator, in their order, each as early as it can be"]
    version: Annotated[str, "the version of the cluster"] = ""
    components: Annotated[Mapping[str, SettingEntry], "components that have another version, or other gates"] = field(
        default_factory=dict
    )
    nodes: Annotated[tuple[NodeEntry, ...], "the nodes"] = (NodeEntry(),)
    setup: Annotated[tuple[Tree, ...], "steps of the scenario language, before the window"] = ()
    seconds: Annotated[Seconds, "how long the window lasts"] = Seconds(WINDOW_SECONDS)
    recovery: Annotated[Seconds, "how long the cluster has to recover after it"] = Seconds(RECOVERY_SECONDS)
    late: Annotated[Seconds, "how late watches may deliver, beyond being last"] = Seconds(0)
    reorder: Annotated[tuple[str, ...], "only steps of these components or workers get other orders"] = ()
    divide: Annotated[tuple[str, ...], "steps of these components or workers are divided at their requests"] = ()
    invariants: Annotated[tuple[str, ...], "what must hold; by default all invariants"] = tuple(INVARIANTS)
    breaks: Annotated[tuple[str, ...], "invariants that are known to break"] = ()
    creations_max: Annotated[int, "more pods than this of one workload count as a hot loop"] = CREATIONS_MAX
    schedule: Annotated[ScheduleEntry | None, "the only schedule to run"] = None
    seed: Annotated[int, "seed of the random numbers"] = 0


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    """Metadata of a plan."""

    name: Annotated[str, "its name"]
    title: Annotated[str, "title of reports"] = ""
    source: Annotated[str, "the report of the race that it is about"] = ""
    notes: Annotated[tuple[str, ...], "what a reader of the result should know"] = ()


@dataclass(frozen=True, slots=True)
class InterleavingPlanFile:
    """An interleaving plan."""

    api_version: Annotated[Literal["mockkube.dev/v1alpha1"], "mockkube.dev/v1alpha1"]
    kind: Annotated[Literal["InterleavingPlan"], "InterleavingPlan"]
    metadata: Annotated[MetadataEntry, "its name"]
    spec: Annotated[SpecEntry, "what is explored"]


def load(path: Path) -> list[InterleavingPlan]:
    """Return the interleaving plan of a file, or one for each disturbance of a rollout plan."""
    documents = read_file(path)
    if len(documents) == 1 and isinstance(documents[0], Mapping) and documents[0].get("kind") == INTERLEAVING_PLAN_KIND:
        return [read_plan(documents[0], SourceLocation(str(path)))]
    return derive_plans(loading.load(path))


def read_plan(document: Any, at: SourceLocation) -> InterleavingPlan:
    """Return the plan of a document."""
    file = read(InterleavingPlanFile, document, at)
    spec, metadata, place = file.spec, file.metadata, at.child(document, "spec")
    body = document["spec"]
    if not spec.window:
        raise place.child(body, "window").error("no action: give at least one, whose consequences are explored")
    version = _read_version(spec.version, place.child(body, "version")) if spec.version else DEFAULT
    for name in ("setup",):
        for index, action in enumerate(getattr(spec, name)):
            validate_action(action, place.child(body, name).child(body.get(name), index))
    window = tuple(_read_window_action(entry, index, body, place) for index, entry in enumerate(spec.window))
    for name in ("invariants", "breaks"):
        for one in getattr(spec, name):
            if one not in INVARIANTS:
                known = ", ".join(INVARIANTS)
                raise place.child(body, name).error(f"no invariant is called {one!r}: known are {known}")
    return InterleavingPlan(
        name=metadata.name,
        title=metadata.title or metadata.name,
        source=metadata.source,
        notes=metadata.notes,
        version=version,
        components=_read_components(spec, version, body, place),
        nodes=tuple(PlannedNode(node.labels, node.taints) for node in spec.nodes),
        setup=_to_actions(spec.setup),
        window=window,
        seconds=float(spec.seconds),
        recovery_seconds=float(spec.recovery),
        late_seconds=float(spec.late),
        reordered=spec.reorder,
        divided=spec.divide,
        invariants=spec.invariants,
        expected_breaks=spec.breaks,
        creations_max=spec.creations_max,
        schedule=None if spec.schedule is None else _read_schedule(spec.schedule),
        seed=spec.seed,
        document=document,
    )


def _read_schedule(entry: ScheduleEntry) -> Schedule:
    delay = None if entry.late is None else Delay(entry.late.worker, float(entry.late.seconds))
    return Schedule(entry.workers, delay, entry.changes)


def _read_version(text: str, at: SourceLocation) -> Version:
    try:
        return parse_version_up_to(text, NEWEST)
    except ValueError as error:
        raise at.error(str(error)) from None


def _read_window_action(entry: WindowEntry, index: int, body: Any, place: SourceLocation) -> WindowAction:
    at = place.child(body, "window").child(body["window"], index)
    [action] = _to_actions((entry.do,))
    validate_action(action, at)
    [verb] = action
    if verb in _REFUSED_IN_WINDOW:
        raise at.error(f"`{verb}` does not belong in a window, where time passes by itself: give `at` instead")
    return WindowAction(action, float(entry.at))


def _to_actions(given: tuple[Any, ...]) -> tuple[Action, ...]:
    return tuple(given)


def _read_components(
    spec: SpecEntry, version: Version, body: Any, place: SourceLocation
) -> Mapping[str, ComponentSetting]:
    settings: dict[str, ComponentSetting] = {}
    for name, entry in spec.components.items():
        at = place.child(body, "components").child(body["components"], name)
        if name.partition(".")[0] not in REQUIRED_COMPONENTS:
            raise at.error(f"unknown component: choose one of {', '.join(REQUIRED_COMPONENTS)}, kubelet.NODE")
        own = _read_version(entry.version, at) if entry.version else version
        try:
            ComponentSettings(name, own, entry.gates, default_release_trains()).validate()
        except FlagError as error:
            raise at.error(f"{name} {own} does not start so: {error}") from None
        settings[name] = ComponentSetting(entry.version or None, dict(entry.gates))
    return settings


def derive_plans(plan: RolloutPlan) -> list[InterleavingPlan]:
    """Return a plan for each disturbance of a rollout plan, on a cluster whose components have all changed.

    A rollout plan cannot say which invariants it knows to break, and its disturbances are about its workload.
    """
    components = {change.component: change.setting_for(Direction.UP) for change in plan.changes}
    workload = tuple({"apply": {"resource": manifest}} for manifest in plan.workload)
    whole = InterleavingPlan(
        name=plan.name,
        title=plan.title,
        source=plan.source,
        window=(),
        invariants=tuple(INVARIANTS),
        version=plan.version,
        components=components,
        nodes=plan.nodes,
        setup=(*plan.setup, *workload),
        seconds=float(plan.seconds),
        seed=plan.seed,
    )
    if not plan.disturbances:
        raise ScenarioError(f"{plan.name}: no disturbances: with --interleavings, each of them is a window")
    return [_derive_plan(whole, one) for one in plan.disturbances]


def _derive_plan(whole: InterleavingPlan, disturbance: Disturbance) -> InterleavingPlan:
    actions = (action for action in disturbance.actions if next(iter(action)) not in _REFUSED_IN_WINDOW)
    title = f"{whole.title}: {disturbance.name}"
    return replace(whole, title=title, window=tuple(WindowAction(action) for action in actions))
