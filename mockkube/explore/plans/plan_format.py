"""File format of rollout plans, as dataclasses with help texts."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Final, Literal

from mockkube.explore.plans.plan import CREATIONS_MAX, PAUSE_SECONDS
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.fields import Seconds, Tree

DURATION: Final = Seconds(PAUSE_SECONDS)
DirectionName = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class SettingEntry:
    """Version and gates of one component."""

    version: Annotated[str, "the version it has"] = ""
    gates: Annotated[Mapping[str, bool], "its feature gates"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """New settings of one component; what is not named stays."""

    version: Annotated[str, "the version it gets"] = ""
    gates: Annotated[Mapping[str, bool], "its feature gates"] = field(default_factory=dict)
    from_: Annotated[SettingEntry, "settings before the change (default: those of the version)"] = SettingEntry()


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """A node of the cluster: node-1, node-2, ... in the order of the list."""

    labels: Annotated[Mapping[str, str], "labels in addition to those a kubelet sets"] = field(default_factory=dict)
    taints: Annotated[tuple[Mapping[str, str], ...], "taints from the start"] = ()


@dataclass(frozen=True, slots=True)
class DisturbanceEntry:
    """An event in the middle of a rollout."""

    name: Annotated[str, "what it is, in a few words"]
    do: Annotated[tuple[Tree, ...], "steps of the scenario language"]
    when: Annotated[
        Literal["every-step", "once", "before-down"],
        "after every change, once (tried at every position), or before the rollback",
    ] = "every-step"
    phases: Annotated[tuple[DirectionName, ...], "up, down, or both"] = ("up", "down")


@dataclass(frozen=True, slots=True)
class OrderEntry:
    """An order that a document describes."""

    name: Annotated[str, "name of the order, for example of its document"]
    phase: Annotated[DirectionName, "up: enablement; down: rollback"]
    order: Annotated[tuple[str, ...], "components; those that are left out change last, in the order of the plan"]
    claim: Annotated[Literal["safe", "harmful", "none"], "what the document claims about this order"] = "none"
    source: Annotated[str, "where it is written"] = ""
    prepare: Annotated[tuple[Tree, ...], "steps to be done before the first component changes"] = ()


@dataclass(frozen=True, slots=True)
class InvariantEntry:
    """An invariant."""

    name: Annotated[str, "an invariant that is known, or a name of your own for `object`"]
    object: Annotated[Any, "part of an object that must be like this"] = None
    every_step: Annotated[bool, "whether it must hold after each change, not only at the end"] = False

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept the name of a known invariant alone."""
        return {"name": node} if isinstance(node, str) else node


@dataclass(frozen=True, slots=True)
class SpecEntry:
    """Specification of a plan."""

    change: Annotated[Mapping[str, ChangeEntry], "the components that change, and into what"]
    workload: Annotated[tuple[Tree, ...], "what users apply, again after each change until it is accepted"]
    workload_after: Annotated[str, "the component whose change users await before they apply the workload"] = ""
    nodes: Annotated[tuple[NodeEntry, ...], "the nodes"] = (NodeEntry(),)
    version: Annotated[str, "the version of the cluster"] = ""
    trains: Annotated[tuple[Tree, ...], "release trains, as in a cluster's configuration"] = ()
    runtime_config: Annotated[Mapping[str, bool], "API versions to serve or not, like api/alpha"] = field(
        default_factory=dict
    )
    setup: Annotated[tuple[Tree, ...], "steps of the scenario language, before the rollout"] = ()
    disturbances: Annotated[tuple[DisturbanceEntry, ...], "events between the changes (see `do`)"] = ()
    orders: Annotated[tuple[OrderEntry, ...], "orders that documents recommend"] = ()
    undisturbed_rollback: Annotated[
        Any, "orders of the rollback in which every running pod stays without disturbances: all, none, or a list"
    ] = None
    invariants: Annotated[tuple[InvariantEntry, ...], "what must hold; by default all known invariants"] = ()
    seconds: Annotated[Seconds, "pause after each change and each disturbance"] = DURATION
    creations_max: Annotated[int, "more pods than this in one move count as a hot loop"] = CREATIONS_MAX
    seed: Annotated[int, "seed of the random numbers"] = 0


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    """Metadata of a plan."""

    name: Annotated[str, "its name"]
    title: Annotated[str, "title of reports"] = ""
    source: Annotated[str, "the document it is about"] = ""
    kep: Annotated[int, "the number of the enhancement"] = 0
    notes: Annotated[tuple[str, ...], "what a reader of the result should know"] = ()


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A rollout plan."""

    api_version: Annotated[Literal["mockkube.dev/v1alpha1"], "mockkube.dev/v1alpha1"]
    kind: Annotated[Literal["RolloutPlan"], "RolloutPlan"]
    metadata: Annotated[MetadataEntry, "its name, and the document whose claims it tries"]
    spec: Annotated[SpecEntry, "what is explored"]
