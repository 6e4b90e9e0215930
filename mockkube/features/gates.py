"""The gates of one component: what its binary knows, and what is on at a version.

Read `effective` for the answer a component is built with, `states` for what it reports, `Registry` for how both are
found. Nothing here refuses anything: `flags` judges what somebody asks for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mockkube.features.stages import Maturity, Stage, stage_at
from mockkube.features.standing import Standing
from mockkube.features.table import ALL_ALPHA, ALL_BETA, SPECIAL, History, dependencies, histories, retired
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
        """Return the overrides under the gates' own names; of two names for one gate the later counts."""
        return {self.aliases.get(name, name): value for name, value in overrides.items()}

    def stage(self, gate: str, at: Standing) -> Stage:
        """Return the stage of a known gate."""
        return stage_at(self.histories[gate], at.emulated, at.minimum)

    def switches(self, overrides: Mapping[str, bool], at: Standing) -> dict[str, bool]:
        """Return each known gate that exists there, with whether it is on.

        An override that cannot be followed (unknown, not yet born, locked) has no effect.
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
    """Return what a component's binary of that release knows; of two trains for one gate the later counts."""
    running = {train.gate: train for train in trains}
    waiting = {gate for gate, train in running.items() if not train.departed(release)}
    lacking = _LACKING.get(component.partition(".")[0], frozenset()) | waiting
    tables = (histories(release), {gate: train.stages for gate, train in running.items()})
    known = {gate: history for table in tables for gate, history in table.items() if gate not in lacking}
    gone = {gate for gate, last in retired(release).items() if _for_good(last)}
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
    """Return the gates that are on: the defaults of a release, plus overrides.

    Features that graduated so long ago that their gate was removed are on as well: code that asks for them may ask at
    any version.
    """
    known = registry(version, trains, component)
    switches = known.switches(overrides, Standing.of(version))
    return known.graduated.union(gate for gate, on in switches.items() if on)


def states(
    version: Version,
    overrides: Mapping[str, bool] = _NONE,
    trains: tuple[ReleaseTrain, ...] = PROPOSED,
    *,
    component: str = "kube-apiserver",
    standing: Standing | None = None,
) -> list[State]:
    """Return every gate a component reports, by name: the lines of `kubernetes_feature_enabled`, and its status."""
    at = standing or Standing.of(version)
    known = registry(version, trains, component)
    switches = known.switches(overrides, at)
    return [State(gate, known.stage(gate, at).maturity.metric, switches[gate]) for gate in sorted(switches)]
