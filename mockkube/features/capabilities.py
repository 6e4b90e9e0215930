"""Capabilities of one component: its version and its enabled gates, fixed while it runs."""

from dataclasses import dataclass, field

from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT, Version


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A component's version and effective gates, read once at start into the tables of its algorithms."""

    version: Version = DEFAULT
    gates: frozenset[str] = field(default_factory=frozenset)
    trains: tuple[ReleaseTrain, ...] = ()
    """Release trains of this cluster; empty for the usual ones."""

    def enabled(self, gate: str) -> bool:
        """Return whether the gate exists at this version and is enabled."""
        return gate in self.gates

    def has_train(self, gate: str) -> bool:
        """Return whether a release train replaces the gate's history."""
        return any(train.gate == gate for train in self.trains)
