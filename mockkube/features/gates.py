"""Feature gates of one component: those its binary knows, and those enabled at a version.

`enabled_gates` returns the gates that a component is built with, `gate_states` those it reports; `GateRegistry`
computes both. Nothing here rejects anything: `flags` validates.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gate_table import (
    ALL_ALPHA,
    ALL_BETA,
    SPECIAL,
    History,
    gate_dependencies,
    gate_histories,
    removed_gates,
)
from mockkube.features.stages import GateStage, Maturity, stage_at
from mockkube.features.trains import PROPOSAL_TRAINS, ReleaseTrain
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

_NO_OVERRIDES: Final[Mapping[str, bool]] = {}
_UNREGISTERED: Final = {  # upstream 1.36: cmd/kube-scheduler never registers the controller managers' own gates
    "kube-scheduler": frozenset({"ControllerManagerReleaseLeaderElectionLockOnExit"}),
}


@dataclass(frozen=True, slots=True)
class GateState:
    """State of one gate as its component reports it; `stage` is the label of the metric."""

    name: str
    stage: str
    enabled: bool


@dataclass(frozen=True)
class GateRegistry:
    """Gates that one binary knows, with histories, dependencies and aliases."""

    histories: Mapping[str, History]
    dependencies: Mapping[str, tuple[str, ...]]
    aliases: Mapping[str, str]
    graduated: frozenset[str]  # removed gates whose features are always on

    def resolve_aliases(self, overrides: Mapping[str, bool]) -> dict[str, bool]:
        """Return the overrides by the gates' own names; of two names for one gate the later wins."""
        return {self.aliases.get(name, name): value for name, value in overrides.items()}

    def stage(self, gate: str, at: EffectiveVersion) -> GateStage:
        """Return the stage of a known gate at a version."""
        return stage_at(self.histories[gate], at.emulated, at.min_compatibility)

    def gate_values(self, overrides: Mapping[str, bool], at: EffectiveVersion) -> dict[str, bool]:
        """Return whether each known gate of that version is enabled.

        Overrides that a component would refuse (unknown, too new, locked) have no effect.
        """
        given = self.resolve_aliases(overrides)
        return {
            gate: _gate_value(gate, stage, given)
            for gate in self.histories
            if (stage := self.stage(gate, at)).maturity is not Maturity.PRE_ALPHA
        }


def _gate_value(gate: str, stage: GateStage, overrides: Mapping[str, bool]) -> bool:
    if stage.locked:
        return stage.default
    if gate in overrides:
        return overrides[gate]
    # AllAlpha and AllBeta have a maturity of their own, which must not make them set each other.
    if gate in SPECIAL:
        return stage.default
    if stage.maturity is Maturity.ALPHA:
        return overrides.get(ALL_ALPHA, stage.default)
    if stage.maturity is Maturity.BETA:
        return overrides.get(ALL_BETA, stage.default)
    return stage.default


def gate_registry(
    release: Version, trains: tuple[ReleaseTrain, ...] = PROPOSAL_TRAINS, component: str = "kube-apiserver"
) -> GateRegistry:
    """Return the gates that a component's binary of this release knows; of two trains for one gate the later wins."""
    # The kubelet of each node, like `kubelet.NODE`, has the gates of all.
    return _read_gates(release, trains, component.partition(".")[0])


@lru_cache(maxsize=64)
def _read_gates(release: Version, trains: tuple[ReleaseTrain, ...], component: str) -> GateRegistry:
    train_by_gate = {train.gate: train for train in trains}
    too_new = {gate for gate, train in train_by_gate.items() if not train.includes_gate(release)}
    unregistered = _UNREGISTERED.get(component, frozenset()) | too_new
    tables = (gate_histories(release), {gate: train.stages for gate, train in train_by_gate.items()})
    known = {gate: history for table in tables for gate, history in table.items() if gate not in unregistered}
    # A removed gate whose feature became mandatory still counts as enabled, so that code may look it up at any version.
    removed = {gate for gate, last in removed_gates(release).items() if _is_always_on(last)}
    return GateRegistry(
        histories=known,
        dependencies={gate: required for gate, required in gate_dependencies(release).items() if gate in known},
        aliases={alias: gate for gate, train in train_by_gate.items() if gate in known for alias in train.aliases},
        graduated=frozenset(removed - train_by_gate.keys()),
    )


def _is_always_on(last: GateStage) -> bool:
    return last.default and last.maturity in (Maturity.GA, Maturity.DEPRECATED)


def enabled_gates(
    version: Version,
    overrides: Mapping[str, bool] = _NO_OVERRIDES,
    trains: tuple[ReleaseTrain, ...] = PROPOSAL_TRAINS,
    *,
    component: str = "kube-apiserver",
) -> frozenset[str]:
    """Return the enabled gates: the defaults of a release, plus overrides.

    Gates that were removed after their features graduated count as enabled, so code may look them up at any version.
    """
    known = gate_registry(version, trains, component)
    switches = known.gate_values(overrides, EffectiveVersion.from_version(version))
    return known.graduated.union(gate for gate, on in switches.items() if on)


def gate_states(
    version: Version,
    overrides: Mapping[str, bool] = _NO_OVERRIDES,
    trains: tuple[ReleaseTrain, ...] = PROPOSAL_TRAINS,
    *,
    component: str = "kube-apiserver",
    effective_version: EffectiveVersion | None = None,
) -> list[GateState]:
    """Return every gate that a component reports, by name, for `kubernetes_feature_enabled` and its status."""
    at = effective_version or EffectiveVersion.from_version(version)
    known = gate_registry(version, trains, component)
    switches = known.gate_values(overrides, at)
    return [GateState(gate, known.stage(gate, at).maturity.metric, switches[gate]) for gate in sorted(switches)]
