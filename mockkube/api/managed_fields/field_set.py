"""Sets of field paths: a tree whose edges are path elements, as in `fieldsV1`.

A path element is its own text: `f:spec`, `k:{"name":"c"}` (item by keys), `v:"x"` (item by value), `i:0` (item by
index). Keys have one canonical text, so equal elements are equal strings.
"""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/fieldpath

import json
from collections.abc import Iterator, Mapping
from heapq import merge
from typing import Any, Final

import orjson

from mockkube.api.managed_fields.errors import InvalidEntry
from mockkube.api.patching.go_formatting import format_go_value

Path = tuple[str, ...]

_RUN: Final = 20_000
_HTML: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def make_field_element(name: str) -> str:
    """Return the element of a map's field."""
    return f"f:{name}"


def make_key_element(keys: Mapping[str, Any]) -> str:
    """Return the element of a list item that is identified by keys."""
    return f"k:{_canonical_json(dict(keys))}"


def make_value_element(value: Any) -> str:
    """Return the element of a list item that is identified by its value."""
    return f"v:{_canonical_json(value)}"


def _canonical_json(value: Any) -> str:
    # Go's encoding/json escapes these characters for HTML.
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode().translate(_HTML)


def format_path(path: Path) -> str:
    """Format a path as in messages: `.spec.containers[name="c"].image`."""
    return "".join(map(_format_element, path))


def _format_element(element: str) -> str:
    kind, content = element[0], element[2:]
    match kind:
        case "f":
            return f".{content}"
        case "k":
            keys = orjson.loads(content)
            return f"[{','.join(f'{name}={_format_value(keys[name])}' for name in sorted(keys))}]"
        case "v":
            return f"[={_format_value(orjson.loads(content))}]"
        case _:
            return f"[{content}]"


def _format_value(value: Any) -> str:
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case None:
            return "null"
        case _:
            return format_go_value(value)


def _sort_key(element: str) -> tuple[Any, ...]:
    """Return a sort key: fields first, then items by key, by value, by index."""
    kind, content = element[0], element[2:]
    match kind:
        case "f":
            return (0, content)
        case "k":
            keys = orjson.loads(content)
            return (1, [(name, _value_sort_key(keys[name])) for name in sorted(keys)])
        case "v":
            return (2, _value_sort_key(orjson.loads(content)))
        case _:
            return (3, int(content))


def _value_sort_key(value: Any) -> tuple[Any, ...]:
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case _:
            return (3, _canonical_json(value))


