"""Interleaving plan: a cluster, an operator's actions in a window of time, and what must hold in every order."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from mockkube.explore.interleavings.schedule import Schedule
from mockkube.explore.plans.plan import Action, ComponentSetting, PlannedNode
from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass

# Virtual time that a window lasts by default.
WINDOW_SECONDS: float = 10.0
# Virtual time after a window, for what has to recover.
RECOVERY_SECONDS: float = 30.0
# Pods of one workload that are created in a window before it counts as a hot loop, by default.
CREATIONS_MAX: int = 20


@dataclass(frozen=True, slots=True)
class WindowAction:
    """An action of the operator, and the earliest time for it in the window."""

    action: Action
    at: float = 0.0

    def describe(self) -> str:
        """Return the action in a few words."""
        [(verb, arguments)] = self.action.items()
        return f"{verb} {_describe_target(arguments)}".strip()


def _describe_target(arguments: object) -> str:
    """Return what an action is about: a command, or the kind and name of an object."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, Mapping):
        return ""
    obj = next((arguments[name] for name in ("resource", "ref") if arguments.get(name)), arguments)
    if isinstance(obj, str):
        return obj
    if not isinstance(obj, Mapping) or not obj.get("kind"):
        return " ".join(str(value) for value in arguments.values() if isinstance(value, str))
    name = (obj.get("metadata") or {}).get("name") or obj.get("name") or ""
    return f"{obj['kind']}/{name}" if name else str(obj["kind"])


@dataclass(frozen=True, slots=True)
class InterleavingPlan:
    """Plan of an exploration of interleavings."""

    name: str
    window: tuple[WindowAction, ...]
    invariants: tuple[str, ...]
    title: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    version: Version = DEFAULT
    components: Mapping[str, ComponentSetting] = field(default_factory=dict)
    nodes: tuple[PlannedNode, ...] = (PlannedNode(),)
    setup: tuple[Action, ...] = ()
    seconds: float = WINDOW_SECONDS
    recovery_seconds: float = RECOVERY_SECONDS
    # Longest time that the delivery of a watch is late, beyond being last.
    late_seconds: float = 0.0
    # Components or workers whose steps get other orders, by the start of their names; all if empty.
    reordered: tuple[str, ...] = ()
    # Components or workers whose steps are divided at their requests, by the start of their names.
    divided: tuple[str, ...] = ()
    # Invariants that are known to break.
    expected_breaks: tuple[str, ...] = ()
    creations_max: int = CREATIONS_MAX
    # The only schedule to play; None: search.
    schedule: Schedule | None = None
    seed: int = 0
    # The plan as in its file; empty if it was derived from a rollout plan.
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
