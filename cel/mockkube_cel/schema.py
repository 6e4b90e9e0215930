"""Schemas: which variables, type names, messages and fields an expression may use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mockkube_cel import object_literals, types
from mockkube_cel.types import CelType

_MESSAGES: Final[dict[str, dict[str, CelType]]] = {
    **{
        name: {"value": types.CelType(wrapper.kind, wrapper.name)}
        for name, wrapper in types.WELL_KNOWN.items()
        if wrapper.nullable
    },
    "google.protobuf.Any": {"type_url": types.STRING, "value": types.BYTES},
    "google.protobuf.Duration": {"seconds": types.INT, "nanos": types.INT},
    "google.protobuf.Timestamp": {"seconds": types.INT, "nanos": types.INT},
    "google.protobuf.Empty": {},
    "google.protobuf.ListValue": {"values": types.list_of(types.DYN)},
    "google.protobuf.Struct": {"fields": types.map_of(types.STRING, types.DYN)},
    "google.protobuf.Value": {
        "null_value": types.INT,
        "number_value": types.DOUBLE,
        "string_value": types.STRING,
        "bool_value": types.BOOL,
        "struct_value": types.map_of(types.STRING, types.DYN),
        "list_value": types.list_of(types.DYN),
    },
}
_TYPE_NAMES: Final[dict[str, CelType]] = {
    each.name: each
    for each in (
        types.BOOL, types.BYTES, types.DOUBLE, types.DURATION, types.INT, types.NULL, types.STRING, types.TIMESTAMP,
        types.TYPE, types.UINT, types.list_of(types.param("A")), types.map_of(types.param("A"), types.param("B")),
        types.optional_of(types.DYN), types.opaque("net.IP"), types.opaque("net.CIDR"),
    )
}  # fmt: skip
# Names of enum constants.
CONSTANTS: Final = {"google.protobuf.NullValue.NULL_VALUE": 0}


@dataclass(frozen=True, slots=True)
class Schema:
    """Variables and messages of one environment, in addition to those of every environment."""

    variables: Mapping[str, CelType] = field(default_factory=dict)
    messages: Mapping[str, Mapping[str, CelType]] = field(default_factory=dict)
    # True if expressions may construct objects and patches.
    allows_object_literals: bool = False
    # Words that fields of messages are escaped for: a field `__if__` is also found as `if`.
    escaped_words: frozenset[str] = frozenset()

    def find_type(self, name: str) -> CelType | None:
        """Return the type of a variable or type name; None if it is undeclared."""
        # Variables come first: one called `int` hides the type of that name.
        if name in self.variables:
            return self.variables[name]
        if name in self.messages:
            return types.type_of_type(types.struct(name))
        if name in _TYPE_NAMES:
            return types.type_of_type(_TYPE_NAMES[name])
        if self._is_object_type(name):
            return types.type_of_type(types.struct(name))
        if name in _MESSAGES:
            return types.type_of_type(types.WELL_KNOWN.get(name, types.struct(name)))
        return types.INT if name in CONSTANTS else None

    def fields(self, message: str) -> Mapping[str, CelType] | None:
        """Return the fields of a message, None if there is no such message."""
        if self._is_object_type(message):
            return object_literals.fields_of(message)
        return self.messages.get(message, _MESSAGES.get(message))

    def field_key(self, message: str, name: str) -> str:
        """Return the key under which objects of a message hold a field, its name if there is no such field."""
        fields = self.fields(message) or {}
        escaped = f"__{name}__"
        return escaped if name in self.escaped_words and name not in fields and escaped in fields else name

    def is_message(self, name: str) -> bool:
        """Return whether the type can be constructed as `name{...}`."""
        return name in self.messages or name in _MESSAGES or self._is_object_type(name)

    def resolve_type_value(self, name: str) -> CelType | None:
        """Return the type that a name denotes as a value; upstream resolves fewer here than in the checker."""
        if name in _TYPE_NAMES:
            return _TYPE_NAMES[name]
        if self._is_object_type(name):
            return types.struct(name)
        return types.struct(name) if name in _MESSAGES and name not in types.WELL_KNOWN else None

    def _is_object_type(self, name: str) -> bool:
        return self.allows_object_literals and object_literals.is_object_type(name)
