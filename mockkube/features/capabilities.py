"""Version and enabled feature gates of one component, fixed while it runs."""

from dataclasses import field

from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Version and enabled gates of a component.

    Components read it once, at start, into the tables that their algorithms use.
    """

    version: Version = DEFAULT
    gates: frozenset[str] = field(default_factory=frozenset)
    # Code that builds clients and schemas from capabilities alone needs the proposals that this cluster added.
    trains: tuple[ReleaseTrain, ...] = ()
    """Release trains of the cluster; empty for the built-in ones."""

    def __hash__(self) -> int:  # hot: several caches are asked for each write
        return hash(self.gates)  # a frozenset computes it once; few capabilities differ in nothing but the version

    def enabled(self, gate: str) -> bool:
        """Return whether the gate exists at this version and is enabled."""
        return gate in self.gates

    def has_train(self, gate: str) -> bool:
        """Return whether a release train replaces the gate's history."""
        return any(train.gate == gate for train in self.trains)
