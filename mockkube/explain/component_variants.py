"""A component as it would be with one gate turned over, or of another version."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import effective, states
from mockkube.features.table import SPECIAL
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import NEWEST, OLDEST, Version
from mockkube.proposals.catalogue import all_proposals
from mockkube.proposals.outside import trains_for


@dataclass(frozen=True, slots=True)
class Variant:
    """What is changed, and what the component could do then."""

    kind: str
    """`gate` or `version`."""
    change: str
    caps: Capabilities


@dataclass(frozen=True, slots=True)
class Standing:
    """A component as it is: what it can do, and the gates that somebody has set."""

    component: str
    caps: Capabilities
    overrides: Mapping[str, bool]

    def variants(self, gates: Iterable[str] | None = None) -> Iterator[Variant]:
        """Yield it with each gate turned over that can be, of these or of all it has, then at every other version."""
        every = (one.name for one in states(self.caps.version, trains=self._trains, component=self.component))
        for gate in dict.fromkeys(every if gates is None else gates):
            on = not self.caps.enabled(gate)
            caps = self._with(self.caps.version, {**self.overrides, gate: on})
            if gate not in SPECIAL and caps.enabled(gate) is on:
                yield Variant("gate", f"{gate}={str(on).lower()}", caps)
        for minor in range(OLDEST.minor, NEWEST.minor + 1):
            version = Version(OLDEST.major, minor)
            if version != self.caps.version:
                yield Variant("version", str(version), self._with(version, self.overrides))

    def upgrades(self, gates: Iterable[str] | None = None) -> Iterator[Variant]:
        """Yield it at every other version with one of these gates, or that of a proposal, turned over there.

        That is one restart, but two flags.
        """
        wanted = tuple((proposal.gate for proposal in all_proposals(self._trains)) if gates is None else gates)
        for one in self.variants(()):
            for gate in wanted:
                on = not one.caps.enabled(gate)
                caps = self._with(one.caps.version, {**self.overrides, gate: on})
                if caps.enabled(gate) is on:
                    yield Variant(one.kind, f"{one.change} with {gate}={str(on).lower()}", caps)

    def helpful(self, helps: Callable[[Capabilities], bool]) -> Sequence[Variant]:
        """Return the single changes that help; only if there are none, other versions with a proposal switched on."""
        found = [one for one in self.variants() if helps(one.caps)]
        return found or [one for one in self.upgrades() if helps(one.caps)]

    @property
    def _trains(self) -> tuple[ReleaseTrain, ...]:
        return trains_for(self.caps)

    def _with(self, version: Version, overrides: Mapping[str, bool]) -> Capabilities:
        gates = effective(version, overrides, self._trains, component=self.component)
        return Capabilities(version, gates, self.caps.trains)
