"""Upstream's gates, release by release: which binary knows which gate, with what history, and what it depends on.

The facts are in `data/gates.json`, a line per gate: from which release to which a binary knows it, and its stages as
`version:maturity:default[:locked][:min=version]`. A gate has a second row where a release rewrote the past. The table
of the newest release also serves what is younger, that of the oldest what is older.
"""

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import orjson

from mockkube.features.stages import Maturity, Stage
from mockkube.features.versions import NEWEST, OLDEST, Version

History = tuple[Stage, ...]

ALL_ALPHA: Final = "AllAlpha"
ALL_BETA: Final = "AllBeta"
SPECIAL: Final[Mapping[str, History]] = {
    ALL_ALPHA: (Stage(Version(0, 0), Maturity.ALPHA, False),),
    ALL_BETA: (Stage(Version(0, 0), Maturity.BETA, False),),
}
"""Gates that set every gate of their maturity which is not set by name."""


def histories(release: Version) -> Mapping[str, History]:
    """Return the history of each gate a binary of that release knows, AllAlpha and AllBeta included."""
    return _histories(_nearest(release))


def dependencies(release: Version) -> Mapping[str, tuple[str, ...]]:
    """Return which gates must be on for which, sorted; before 1.35 nothing says so."""
    return _dependencies(_nearest(release))


def retired(release: Version) -> Mapping[str, Stage]:
    """Return the last stage of each gate that an earlier release knew and this one does not."""
    return _retired(_nearest(release))


def _nearest(release: Version) -> Version:
    return min(max(release, OLDEST), NEWEST)


@cache
def _histories(release: Version) -> Mapping[str, History]:
    return dict(SPECIAL) | {gate: _read(row[2]) for gate, row in _rows("gates", release)}


@cache
def _dependencies(release: Version) -> Mapping[str, tuple[str, ...]]:
    return {gate: tuple(row[2]) for gate, row in _rows("dependencies", release)}


@cache
def _retired(release: Version) -> Mapping[str, Stage]:
    rows = ((gate, rows[-1]) for gate, rows in _facts()["gates"].items())
    return {gate: _read(row[2])[-1] for gate, row in rows if Version.parse(row[1]) < release}


def _rows(part: str, release: Version) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the row of each gate that covers the release."""
    for gate, rows in _facts()[part].items():
        for row in rows:
            if _version(row[0]) <= release <= _version(row[1]):
                yield gate, row


def _read(text: str) -> History:
    return tuple(_stage(entry) for entry in text.split())


@cache
def _stage(text: str) -> Stage:
    version, maturity, default, *more = text.split(":")
    minimum = next((_version(word[4:]) for word in more if word.startswith("min=")), None)
    return Stage(_version(version), Maturity(maturity), default == "on", "locked" in more, minimum)


@cache
def _version(text: str) -> Version:
    return Version.parse(text)


@cache
def _facts() -> Mapping[str, Mapping[str, Sequence[Sequence[Any]]]]:
    data = pkgutil.get_data("mockkube.features", "data/gates.json")
    assert data is not None, "the package ships its table"
    facts: Mapping[str, Mapping[str, Sequence[Sequence[Any]]]] = orjson.loads(data)
    return facts
