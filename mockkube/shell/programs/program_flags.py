"""Flags of programs written in Go: `--name=value`, `--name value`, `-n value`."""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube_cel.golang.gotime import parse_duration as parse_go_duration

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.scripts.expansion import require_known

_NANOSECONDS: Final = 1e9
_BOOLEANS: Final = ("true", "false")


def parse_flags(
    words: Sequence[str], defaults: Mapping[str, str], short: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the values of all flags; raise Unsupported for an unknown one, or for another argument."""
    flags, rest = dict(defaults), [require_known(word) for word in words]
    while rest:
        word = rest.pop(0)
        name, assigned, value = word.partition("=")
        bare = name.lstrip("-")
        key = bare if name.startswith("--") else (short or {}).get(bare, "")
        if not name.startswith("-") or key not in flags:
            raise Unsupported
        if not assigned and defaults[key] in _BOOLEANS:
            value = "true"
        elif not assigned:
            if not rest:
                raise Unsupported
            value = rest.pop(0)
        flags[key] = value
    return flags


def parse_known_flags(words: Sequence[str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the values of these flags, whatever the others are."""
    flags, rest = dict(defaults), [require_known(word) for word in words]
    for index, word in enumerate(rest):
        name, assigned, value = word.partition("=")
        key = name.removeprefix("--")
        if word.startswith("--") and key in flags:
            if not assigned:
                value = "true" if defaults[key] in _BOOLEANS else "".join(rest[index + 1 : index + 2])
            flags[key] = value
    return flags


def parse_duration(text: str) -> float:
    """Return a Go duration in seconds; raise Unsupported if it is none."""
    duration = parse_go_duration(text)
    if duration is None:
        raise Unsupported
    return duration.nanos / _NANOSECONDS
