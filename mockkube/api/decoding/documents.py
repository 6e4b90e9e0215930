"""Request bodies: parse JSON or YAML, with Go's errors for invalid text and duplicate fields."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from mockkube.api.decoding import go_json_errors
from mockkube.api.errors import TooLarge
from mockkube.lazy_dataclasses import dataclass

_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRINGS: Final = re.compile(_STRING, re.DOTALL)
# So much text at a time that a thread that scans it does not hold the interpreter for long.
_FEW_TOKENS: Final = re.compile(rb'(?:[^"]++|%b){1,2000}+' % _STRING, re.DOTALL)
_SPACED_COLONS: Final = (b" :", b"\t:", b"\n:", b"\r:")


# Maximum nesting of a document: no kind comes near it, and what is stored can be encoded again.
DEPTH_MAX: Final = 200
# Maximum number of objects and lists in a document.
CONTAINERS_MAX: Final = 200_000
# Maximum number of keys and values in a YAML text: each takes half a kilobyte while it is parsed.
YAML_VALUES_MAX: Final = 300_000
# Maximum number of values that the aliases of a YAML text expand to.
ALIASED_MAX: Final = 100_000
TOO_DEEP: Final = "exceeded max depth"


class InvalidDocument(ValueError):
    """Text that is no document; the message is the parser's."""


def parse_json(body: bytes) -> Any:
    """Parse a JSON text; raise InvalidDocument with the message of Go's parser."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidDocument(f"json parse error: {go_json_errors.find_syntax_error(body)}") from error
    # Counting bytes is cheap and never counts too few, so most bodies need no walk over their values.
    opened = body.count(b"{") + body.count(b"[")
    if opened > DEPTH_MAX and _is_deeper_than(value, DEPTH_MAX):
        raise InvalidDocument(f"json parse error: {TOO_DEEP}")
    if opened > CONTAINERS_MAX:
        check_container_count(count_containers(value))
    return value


def check_container_count(count: int) -> None:
    """Raise TooLarge for a document of more objects and lists than a server can process quickly."""
    # differs: upstream has no such limit; defaulting may add a kilobyte to each of them.
    if count > CONTAINERS_MAX:
        raise TooLarge(f"Request entity too large: {count} objects and lists, the limit is {CONTAINERS_MAX}")


def count_containers(value: Any) -> int:
    """Return the number of objects and lists in a value."""
    match value:
        case dict():
            return 1 + sum([count_containers(one) for one in value.values() if isinstance(one, dict | list)])
        case list():
            return 1 + sum([count_containers(one) for one in value if isinstance(one, dict | list)])
        case _:
            return 0


@dataclass(frozen=True, slots=True)
class DuplicateFields:
    """Duplicate fields of a document, in the terms of its format's decoder."""

    # Errors of a YAML text.
    yaml_errors: tuple[str, ...] = ()
    # Fields of a JSON text in order, and whether each is a duplicate; empty if none is.
    json_fields: tuple[tuple[str, bool], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.yaml_errors or self.json_fields)

    def list_errors(self, unknown: Sequence[str] = (), *, typed: bool = False) -> list[str]:
        """Return an error for each duplicate and each unknown field."""
        return [*self.yaml_errors, *self._field_errors(unknown, typed=typed)]

    def join_errors(self, unknown: Sequence[str] = (), *, typed: bool = False) -> str:
        """Return the same errors in one text."""
        lines = "".join(f"\n  {line}" for line in self.yaml_errors)
        texts = [f"yaml: unmarshal errors:{lines}"] if lines else []
        return ", ".join([*texts, *self._field_errors(unknown, typed=typed)])

    def _field_errors(self, unknown: Sequence[str], *, typed: bool) -> list[str]:
        """Return the errors of fields; with `typed`, in the order in which Go's decoder meets them."""
        # upstream 1.36: sigs.k8s.io/json
        repeated = [path for path, again in self.json_fields if again]
        if not typed or not repeated:
            return _format_errors(repeated, unknown)
        # A typed decoder reads the text once, and skips what is below an unknown field.
        inside = tuple(f"{path}{mark}" for path in unknown for mark in ".[")
        found = []
        for path, again in self.json_fields:
            if path in unknown:
                found += _format_errors([], [path])
            elif again and not path.startswith(inside):
                found += _format_errors([path], [])
        return list(dict.fromkeys(found))


NO_DUPLICATES: Final = DuplicateFields()


def _format_errors(repeated: Sequence[str], unknown: Sequence[str]) -> list[str]:
    return [f'duplicate field "{path}"' for path in dict.fromkeys(repeated)] + [
        f'unknown field "{path}"' for path in unknown
    ]


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """Value of a YAML text as JSON, and its duplicate fields."""

    value: Any
    duplicates: DuplicateFields


def parse_yaml(body: bytes) -> YamlDocument:
    """Parse a YAML text; raise InvalidDocument with the message of Go's parser."""
    from mockkube.api.decoding import yaml_documents

    return yaml_documents.parse(body)


def _is_deeper_than(value: Any, levels: int) -> bool:
    """Return whether a value is nested deeper than a number of levels; without recursion."""
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


def find_duplicate_fields(body: bytes, value: Any) -> DuplicateFields:
    """Return the duplicate fields of a JSON text; `value` is what it parsed to."""
    # Each key has a colon: if parsing has lost none of them, none was a duplicate.
    if _has_all_keys(body, value) or _count_keys(value) == _count_colons(body):
        return NO_DUPLICATES
    return DuplicateFields(json_fields=tuple(_iter_fields(json.loads(body, object_pairs_hook=_Members), "")))


class _Members(list[tuple[str, Any]]):
    """Members of an object as they are in the text, duplicates included."""


def _iter_fields(value: Any, at: str) -> Iterator[tuple[str, bool]]:
    if isinstance(value, _Members):
        keys = set()
        for key, item in value:
            path = f"{at}.{key}" if at else key
            yield path, key in keys
            keys.add(key)
            yield from _iter_fields(item, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _iter_fields(item, f"{at}[{index}]")


def _has_all_keys(body: bytes, value: Any) -> bool:  # hot: every write that is not told to ignore duplicates
    """Return whether a JSON text is of the plain kind in which missing keys can be counted fast, and misses none."""
    try:
        encoded = orjson.dumps(value)
    except orjson.JSONEncodeError:  # it is nested deeper than the encoder goes
        return False
    # Most clients write compact JSON, as the encoder does; Go's ends the line.
    if body.rstrip(b"\n") == encoded:
        return True
    # Without escapes and spaces before colons, a quote and a colon end a key or begin a string. Encoding the value
    # writes all of that again, but of duplicate keys only one.
    if b"\\" in body or any(spaced in body for spaced in _SPACED_COLONS):
        return False
    return body.count(b'":') == encoded.count(b'":')


def _count_colons(body: bytes) -> int:  # hot: like the next
    """Return the number of colons in a JSON text outside of its strings."""
    count, at = 0, 0
    while found := _FEW_TOKENS.match(body, at):
        count += _STRINGS.sub(b"", found[0]).count(b":")
        at = found.end()
    return count


def _count_keys(value: Any) -> int:  # hot: every write that is not told to ignore duplicates
    if value.__class__ is dict:
        return len(value) + sum([_count_keys(v) for v in value.values() if v.__class__ in (dict, list)])
    if value.__class__ is list:
        return sum([_count_keys(v) for v in value if v.__class__ in (dict, list)])
    return 0
