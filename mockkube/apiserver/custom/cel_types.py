"""CEL types and size limits of a structural schema, for compiling validation rules."""

# upstream 1.36: apiserver/pkg/cel/common/schemas.go, apiserver/pkg/cel/{types,escaping,limits}.go

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from mockkube_cel import types
from mockkube_cel.sizes import Path, Size
from mockkube_cel.types import CelType

from mockkube.api.custom.structural import Structural

# Maximum size of a request, which bounds every value without a limit of its own.
REQUEST_BYTES_MAX: Final = 3 * 1024 * 1024
_TEXT_MAX: Final = REQUEST_BYTES_MAX - 2
_RESERVED: Final = frozenset(
    ("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
     "let", "loop", "package", "namespace", "return", "var", "void", "while")
)  # fmt: skip
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_TIMES: Final = {
    "duration": (types.DURATION, 3, 32),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 21, 32),
}
_SCALARS: Final = {"boolean": (types.BOOL, 4), "number": (types.DOUBLE, 1), "integer": (types.INT, 1)}


def escape(name: str) -> str | None:
    """Return the CEL identifier of a field name; None if it has none."""
    if not name or name[0].isdigit() or re.search(r"[^a-zA-Z0-9\-./_]", name):
        return None
    if name in _RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[-./]", lambda found: _ESCAPES[found.group()], name)


@dataclass(slots=True, eq=False)
class Declared:
    """Type of a schema (upstream: DeclType).

    `bytes_min` is the minimum size of a value as JSON, `size_max` its maximum length.
    """

    type: CelType
    bytes_min: int
    size_max: int = 0
    fields: "dict[str, Declared]" = field(default_factory=dict)
    key: "Declared | None" = None
    element: "Declared | None" = None

    def step(self, name: str) -> "Declared | None":
        """Return the type one step further on a path."""
        if name in ("@items", "@values"):
            return self.element
        return self.key if name == "@keys" else self.fields.get(name)


class Declarer:
    """Builder of the types of one schema; collects the message types."""

    def __init__(self) -> None:
        self.messages: dict[str, Mapping[str, CelType]] = {}

    def declare(self, schema: Structural, name: str, *, whole: bool = False) -> Declared | None:
        """Return the type of a schema, called `name` if it is a message; None if expressions cannot access it."""
        if schema.int_or_string:
            return Declared(types.DYN, 1, _text_max(schema, 4))
        if whole:
            schema = schema.whole()
        match schema.type:
            case "array":
                return self._list(schema, name)
            case "object":
                more = schema.additional
                return self._object(schema, name) if more is None else self._map(more, name, schema)
            case "string":
                return _text(schema)
        known = _SCALARS.get(schema.type)
        return Declared(*known) if known else None

    def _list(self, schema: Structural, name: str) -> Declared | None:
        if schema.items is None:
            return None
        element = self.declare(schema.items, f"{name}.@idx", whole=schema.items.embedded)
        if element is None:
            return None
        most = schema.raw.get("maxItems")
        # Without a limit: as many of the smallest elements as a request can hold, with a comma each.
        size = max(most, 0) if most is not None else _TEXT_MAX // (element.bytes_min + 1)
        return Declared(types.list_of(element.type), 2, size, element=element)

    def _map(self, additional: Structural, name: str, schema: Structural) -> Declared | None:
        element = self.declare(additional, f"{name}.@elem", whole=additional.embedded)
        if element is None:
            return None
        most = schema.raw.get("maxProperties")
        # Each entry also has a key of at least two quotes, a colon and a comma.
        size = max(most, 0) if most is not None else _TEXT_MAX // (element.bytes_min + 6)
        kind = types.map_of(types.STRING, element.type)
        return Declared(kind, 2, size, key=Declared(types.STRING, 2), element=element)

    def _object(self, schema: Structural, name: str) -> Declared:
        required, fields, size = schema.raw.get("required") or (), {}, 2
        for own, each in schema.properties.items():
            identifier = escape(own)
            declared = self.declare(each, f"{name}.{identifier}", whole=each.embedded)
            if declared is None:
                continue
            if identifier is not None:
                fields[identifier] = declared
            # Only required fields without a default add to the minimum size.
            if own in required and each.default is None:
                size += len(own.encode()) + declared.bytes_min + 4
        self.messages[name] = {own: declared.type for own, declared in fields.items()}
        return Declared(types.struct(name), size, fields=fields)


def _text(schema: Structural) -> Declared:
    form = schema.raw.get("format", "")
    if form == "byte":
        return Declared(types.BYTES, 2, _text_max(schema, 1))
    if form in _TIMES:
        return Declared(*_TIMES[form])
    choices = [one for one in schema.raw.get("enum") or () if isinstance(one, str)]
    if choices and "maxLength" not in schema.raw:
        return Declared(types.STRING, 2, max(len(one.encode()) for one in choices))
    return Declared(types.STRING, 2, _text_max(schema, 4))


def _text_max(schema: Structural, bytes_per_character: int) -> int:
    """Return the maximum size of a string: its own limit, else what a request can hold."""
    most = schema.raw.get("maxLength")
    return _TEXT_MAX if most is None else max(most, 0) * bytes_per_character


class Sizes(Mapping[Path, Size]):
    """Size limits of values by path, computed when looked up, because recursive paths are unlimited."""

    def __init__(self, root: Declared) -> None:
        self._root = root

    def _find(self, path: Path) -> Declared | None:
        found: Declared | None = self._root
        for name in path[1:]:
            found = found.step(name) if found is not None else None
        return found

    def __getitem__(self, path: Path) -> Size:
        found = self._find(path)
        if found is None:
            raise KeyError(path)
        return Size(0, found.size_max)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, tuple) and path[:1] in (("self",), ("oldSelf",)) and self._find(path) is not None

    def __iter__(self) -> Iterator[Path]:
        return iter((("self",), ("oldSelf",)))

    def __len__(self) -> int:
        return 2
