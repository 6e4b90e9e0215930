"""Variants of a component: with one gate flipped, or at another version."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mockkube.features.capabilities import Capabilities
from mockkube.features.gate_table import SPECIAL
from mockkube.features.gates import enabled_gates, gate_states
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import NEWEST, OLDEST, Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.catalogue import all_proposals
from mockkube.proposals.loading import trains_for


@dataclass(frozen=True, slots=True)
class Variant:
    """One change of a component, and its capabilities after it."""

    kind: str
    """`gate` or `version`."""
    change: str
    caps: Capabilities


@dataclass(frozen=True, slots=True)
class ComponentFeatures:
    """Capabilities of a component, and the gates that were set explicitly."""

    component: str
    caps: Capabilities
    overrides: Mapping[str, bool]

    def list_variants(self, gates: Iterable[str] | None = None) -> Iterator[Variant]:
        """Yield the component with each gate flipped where possible, then at every other version.

        Only the given gates are flipped; without any given, all gates of the component.
        """
        all_gates = (one.name for one in gate_states(self.caps.version, trains=self._trains, component=self.component))
        for gate in dict.fromkeys(all_gates if gates is None else gates):
            on = not self.caps.enabled(gate)
            caps = self._compute_capabilities(self.caps.version, {**self.overrides, gate: on})
            # AllAlpha and AllBeta flip many gates together; a locked gate keeps its value, so its variant would change
            # nothing.
            if gate not in SPECIAL and caps.enabled(gate) is on:
                yield Variant("gate", f"{gate}={str(on).lower()}", caps)
        for minor in range(OLDEST.minor, NEWEST.minor + 1):
            version = Version(OLDEST.major, minor)
            if version != self.caps.version:
                yield Variant("version", str(version), self._compute_capabilities(version, self.overrides))

    def list_upgrades(self, gates: Iterable[str] | None = None) -> Iterator[Variant]:
        """Yield the component at every other version with one of the gates (default: proposals') flipped there.

        That is one restart, but two flags.
        """
        gate_names = tuple((proposal.gate for proposal in all_proposals(self._trains)) if gates is None else gates)
        for one in self.list_variants(()):
            for gate in gate_names:
                on = not one.caps.enabled(gate)
                caps = self._compute_capabilities(one.caps.version, {**self.overrides, gate: on})
                if caps.enabled(gate) is on:
                    yield Variant(one.kind, f"{one.change} with {gate}={str(on).lower()}", caps)

    def find_helpful(self, helps: Callable[[Capabilities], bool]) -> Sequence[Variant]:
        """Return the single changes that help; if there are none, other versions with a proposal enabled."""
        found = [one for one in self.list_variants() if helps(one.caps)]
        return found or [one for one in self.list_upgrades() if helps(one.caps)]

    @property
    def _trains(self) -> tuple[ReleaseTrain, ...]:
        return trains_for(self.caps)

    def _compute_capabilities(self, version: Version, overrides: Mapping[str, bool]) -> Capabilities:
        gates = enabled_gates(version, overrides, self._trains, component=self.component)
        return Capabilities(version, gates, self.caps.trains)
