"""Steady nodes: those that were Ready and without our taints when they were checked, and have not changed since."""

from collections import Counter
from collections.abc import Sequence
from math import inf

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.controllers.nodelifecycle.node_health import NodeHealth
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SteadyNode:
    """Steady node: only its lease is read until it changes or is lost."""

    node: ReadOnlyObject
    zone: str
    health: NodeHealth


class SteadyNodes:
    """Steady nodes by name, with their number in each zone."""

    def __init__(self) -> None:
        self.nodes: dict[str, SteadyNode] = {}
        # No steady node was last heard of before this time.
        self.heard_at = inf
        # All zones, in the order of their first nodes.
        self.zones: Sequence[str] = ()
        self._counts: Counter[str] = Counter()

    def add(self, name: str, steady: SteadyNode) -> None:
        """Add a node that is not in it."""
        self.nodes[name] = steady
        self._counts[steady.zone] += 1
        self.heard_at = min(self.heard_at, steady.health.probed_at)

    def drop(self, name: str) -> None:
        """Drop a node, if it is steady."""
        if (steady := self.nodes.pop(name, None)) is not None:
            self._counts[steady.zone] -= 1

    def make_ready_lists(self) -> dict[str, list[bool]]:
        """Return a list for each zone with a True for each of its steady nodes."""
        return {zone: [True] * self._counts[zone] for zone in (*self.zones, *self._counts)}
