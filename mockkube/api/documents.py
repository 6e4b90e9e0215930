"""Reading a request body: JSON or YAML in, a Python value out, with Go's complaints about what does not parse."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from mockkube.api import go_json
from mockkube.api.errors import TooLarge

_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')


DEPTH_MAX: Final = 200
"""How deep a document may be nested: no kind comes near it, and what is stored can be written again."""
CONTAINERS_MAX: Final = 200_000
"""How many objects and lists a document may consist of."""
ALIASED_MAX: Final = 100_000
"""How many values the aliases of a YAML text may stand for."""
TOO_DEEP: Final = "exceeded max depth"


class Unreadable(ValueError):
    """The text is not a document; the message is the parser's."""


def read_json(body: bytes) -> Any:
    """The value of a JSON text; Unreadable with the message of Go's parser."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"json parse error: {go_json.complaint(body)}") from error
    opened = body.count(b"{") + body.count(b"[")
    if opened > DEPTH_MAX and _deeper_than(value, DEPTH_MAX):
        raise Unreadable(f"json parse error: {TOO_DEEP}")
    if opened > CONTAINERS_MAX:
        check_containers(count_containers(value))
    return value


def check_containers(count: int) -> None:
    """Refuse a document of more objects and lists than can be worked on in little time and memory."""
    # differs: upstream has no such limit; each of them may become a kilobyte once it is completed
    if count > CONTAINERS_MAX:
        raise TooLarge(f"Request entity too large: {count} objects and lists, the limit is {CONTAINERS_MAX}")


def count_containers(value: Any) -> int:
    """Return how many objects and lists a value consists of."""
    match value:
        case dict():
            return 1 + sum([count_containers(one) for one in value.values() if isinstance(one, dict | list)])
        case list():
            return 1 + sum([count_containers(one) for one in value if isinstance(one, dict | list)])
        case _:
            return 0


@dataclass(frozen=True, slots=True)
class Repeats:
    """What stands more than once in a text, told as the decoder of its format tells it."""

    lines: tuple[str, ...] = ()
    """The complaints about a YAML text."""
    fields: tuple[tuple[str, bool], ...] = ()
    """The fields of a JSON text as they stand, and whether each stood before; none unless one did."""

    def __bool__(self) -> bool:
        return bool(self.lines or self.fields)

    def told(self, unknown: Sequence[str] = (), *, typed: bool = False) -> list[str]:
        """A complaint for each, and for each unknown field."""
        return [*self.lines, *self._of_fields(unknown, typed=typed)]

    def told_at_once(self, unknown: Sequence[str] = (), *, typed: bool = False) -> str:
        """The same in one text."""
        lines = "".join(f"\n  {line}" for line in self.lines)
        texts = [f"yaml: unmarshal errors:{lines}"] if lines else []
        return ", ".join([*texts, *self._of_fields(unknown, typed=typed)])

    def _of_fields(self, unknown: Sequence[str], *, typed: bool) -> list[str]:
        """Into a type a text is read once: complaints are in its order, and nobody looks into unknown fields."""
        # upstream 1.36: sigs.k8s.io/json
        repeated = [path for path, again in self.fields if again]
        if not typed or not repeated:
            return _complaints(repeated, unknown)
        inside = tuple(f"{path}{mark}" for path in unknown for mark in ".[")
        found = []
        for path, again in self.fields:
            if path in unknown:
                found += _complaints([], [path])
            elif again and not path.startswith(inside):
                found += _complaints([path], [])
        return list(dict.fromkeys(found))


NO_REPEATS: Final = Repeats()


def _complaints(repeated: Sequence[str], unknown: Sequence[str]) -> list[str]:
    return [f'duplicate field "{path}"' for path in dict.fromkeys(repeated)] + [
        f'unknown field "{path}"' for path in unknown
    ]


@dataclass(frozen=True, slots=True)
class Yaml:
    """What a YAML text holds, as the JSON it is turned into."""

    value: Any
    repeats: Repeats


def read_yaml(body: bytes) -> Yaml:
    """Read a YAML text; Unreadable with the message of Go's parser."""
    from mockkube.api import yaml_documents  # PyYAML is loaded when the first YAML comes: most clients send JSON

    return yaml_documents.read(body)


def _deeper_than(value: Any, levels: int) -> bool:
    """Whether the value is nested deeper than that; without recursion."""
    layer = [value]
    for _ in range(levels + 1):
        layer = [
            item
            for one in layer
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, dict | list)
        ]
        if not layer:
            return False
    return True


def repeats(body: bytes, value: Any) -> Repeats:
    """What stands more than once in a JSON text; `value` is what it parsed to."""
    if _count_keys(value) == _STRINGS.sub(b"", body).count(b":"):
        return NO_REPEATS
    return Repeats(fields=tuple(_fields(json.loads(body, object_pairs_hook=_Pairs), "")))


class _Pairs(list[tuple[str, Any]]):
    """The members of an object as they stand in the text."""


def _fields(value: Any, at: str) -> Iterator[tuple[str, bool]]:
    if isinstance(value, _Pairs):
        seen = set()
        for key, item in value:
            path = f"{at}.{key}" if at else key
            yield path, key in seen
            seen.add(key)
            yield from _fields(item, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _fields(item, f"{at}[{index}]")


def _count_keys(value: Any) -> int:  # hot: every write that is not told to ignore duplicates
    if value.__class__ is dict:
        return len(value) + sum([_count_keys(v) for v in value.values() if v.__class__ in (dict, list)])
    if value.__class__ is list:
        return sum([_count_keys(v) for v in value if v.__class__ in (dict, list)])
    return 0
