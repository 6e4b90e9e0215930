"""Rollout plans: what changes on which component, under which workload, disturbed by what, and what must hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT, Version

Order = tuple[str, ...]
"""The components of a change, in the order in which they change."""
Action = ReadOnlyObject
"""A step of the scenario language, as it stands in the file: `{"taint": {...}}`."""

SECONDS: Final = 20
"""How long a step of the rollout lasts unless the plan says otherwise."""
CREATIONS_MAX: Final = 30
"""How many pods may be created in one step before that is a loop."""


class Phase(StrEnum):
    """Which way the change goes."""

    UP = "up"
    DOWN = "down"

    @property
    def noun(self) -> str:
        """What people call it."""
        return "enablement" if self is Phase.UP else "rollback"


class When(StrEnum):
    """Where in an order a disturbance happens."""

    EVERY_STEP = "every-step"
    ONCE = "once"
    """After each of the steps, one after the other: each place makes a walk of its own."""
    BEFORE_DOWN = "before-down"


@dataclass(frozen=True, slots=True)
class Setting:
    """A version and gates; what is not named is left alone, a gate that is None is as its version has it."""

    version: str | None = None
    gates: Mapping[str, bool | None] = field(default_factory=dict)

    def __str__(self) -> str:
        gates = [f"{gate}={'default' if on is None else str(on).lower()}" for gate, on in sorted(self.gates.items())]
        return " ".join([*([self.version] if self.version else []), *gates]) or "as it is"


@dataclass(frozen=True, slots=True)
class Change:
    """What one component is before the rollout and after it."""

    component: str
    before: Setting
    after: Setting

    def to(self, phase: Phase) -> Setting:
        """Return what the component becomes when the change goes this way."""
        return self.after if phase is Phase.UP else self.before


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Something that happens to a cluster in the middle of a rollout."""

    name: str
    actions: tuple[Action, ...]
    when: When = When.EVERY_STEP
    phases: frozenset[Phase] = frozenset(Phase)


@dataclass(frozen=True, slots=True)
class WrittenOrder:
    """An order that somebody has written down, and what is said of it."""

    name: str
    phase: Phase
    order: Order
    """May name only some of the components: the others change after them, in the order of the plan."""
    claim: bool | None = None
    """True: it is said to be safe. None: nothing is said."""
    source: str = ""
    prepare: tuple[Action, ...] = ()
    """What is to be done before the first step."""
    named: int = 0
    """How many components whoever wrote it names; the others stand behind them."""


@dataclass(frozen=True, slots=True)
class Demand:
    """An invariant of the plan: one of the catalogue, or an object that must look like this."""

    name: str
    expected: ReadOnlyObject | None = None
    """Of a demand that is the plan's own: part of an object."""
    every_step: bool = False
    """Whether it must hold after each step, not only when all components have changed."""


@dataclass(frozen=True, slots=True)
class NodeWanted:
    """A node of the cluster."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is asked."""

    name: str
    changes: tuple[Change, ...]
    nodes: tuple[NodeWanted, ...]
    workload: tuple[ReadOnlyObject, ...]
    """What users apply, again after each step until it is accepted."""
    demands: tuple[Demand, ...]
    title: str = ""
    source: str = ""
    kep: int = 0
    notes: tuple[str, ...] = ()
    version: Version = DEFAULT
    trains: tuple[ReleaseTrain, ...] | None = None
    """None: the usual ones."""
    setup: tuple[Action, ...] = ()
    disturbances: tuple[Disturbance, ...] = ()
    orders: tuple[WrittenOrder, ...] = ()
    seconds: int = SECONDS
    creations_max: int = CREATIONS_MAX
    seed: int = 0
    text: str = field(default="", repr=False, compare=False)
    """As it stands in its file."""

    @property
    def components(self) -> Order:
        """The components that change, in the order of the plan."""
        return tuple(change.component for change in self.changes)

    def change_of(self, component: str) -> Change:
        """Return what changes on a component."""
        return next(change for change in self.changes if change.component == component)

    def written(self, phase: Phase) -> tuple[WrittenOrder, ...]:
        """Return the orders somebody wrote for this way."""
        return tuple(order for order in self.orders if order.phase is phase)
