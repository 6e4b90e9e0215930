"""Gates of one component: those its binary knows, and those enabled at a version.

`effective` returns the gates that a component is built with, `states` those it reports; `Registry` computes both.
Nothing here rejects anything: `flags` validates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.stages import Maturity, Stage, stage_at
from mockkube.features.table import ALL_ALPHA, ALL_BETA, SPECIAL, History, dependencies, histories, removed_gates
from mockkube.features.trains import PROPOSED, ReleaseTrain
from mockkube.features.versions import Version

_NONE: Final[Mapping[str, bool]] = {}
_LACKING: Final = {  # upstream 1.36: cmd/kube-scheduler never registers the controller managers' own gates
    "kube-scheduler": frozenset({"ControllerManagerReleaseLeaderElectionLockOnExit"}),
}


@dataclass(frozen=True, slots=True)
class State:
    """A gate as a component reports it; `stage` is the label of the metric."""

    name: str
    stage: str
    enabled: bool


@dataclass(frozen=True)
class Registry:
    """The gates that one binary knows."""

    histories: Mapping[str, History]
    dependencies: Mapping[str, tuple[str, ...]]
    aliases: Mapping[str, str]
    graduated: frozenset[str]  # gates no longer known, because their feature cannot be turned off any more

    def canonical(self, overrides: Mapping[str, bool]) -> dict[str, bool]:
        """Return the overrides under the gates' own names; of two names for one gate the later wins."""
        return {self.aliases.get(name, name): value for name, value in overrides.items()}

    def stage(self, gate: str, at: EffectiveVersion) -> Stage:
        """Return the stage of a known gate."""
        return stage_at(self.histories[gate], at.emulated, at.minimum)

    def switches(self, overrides: Mapping[str, bool], at: EffectiveVersion) -> dict[str, bool]:
        """Return each known gate of that version with whether it is enabled.

        Overrides that a component would refuse (unknown, too new, locked) have no effect.
        """
        given = self.canonical(overrides)
        return {
            gate: _switch(gate, stage, given)
            for gate in self.histories
            if (stage := self.stage(gate, at)).maturity is not Maturity.PRE_ALPHA
        }


def _switch(gate: str, stage: Stage, given: Mapping[str, bool]) -> bool:
    if stage.locked:
        return stage.default
    if gate in given:
        return given[gate]
    if gate in SPECIAL:
        return stage.default
    if stage.maturity is Maturity.ALPHA:
        return given.get(ALL_ALPHA, stage.default)
    if stage.maturity is Maturity.BETA:
        return given.get(ALL_BETA, stage.default)
    return stage.default


@lru_cache(maxsize=64)
def registry(
    release: Version, trains: tuple[ReleaseTrain, ...] = PROPOSED, component: str = "kube-apiserver"
) -> Registry:
    """Return the gates that a component's binary of this release knows; of two trains for one gate the later wins."""
    running = {train.gate: train for train in trains}
    waiting = {gate for gate, train in running.items() if not train.includes_gate(release)}
    lacking = _LACKING.get(component.partition(".")[0], frozenset()) | waiting
    tables = (histories(release), {gate: train.stages for gate, train in running.items()})
    known = {gate: history for table in tables for gate, history in table.items() if gate not in lacking}
    gone = {gate for gate, last in removed_gates(release).items() if _for_good(last)}
    return Registry(
        histories=known,
        dependencies={gate: needs for gate, needs in dependencies(release).items() if gate in known},
        aliases={alias: gate for gate, train in running.items() if gate in known for alias in train.aliases},
        graduated=frozenset(gone - running.keys()),
    )


def _for_good(last: Stage) -> bool:
    return last.default and last.maturity in (Maturity.GA, Maturity.DEPRECATED)


def effective(
    version: Version,
    overrides: Mapping[str, bool] = _NONE,
    trains: tuple[ReleaseTrain, ...] = PROPOSED,
    *,
    component: str = "kube-apiserver",
) -> frozenset[str]:
    """Return the enabled gates: the defaults of a release, plus overrides.

    Gates of features that graduated so long ago that they were removed count as enabled: code may ask for them at any
    version.
    """
    known = registry(version, trains, component)
    switches = known.switches(overrides, EffectiveVersion.of(version))
    return known.graduated.union(gate for gate, on in switches.items() if on)


def states(
    version: Version,
    overrides: Mapping[str, bool] = _NONE,
    trains: tuple[ReleaseTrain, ...] = PROPOSED,
    *,
    component: str = "kube-apiserver",
    standing: EffectiveVersion | None = None,
) -> list[State]:
    """Return every gate a component reports, by name, for `kubernetes_feature_enabled` and its status."""
    at = standing or EffectiveVersion.of(version)
    known = registry(version, trains, component)
    switches = known.switches(overrides, at)
    return [State(gate, known.stage(gate, at).maturity.metric, switches[gate]) for gate in sorted(switches)]
