"""Reading a request body: JSON or YAML in, a Python value out, with Go's complaints about what does not parse."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from mockkube.api import go_json

_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')


DEPTH_MAX: Final = 200
"""How deep a document may be nested: no kind comes near it, and what is stored can be written again."""
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
    if body.count(b"{") + body.count(b"[") > DEPTH_MAX and _deeper_than(value, DEPTH_MAX):
        raise Unreadable(f"json parse error: {TOO_DEEP}")
    return value


@dataclass(frozen=True, slots=True)
class Yaml:
    """What a YAML text holds, as the JSON it is turned into; and which keys stand twice, in go-yaml's words."""

    value: Any
    duplicates: tuple[str, ...]


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


def duplicate_fields(body: bytes, value: Any) -> list[str]:
    """Paths of the fields that stand more than once in a JSON text; `value` is what it parsed to."""
    if _count_keys(value) == _STRINGS.sub(b"", body).count(b":"):
        return []
    return list(_duplicates(json.loads(body, object_pairs_hook=_Pairs), ""))


class _Pairs(list[tuple[str, Any]]):
    """The members of an object as they stand in the text."""


def _duplicates(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen = set()
        for key, item in value:
            path = f"{at}.{key}" if at else key
            if key in seen:
                yield path
            seen.add(key)
            yield from _duplicates(item, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _duplicates(item, f"{at}[{index}]")


def _count_keys(value: Any) -> int:  # hot: every write that is not told to ignore duplicates
    if value.__class__ is dict:
        return len(value) + sum([_count_keys(v) for v in value.values() if v.__class__ in (dict, list)])
    if value.__class__ is list:
        return sum([_count_keys(v) for v in value if v.__class__ in (dict, list)])
    return 0
