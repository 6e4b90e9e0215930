"""Rollout plan: what changes on which component, under which workload and disturbances, and what must hold."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass

# Components in the order in which they change.
Order = tuple[str, ...]
# A step of the scenario language as in a file: `{"taint": {...}}`.
Action = ReadOnlyObject

# Default pause after a change.
PAUSE_SECONDS: Final = 20
# Pods that may be created in one move before it counts as a hot loop, by default.
CREATIONS_MAX: Final = 30


class Direction(StrEnum):
    """Direction of the change: up (enable, upgrade) or down (disable, roll back)."""

    UP = "up"
    DOWN = "down"

    @property
    def noun(self) -> str:
        """Name of the direction in reports."""
        return "enablement" if self is Direction.UP else "rollback"


class DisturbanceTiming(StrEnum):
    """When a disturbance happens."""

    EVERY_STEP = "every-step"
    # After one change of the order; each position makes a path of its own.
    ONCE = "once"
    BEFORE_DOWN = "before-down"


@dataclass(frozen=True, slots=True)
class ComponentSetting:
    """Version and gates of a component. What is not named stays; a gate that is None gets its version's default."""

    version: str | None = None
    gates: Mapping[str, bool | None] = field(default_factory=dict)

    def __str__(self) -> str:
        gates = [f"{gate}={'default' if on is None else str(on).lower()}" for gate, on in sorted(self.gates.items())]
        return " ".join([*([self.version] if self.version else []), *gates]) or "as it is"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """Settings of one component before and after the rollout."""

    component: str
    before: ComponentSetting
    after: ComponentSetting

    def setting_for(self, direction: Direction) -> ComponentSetting:
        """Return the settings that the component gets in this direction."""
        return self.after if direction is Direction.UP else self.before


@dataclass(frozen=True, slots=True)
class Disturbance:
    """An event in the middle of a rollout."""

    name: str
    actions: tuple[Action, ...]
    when: DisturbanceTiming = DisturbanceTiming.EVERY_STEP
    directions: frozenset[Direction] = frozenset(Direction)


@dataclass(frozen=True, slots=True)
class WrittenOrder:
    """An order that a document describes, and what the document claims about it."""

    name: str
    direction: Direction
    # Components that the document omits follow in the order of the plan.
    order: Order
    # True: claimed to be safe; False: to be harmful; None: nothing is claimed.
    claim: bool | None = None
    source: str = ""
    # Actions before the first change.
    prepare: tuple[Action, ...] = ()
    # Number of components that the document names; the others follow them.
    named: int = 0


@dataclass(frozen=True, slots=True)
class PlanInvariant:
    """An invariant of the plan: a known one, or an object that must match."""

    name: str
    # Partial object of an invariant of the plan's own.
    expected: ReadOnlyObject | None = None
    # Whether it must hold after each change, not only when all components have changed.
    every_step: bool = False


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node of the cluster."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """A rollout plan."""

    name: str
    changes: tuple[PlannedChange, ...]
    nodes: tuple[PlannedNode, ...]
    # Manifests that users apply, again after each change until accepted.
    workload: tuple[ReadOnlyObject, ...]
    invariants: tuple[PlanInvariant, ...]
    title: str = ""
    source: str = ""
    kep: int = 0
    notes: tuple[str, ...] = ()
    version: Version = DEFAULT
    # None: the built-in release trains.
    trains: tuple[ReleaseTrain, ...] | None = None
    # Values of `--runtime-config`.
    runtime_config: Mapping[str, str] = field(default_factory=dict)
    setup: tuple[Action, ...] = ()
    disturbances: tuple[Disturbance, ...] = ()
    orders: tuple[WrittenOrder, ...] = ()
    # Orders of the rollback in which every running pod stays, without disturbances; None: nothing is claimed.
    undisturbed_rollback: frozenset[Order] | None = None
    seconds: int = PAUSE_SECONDS
    # Component whose first change users await before they apply the workload; empty: any.
    workload_after: str = ""
    creations_max: int = CREATIONS_MAX
    seed: int = 0
    # The plan as in its file.
    text: str = field(default="", repr=False, compare=False)

    @property
    def components(self) -> Order:
        """Components that change, in the order of the plan."""
        return tuple(change.component for change in self.changes)

    def find_change(self, component: str) -> PlannedChange:
        """Return the change of a component."""
        return next(change for change in self.changes if change.component == component)

    def list_written_orders(self, direction: Direction) -> tuple[WrittenOrder, ...]:
        """Return the written orders of a direction."""
        return tuple(order for order in self.orders if order.direction is direction)

    def list_actions(self) -> tuple[Action, ...]:
        """Return all actions of the plan."""
        parts = (self.setup, *(one.actions for one in self.disturbances), *(one.prepare for one in self.orders))
        return tuple(action for part in parts for action in part)
