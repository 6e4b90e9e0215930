"""One gate with its workload: the version, the components that read it, and their settings in each half-way state."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from itertools import combinations

from mockkube.atlas.gate_history import choose_version, find_base_gates
from mockkube.atlas.gate_readers import COMPONENTS, find_readers
from mockkube.atlas.gate_workload import GateWorkload
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

# Components that have the gate on.
OnComponents = frozenset[str]


@dataclass(frozen=True, slots=True)
class GateTrial:
    """A gate that can be flipped, its workload, and where it is played."""

    workload: GateWorkload
    version: Version
    # Components that read the gate, in the order of plans.
    components: tuple[str, ...]
    # Settings of other gates, of every component throughout.
    base: Mapping[str, bool] = field(default_factory=dict)

    @property
    def gate(self) -> str:
        """Name of the gate."""
        return self.workload.gate

    def gates_of(self, component: str, on: Collection[str]) -> Mapping[str, bool]:
        """Return the gates that a component is set to, given the components that have the gate on."""
        if component not in self.components:
            return dict(self.base)
        return {**self.base, **dict.fromkeys((self.gate, *self.workload.together), component in on)}

    def list_states(self) -> Iterator[OnComponents]:
        """Yield each set of components that have the gate on, from none to all."""
        for count in range(len(self.components) + 1):
            yield from (frozenset(chosen) for chosen in combinations(self.components, count))

    @property
    def all_on(self) -> OnComponents:
        """All components that read the gate."""
        return frozenset(self.components)


def make_trial(workload: GateWorkload) -> GateTrial | None:
    """Return the trial of a gate; None if the gate is locked in every supported version, or nothing reads it."""
    version = workload.version or choose_version(workload.gate)
    readers = {name for gate in (workload.gate, *workload.together) for name in find_readers().get(gate, ())}
    if version is None or not readers:
        return None
    base = dict(find_base_gates(workload.gate, version, workload.gates))
    for gate in workload.together:
        base = {**find_base_gates(gate, version, base), **base}
    flipped = {workload.gate, *workload.together}
    settings = {gate: is_on for gate, is_on in base.items() if gate not in flipped}
    return GateTrial(workload, version, tuple(name for name in COMPONENTS if name in readers), settings)