class FieldSet:
    """Set of paths.

    Only `insert`, while a set is built, changes it; everything else returns a set that may share parts with this one.
    """

    __slots__ = ("_source", "children", "members", "reconciled_type")

    def __init__(self, members: set[str] | None = None, children: "dict[str, FieldSet] | None" = None) -> None:
        self.members = members if members is not None else set()
        self.children = children if children is not None else {}
        # The fieldsV1 it was read from, if writing it again gives the same.
        self._source: Mapping[str, Any] | None = None
        # The type with which it was last reconciled without a change.
        self.reconciled_type: object = None

    @classmethod
    def from_paths(cls, *paths: Path) -> "FieldSet":
        """Return the set of these paths."""
        made = cls()
        for path in paths:
            made.insert(path)
        return made

    @classmethod
    def from_fields_v1(cls, fields: Any) -> "FieldSet":
        """Read `fieldsV1`, which may be any JSON; raise InvalidEntry. Elements of unknown kinds are ignored."""
        if not isinstance(fields, dict):
            raise InvalidEntry("fieldsV1: expected an object")
        made = cls()
        as_written = True
        for text, beneath in fields.items():
            element = _parse_element(text)
            as_written = as_written and (element == text or text == ".")
            if element is None:
                continue
            if not isinstance(beneath, dict):
                raise InvalidEntry(f"fieldsV1: {text}: expected an object")
            if not beneath:
                made.members.add(element)
                continue
            child = cls.from_fields_v1(beneath)
            # `.` says that the parent itself is a member, besides its children.
            if "." in beneath or not child:
                made.members.add(element)
            if child:
                made.children[element] = child
            as_written = as_written and bool(child) and child._source is not None
        made._source = {name: one for name, one in fields.items() if name != "."} if as_written else None
        return made

    def copy(self) -> "FieldSet":
        """Return an equal set that shares nothing with this one."""
        return FieldSet(set(self.members), {element: child.copy() for element, child in self.children.items()})

    def to_fields_v1(self) -> dict[str, Any]:
        """Return the set as `fieldsV1`."""
        if self._source is not None:
            return dict(self._source)
        fields: dict[str, Any] = {}
        for element in self._sorted_elements():
            child = self.children.get(element)
            mark: dict[str, Any] = {".": {}} if child and element in self.members else {}
            fields[element] = mark | child.to_fields_v1() if child else mark
        return fields

    def insert(self, path: Path) -> None:
        """Add a path without its parents. The empty path, the whole object, is never managed."""
        if not path:
            return
        assert self._source is None, "a set that was read is complete"
        node = self
        for element in path[:-1]:
            child = node.children.get(element)
            if child is None:
                child = node.children[element] = FieldSet()
            node = child
        node.members.add(path[-1])

    def has(self, path: Path) -> bool:
        """Return whether the path itself is in the set."""
        node: FieldSet | None = self
        for element in path[:-1]:
            node = node.children.get(element) if node else None
        return bool(path) and node is not None and path[-1] in node.members

    def paths(self, prefix: Path = ()) -> Iterator[Path]:
        """Yield the paths: the members of a level before those below them."""
        for element in sorted(self.members, key=_sort_key):
            yield (*prefix, element)
        for element in sorted(self.children, key=_sort_key):
            yield from self.children[element].paths((*prefix, element))

    def __bool__(self) -> bool:
        return bool(self.members) or any(self.children.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.to_fields_v1() == other.to_fields_v1()

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __or__(self, other: "FieldSet") -> "FieldSet":
        children = dict(self.children)
        for element, child in other.children.items():
            own = children.get(element)
            children[element] = own | child if own is not None else child
        return FieldSet(self.members | other.members, children)

    def __and__(self, other: "FieldSet") -> "FieldSet":
        both = ((element, child, other.children.get(element)) for element, child in self.children.items())
        return FieldSet(
            self.members & other.members,
            {element: common for element, child, twin in both if twin is not None and (common := child & twin)},
        )

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        """Remove paths; paths below them stay."""
        if not other:
            return self
        children = {}
        for element, child in self.children.items():
            twin = other.children.get(element)
            left = child - twin if twin is not None else child
            if twin is None or left:
                children[element] = left
        return FieldSet(self.members - other.members, children)

    def recursive_difference(self, other: "FieldSet") -> "FieldSet":
        """Remove paths and everything below them."""
        if not other:
            return self
        children = {}
        for element, child in self.children.items():
            twin = other.children.get(element)
            if element in other.members:
                continue
            left = child.recursive_difference(twin) if twin is not None else child
            if twin is None or left:
                children[element] = left
        return FieldSet(self.members - other.members, children)

    def _sorted_elements(self) -> list[str]:
        elements = list(self.members | self.children.keys())
        if len(elements) <= _RUN:
            return sorted(elements, key=_sort_key)
        # A thread that sorts keeps the interpreter to itself; between runs, and while it merges them, others go on.
        runs = [sorted(elements[at : at + _RUN], key=_sort_key) for at in range(0, len(elements), _RUN)]
        return list(merge(*runs, key=_sort_key))


EMPTY: Final = FieldSet()


def _parse_element(text: str) -> str | None:
    """Return the canonical text of an element; None for `.` and unknown kinds."""
    if text == ".":
        return None
    if text[1:2] != ":":
        raise InvalidEntry(f"fieldsV1: no path element: {text}")
    try:
        match text[0]:
            case "f":
                return text
            case "k":
                return make_key_element(orjson.loads(text[2:]))
            case "v":
                return make_value_element(orjson.loads(text[2:]))
            case "i":
                return f"i:{int(text[2:])}"
            case _:
                return None
    except (ValueError, TypeError) as error:
        raise InvalidEntry(f"fieldsV1: no path element: {text}: {error}") from error
