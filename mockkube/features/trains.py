"""Release trains: histories of proposed gates, and replacements for histories of upstream's gates.

PROPOSAL_TRAINS holds the trains of proposals. A cluster's configuration may replace them, or give a gate of upstream
another history ("what if CEL went beta in 1.38?"); `parse_trains` parses it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from mockkube.features.stages import GateStage, Maturity
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

_MATURITIES: Final = {
    maturity.lower(): maturity for maturity in (Maturity.ALPHA, Maturity.BETA, Maturity.GA, Maturity.DEPRECATED)
}


@dataclass(frozen=True, slots=True)
class ReleaseTrain:
    """A gate, its aliases, and its stages in order of version."""

    gate: str
    aliases: tuple[str, ...] = ()
    stages: tuple[GateStage, ...] = ()
    proposal: Any = None
    """Proposal of an installed package that the gate belongs to; components that know the train use it."""

    def includes_gate(self, release: Version) -> bool:
        """Return whether a binary of this release contains the gate."""
        return bool(self.stages) and self.stages[0].version <= release


PROPOSAL_TRAINS: Final = (
    # Neither proposal names a milestone. They extend the operators of KEP-5471, so they start in the same release:
    # components of 1.35 and later know the gates, those of 1.34 and earlier do not.
    ReleaseTrain(
        "TaintTolerationNodeAffinitySemverComparisonOperators",  # KEP-5721
        aliases=("TolerationAffinitySemverOperators",),
        stages=(GateStage(Version(1, 35), Maturity.ALPHA, False),),
    ),
    ReleaseTrain("TaintTolerationCEL", stages=(GateStage(Version(1, 35), Maturity.ALPHA, False),)),  # KEP-5500
)


def parse_trains(value: Any, default_trains: tuple[ReleaseTrain, ...] = PROPOSAL_TRAINS) -> tuple[ReleaseTrain, ...]:
    """Return the default trains, replaced or extended by a configuration; raise ValueError for invalid ones.

    `value` is a list of `{gate, aliases, stages: [{version, maturity, default, locked}]}`; `default` may be omitted
    (alpha and deprecated off, beta and GA on), and so may `locked`. Aliases stay those of the replaced train.
    """
    given = {train.gate: train for train in map(_parse_train, _require_list(value, "release trains"))}
    known = {train.gate: train for train in default_trains}
    for gate, train in given.items():
        if gate in known:
            default_train = known[gate]
            given[gate] = replace(
                train, aliases=train.aliases or default_train.aliases, proposal=default_train.proposal
            )
    return tuple((known | given).values())


def _parse_train(value: Any) -> ReleaseTrain:
    entry = _require_fields(value, "a release train", ("gate", "aliases", "stages"))
    gate = entry.get("gate")
    if not isinstance(gate, str) or not gate:
        raise ValueError("a release train names no gate: give one like gate: TaintTolerationCEL")
    stages = tuple(_parse_stage(gate, stage) for stage in _require_list(entry.get("stages"), f"stages of {gate}"))
    if not stages:
        raise ValueError(f"{gate} has no stages: give at least one, like {{version: '1.38', maturity: Alpha}}")
    for before, after in pairwise(stages):
        if before.version >= after.version:
            raise ValueError(f"stages of {gate}: {after.version} comes after {before.version}: order them by version")
        # Upstream locks a gate for good: the only step after it is the removal of the gate.
        if before.locked and not after.locked:
            raise ValueError(f"stages of {gate}: {after.version} unlocks what {before.version} locked: keep it locked")
    return ReleaseTrain(gate, tuple(map(str, _require_list(entry.get("aliases", ()), f"aliases of {gate}"))), stages)


def _parse_stage(gate: str, value: Any) -> GateStage:
    entry = _require_fields(value, f"a stage of {gate}", ("version", "maturity", "default", "locked"))
    maturity = _MATURITIES.get(str(entry.get("maturity")).lower())
    if maturity is None:
        raise ValueError(f"{gate}: {entry.get('maturity')!r} is not a maturity: give {', '.join(_MATURITIES.values())}")
    switches = {
        "default": entry.get("default", maturity in (Maturity.BETA, Maturity.GA)),
        "locked": entry.get("locked", False),
    }
    for name, switch in switches.items():
        if not isinstance(switch, bool):
            raise ValueError(f"{gate}: {name} is {switch!r}: give true or false")
    return GateStage(_parse_version(gate, entry.get("version")), maturity, **switches)


def _parse_version(gate: str, value: Any) -> Version:
    """Parse a version given as text; as a number, YAML would turn 1.40 into 1.4."""
    try:
        return Version.parse(value)
    except (AttributeError, ValueError):
        raise ValueError(f"{gate}: {value!r} is not a version: give one in quotes, like '1.38'") from None


def _require_fields(value: Any, what: str, known: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is {value!r}: give a mapping of {', '.join(known)}")
    if unknown := [key for key in value if key not in known]:
        raise ValueError(f"{what}: unknown field {unknown[0]!r}: known are {', '.join(known)}")
    return value


def _require_list(value: Any, what: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"{what}: {value!r} is not a list: give one")
    return value
