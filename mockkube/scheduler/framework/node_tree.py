"""Node tree: nodes in an order that alternates between zones, so that a part of the list spreads over zones.

upstream 1.36: pkg/scheduler/backend/cache/node_tree.go
"""

from collections.abc import Mapping
from itertools import chain, zip_longest
from typing import Final

Zone = tuple[str, str]
_REGIONS: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONES: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


def zone_key(labels: Mapping[str, str]) -> Zone:
    """Return region and zone of a node; the older, deprecated label wins."""
    return _first_label(labels, _REGIONS), _first_label(labels, _ZONES)


def _first_label(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if name in labels), "")


class NodeTree:
    """Node names by zone, in order of arrival within a zone."""

    def __init__(self) -> None:
        self._zones: dict[Zone, dict[str, None]] = {}
        self._zone_of: dict[str, Zone] = {}

    def add_or_move(self, name: str, labels: Mapping[str, str]) -> bool:
        """Add a node, or move it to its present zone; return whether the order has changed."""
        zone, before = zone_key(labels), self._zone_of.get(name)
        if zone == before:
            return False
        if before is not None:
            self.remove(name)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = None
        return True

    def remove(self, name: str) -> None:
        """Remove a node."""
        zone = self._zone_of.pop(name)
        names = self._zones[zone]
        del names[name]
        # An empty zone is dropped: when it returns it is the last one again, as upstream.
        if not names:
            del self._zones[zone]

    def names(self) -> list[str]:
        """Return all names: the first of each zone, then the second of each, and so on."""
        rounds = zip_longest(*self._zones.values())
        return [name for name in chain.from_iterable(rounds) if name is not None]
