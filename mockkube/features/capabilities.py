"""What one component can do: its version and the gates that are on, fixed while it runs."""

from dataclasses import dataclass, field

from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT, Version


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A component's version and effective gates. Read once, at start, into the tables an algorithm uses."""

    version: Version = DEFAULT
    gates: frozenset[str] = field(default_factory=frozenset)
    trains: tuple[ReleaseTrain, ...] = ()
    """How features travel in this cluster; empty: as usual."""

    def enabled(self, gate: str) -> bool:
        """Whether the gate exists at this version and is on."""
        return gate in self.gates

    def rerouted(self, gate: str) -> bool:
        """Whether a train gives the gate another history than the releases did."""
        return any(train.gate == gate for train in self.trains)
