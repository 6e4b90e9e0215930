"""Stages of a gate by version, the version in which it can be flipped, and the gates that must be set with it."""

from collections.abc import Iterator, Mapping

from mockkube.atlas.gate_readers import ALL_VERSIONS
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gate_table import gate_dependencies, gate_histories
from mockkube.features.stages import GateStage, Maturity, stage_at
from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VersionStage:
    """Stage of a gate in one release."""

    version: str
    # Empty if the binaries of this release do not know the gate.
    maturity: str = ""
    is_on: bool = False
    is_locked: bool = False

    def __str__(self) -> str:
        if not self.maturity:
            return "–"
        locked = ", locked" if self.is_locked else ""
        return f"{self.maturity}, {'on' if self.is_on else 'off'}{locked}"


def list_stages(gate: str) -> tuple[VersionStage, ...]:
    """Return the stage of a gate in each supported release."""
    return tuple(_make_stage(gate, version) for version in ALL_VERSIONS)


def _make_stage(gate: str, version: Version) -> VersionStage:
    stage = _find_stage(gate, version)
    if stage is None:
        return VersionStage(str(version))
    return VersionStage(str(version), str(stage.maturity), stage.default, stage.locked)


def _find_stage(gate: str, version: Version) -> GateStage | None:
    """Return the stage at a version; None if a binary of this version does not have the gate."""
    history = gate_histories(version).get(gate)
    if history is None:
        return None
    at = EffectiveVersion.from_version(version)
    stage = stage_at(history, at.emulated, at.min_compatibility)
    return None if stage.maturity is Maturity.PRE_ALPHA else stage


def can_flip(gate: str, version: Version) -> bool:
    """Return whether components of a version can be started with the gate on and with it off."""
    stage = _find_stage(gate, version)
    return stage is not None and not stage.locked


def choose_version(gate: str) -> Version | None:
    """Return the version to play a gate in: the default one, else the nearest newer, else the nearest older one.

    None if the gate is locked in every supported version.
    """
    newer = [version for version in ALL_VERSIONS if version >= DEFAULT]
    older = [version for version in reversed(ALL_VERSIONS) if version < DEFAULT]
    return next((version for version in (*newer, *older) if can_flip(gate, version)), None)


def find_base_gates(gate: str, version: Version, wanted: Mapping[str, bool]) -> Mapping[str, bool]:
    """Return the settings of other gates that hold throughout, so that only this gate changes.

    Gates that it depends on are on, and gates that depend on it are off, as far as they are not locked. `wanted` are
    settings of the workload, which need what they depend on, too.
    """
    required = set(_find_required(gate, version))
    for other, is_on in wanted.items():
        required |= {other, *_find_required(other, version)} if is_on else set()
    dependent = set(_find_dependent(gate, version)) - required
    values = {**dict.fromkeys(sorted(dependent), False), **dict.fromkeys(sorted(required - {gate}), True), **wanted}
    return {name: is_on for name, is_on in values.items() if can_flip(name, version)}


def _find_required(gate: str, version: Version) -> Iterator[str]:
    for other in gate_dependencies(version).get(gate, ()):
        yield other
        yield from _find_required(other, version)


def _find_dependent(gate: str, version: Version) -> Iterator[str]:
    for other, required in gate_dependencies(version).items():
        if gate in required:
            yield other
            yield from _find_dependent(other, version)
