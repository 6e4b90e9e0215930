"""CEL types and size limits of a structural schema, for compiling validation rules."""

# upstream 1.36: apiserver/pkg/cel/common/schemas.go, apiserver/pkg/cel/{types,escaping,limits}.go

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from mockkube_cel import types
from mockkube_cel.sizes import Path, Size
from mockkube_cel.types import CelType

from mockkube.api.custom.structural import Structural
from mockkube.lazy_dataclasses import dataclass

# Maximum size of a request, which bounds every value without a limit of its own.
REQUEST_BYTES_MAX: Final = 3 * 1024 * 1024
_VALUE_BYTES_MAX: Final = REQUEST_BYTES_MAX - 2
# Names that expressions cannot use for anything but fields.
RESERVED_WORDS: Final = frozenset(
    ("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
     "let", "loop", "package", "namespace", "return", "var", "void", "while")
)  # fmt: skip
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_TIME_FORMATS: Final = {
    "duration": (types.DURATION, 3, 32),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 21, 32),
}
_SCALARS: Final = {"boolean": (types.BOOL, 4), "number": (types.DOUBLE, 1), "integer": (types.INT, 1)}


def escape_name(name: str) -> str | None:
    """Return the CEL identifier of a field name; None if it has none."""
    if not name or name[0].isdigit() or re.search(r"[^a-zA-Z0-9\-./_]", name):
        return None
    if name in RESERVED_WORDS:
        return f"__{name}__"
    return re.sub(r"__|[-./]", lambda found: _ESCAPES[found.group()], name)


@dataclass(slots=True, eq=False)
class DeclType:
    """Type of a schema (upstream: DeclType).

    `bytes_min` is the minimum size of a value as JSON, `size_max` its maximum length.
    """

    type: CelType
    bytes_min: int
    size_max: int = 0
    fields: "dict[str, DeclType]" = field(default_factory=dict)
    key: "DeclType | None" = None
    element: "DeclType | None" = None

    def get_member(self, name: str) -> "DeclType | None":
        """Return the type one step further on a path."""
        if name in ("@items", "@values"):
            return self.element
        return self.key if name == "@keys" else self.fields.get(name)


class DeclTypeBuilder:
    """Builder of the types of one schema; collects the message types."""

    def __init__(self) -> None:
        self.messages: dict[str, Mapping[str, CelType]] = {}

    def build(self, schema: Structural, name: str, *, is_resource_root: bool = False) -> DeclType | None:
        """Return the type of a schema, called `name` if it is a message; None if expressions cannot access it."""
        if schema.is_int_or_string:
            return DeclType(types.DYN, 1, _string_size_max(schema, 4))
        if is_resource_root:
            schema = schema.with_object_fields()
        match schema.type:
            case "array":
                return self._build_list(schema, name)
            case "object":
                more = schema.additional_properties
                return self._build_object(schema, name) if more is None else self._build_map(more, name, schema)
            case "string":
                return _build_string(schema)
        known = _SCALARS.get(schema.type)
        return DeclType(*known) if known else None

    def _build_list(self, schema: Structural, name: str) -> DeclType | None:
        if schema.items is None:
            return None
        element = self.build(schema.items, f"{name}.@idx", is_resource_root=schema.items.is_embedded_resource)
        if element is None:
            return None
        most = schema.raw.get("maxItems")
        # Without a limit: as many of the smallest elements as a request can hold, with a comma each.
        size = max(most, 0) if most is not None else _VALUE_BYTES_MAX // (element.bytes_min + 1)
        return DeclType(types.list_of(element.type), 2, size, element=element)

    def _build_map(self, additional: Structural, name: str, schema: Structural) -> DeclType | None:
        element = self.build(additional, f"{name}.@elem", is_resource_root=additional.is_embedded_resource)
        if element is None:
            return None
        most = schema.raw.get("maxProperties")
        # Each entry also has a key of at least two quotes, a colon and a comma.
        size = max(most, 0) if most is not None else _VALUE_BYTES_MAX // (element.bytes_min + 6)
        kind = types.map_of(types.STRING, element.type)
        return DeclType(kind, 2, size, key=DeclType(types.STRING, 2), element=element)

    def _build_object(self, schema: Structural, name: str) -> DeclType:
        required, fields, size = schema.raw.get("required") or (), {}, 2
        for own, each in schema.properties.items():
            identifier = escape_name(own)
            declared = self.build(each, f"{name}.{identifier}", is_resource_root=each.is_embedded_resource)
            if declared is None:
                continue
            if identifier is not None:
                fields[identifier] = declared
            # Only required fields without a default add to the minimum size.
            if own in required and each.default is None:
                size += len(own.encode()) + declared.bytes_min + 4
        self.messages[name] = {own: declared.type for own, declared in fields.items()}
        return DeclType(types.struct(name), size, fields=fields)


def _build_string(schema: Structural) -> DeclType:
    form = schema.raw.get("format", "")
    if form == "byte":
        return DeclType(types.BYTES, 2, _string_size_max(schema, 1))
    if form in _TIME_FORMATS:
        return DeclType(*_TIME_FORMATS[form])
    choices = [one for one in schema.raw.get("enum") or () if isinstance(one, str)]
    if choices and "maxLength" not in schema.raw:
        return DeclType(types.STRING, 2, max(len(one.encode()) for one in choices))
    return DeclType(types.STRING, 2, _string_size_max(schema, 4))


def _string_size_max(schema: Structural, bytes_per_character: int) -> int:
    """Return the maximum size of a string: its own limit, else what a request can hold."""
    most = schema.raw.get("maxLength")
    return _VALUE_BYTES_MAX if most is None else max(most, 0) * bytes_per_character


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Estimates sizes by the limits of a type (upstream: sizeEstimator)."""

    root: DeclType

    def estimate_size(self, path: Path, kind: CelType) -> Size | None:
        """Return the size of the value at a path; None if the type has no such path."""
        if not path:
            return None
        found: DeclType | None = self.root
        # Upstream takes the first name for self, whatever it is: an element of a call's result has the path `@items`,
        # and so the size of self.
        for name in path[1:]:
            found = found.get_member(name) if found is not None else None
        return None if found is None else Size(0, found.size_max)
