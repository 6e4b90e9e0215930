"""Upstream's feature gates by release: which binary knows which gate, its history, and its dependencies.

The data is in `data/gates.json`, one line per gate: the releases whose binaries know it, and its stages as
`version:maturity:default[:locked][:min=version]`. A gate has a second row where a release rewrote its history. The
newest release's table also serves newer versions, the oldest one's older versions.
"""

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import orjson

from mockkube.features.stages import GateStage, Maturity
from mockkube.features.versions import NEWEST, OLDEST, Version

History = tuple[GateStage, ...]

ALL_ALPHA: Final = "AllAlpha"
ALL_BETA: Final = "AllBeta"
# Gates that set every gate of their maturity that is not set by name.
SPECIAL: Final[Mapping[str, History]] = {
    ALL_ALPHA: (GateStage(Version(0, 0), Maturity.ALPHA, False),),
    ALL_BETA: (GateStage(Version(0, 0), Maturity.BETA, False),),
}


def gate_histories(release: Version) -> Mapping[str, History]:
    """Return the history of each gate that a binary of this release knows, with AllAlpha and AllBeta."""
    return _load_histories(_clamp_release(release))


def gate_dependencies(release: Version) -> Mapping[str, tuple[str, ...]]:
    """Return the gates that each gate depends on, sorted; there are none before 1.35."""
    return _load_dependencies(_clamp_release(release))


def removed_gates(release: Version) -> Mapping[str, GateStage]:
    """Return the last stage of each gate that an earlier release knew and this one does not."""
    return _load_removed_gates(_clamp_release(release))


def _clamp_release(release: Version) -> Version:
    return min(max(release, OLDEST), NEWEST)


@cache
def _load_histories(release: Version) -> Mapping[str, History]:
    return dict(SPECIAL) | {gate: _parse_history(row[2]) for gate, row in _rows_of_release("gates", release)}


@cache
def _load_dependencies(release: Version) -> Mapping[str, tuple[str, ...]]:
    return {gate: tuple(row[2]) for gate, row in _rows_of_release("dependencies", release)}


@cache
def _load_removed_gates(release: Version) -> Mapping[str, GateStage]:
    # Only the last row counts: a gate with two rows was rewritten, not removed, in between.
    rows = ((gate, rows[-1]) for gate, rows in _load_table()["gates"].items())
    return {gate: _parse_history(row[2])[-1] for gate, row in rows if Version.parse(row[1]) < release}


def _rows_of_release(part: str, release: Version) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield each gate of a section with the row that covers the release."""
    for gate, rows in _load_table()[part].items():
        for row in rows:
            if _parse_version(row[0]) <= release <= _parse_version(row[1]):
                yield gate, row


def _parse_history(text: str) -> History:
    return tuple(_parse_stage(entry) for entry in text.split())


@cache
def _parse_stage(text: str) -> GateStage:
    version, maturity, default, *more = text.split(":")
    minimum = next((_parse_version(word[4:]) for word in more if word.startswith("min=")), None)
    return GateStage(_parse_version(version), Maturity(maturity), default == "on", "locked" in more, minimum)


@cache
def _parse_version(text: str) -> Version:
    return Version.parse(text)


@cache
def _load_table() -> Mapping[str, Mapping[str, Sequence[Sequence[Any]]]]:
    data = pkgutil.get_data("mockkube.features", "data/gates.json")
    assert data is not None, "the package contains its table"
    facts: Mapping[str, Mapping[str, Sequence[Sequence[Any]]]] = orjson.loads(data)
    return facts
