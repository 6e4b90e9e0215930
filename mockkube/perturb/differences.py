"""Differences between normalized states."""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

import orjson

from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.normalization import WHOLE, IgnoredPath, ObjectId, State

_INDEX: Final = re.compile(r"\[\d+\]")
_SHOWN_MAX: Final = 100
_MISSING: Final = object()


class DifferenceKind(StrEnum):
    """Kind of a difference from the reference."""

    LOST = "lost"
    LEAKED = "leaked"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class StateDifference:
    """An object that is missing, that should not be there, or one of its fields."""

    kind: DifferenceKind
    identity: ObjectId
    path: str = ""
    expected: Any = None
    found: Any = None

    @property
    def signature(self) -> str:
        """Text that is equal for differences of one cause."""
        name = self.identity.name.partition("#")[0]
        return f"{self.kind} {self.identity.resource} {name} {_INDEX.sub('[*]', self.path)}".strip()

    def __str__(self) -> str:
        match self.kind:
            case DifferenceKind.LOST:
                return f"{self.identity} is missing"
            case DifferenceKind.LEAKED:
                return f"{self.identity} is left over"
            case _:
                return f"{self.identity}: {self.path} is {_show(self.found)}, not {_show(self.expected)}"


def compare_states(expected: State, found: State, ignored: Sequence[IgnoredPath] = ()) -> list[StateDifference]:
    """Return what differs from the expected state."""
    return [one for one in _compare(expected, found) if not is_ignored(one, ignored)]


def is_ignored(difference: StateDifference, ignored: Iterable[IgnoredPath]) -> bool:
    """Return whether a difference is in an ignored field."""
    return any(one.covers(difference.identity, difference.path) for one in ignored)


def to_ignored_path(difference: StateDifference) -> IgnoredPath:
    """Return the field in which two runs differ that did the same."""
    name = difference.identity.name.partition("#")[0]
    path = _INDEX.sub("[*]", difference.path) if difference.path else WHOLE
    return IgnoredPath(difference.identity.resource, f"{name}*" if "*" in name else name, path)


def _compare(expected: State, found: State) -> Iterator[StateDifference]:
    for identity in sorted({*expected, *found}):
        if identity not in found:
            yield StateDifference(DifferenceKind.LOST, identity)
        elif identity not in expected:
            yield StateDifference(DifferenceKind.LEAKED, identity)
        else:
            for path, old, new in _compare_values(expected[identity], found[identity], ""):
                yield StateDifference(DifferenceKind.CHANGED, identity, path, old, new)


def _compare_values(expected: Any, found: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted({*expected, *found}):
            below = f"{path}.{key}" if path else key
            yield from _compare_values(expected.get(key, _MISSING), found.get(key, _MISSING), below)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (old, new) in enumerate(zip(expected, found, strict=True)):
            yield from _compare_values(old, new, f"{path}[{index}]")
    elif expected != found:
        yield path, expected, found


def _show(value: Any) -> str:
    if value is _MISSING:
        return "absent"
    text = orjson.dumps(value, default=str).decode()
    return text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 3]}..."
