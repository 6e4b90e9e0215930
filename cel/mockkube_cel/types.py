"""Types of CEL, as the checker uses them and as `type(x)` returns them."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final


class Kind(Enum):
    """Kind of a type."""

    ANY = auto()
    BOOL = auto()
    BYTES = auto()
    DOUBLE = auto()
    DURATION = auto()
    DYN = auto()
    ERROR = auto()
    INT = auto()
    LIST = auto()
    MAP = auto()
    NULL = auto()
    OPAQUE = auto()
    STRING = auto()
    STRUCT = auto()
    TIMESTAMP = auto()
    PARAM = auto()
    TYPE = auto()
    UINT = auto()


@dataclass(frozen=True, slots=True)
class CelType:
    """A type. `nullable` marks wrapper types, which also accept null; comparisons ignore it."""

    kind: Kind
    name: str
    parameters: tuple["CelType", ...] = ()
    # Not compared: unification treats `bool` and its wrapper as one type.
    nullable: bool = field(default=False, compare=False)

    @property
    def is_dyn(self) -> bool:
        """True if values of every type are accepted."""
        return self.kind is Kind.DYN or self.kind is Kind.ANY

    @property
    def declared_name(self) -> str:
        """The name without parameters."""
        return f"wrapper({self.name})" if self.nullable else self.name

    def is_assignable_from(self, other: "CelType") -> bool:
        """Return whether a value of the other type is accepted here, type parameters aside."""
        if self == other or self.is_dyn or self.kind is Kind.PARAM:
            return True
        if self.nullable and other.kind is Kind.NULL:
            return True
        if self.kind is not other.kind or self.name != other.name or len(self.parameters) != len(other.parameters):
            return False
        return all(mine.is_assignable_from(its) for mine, its in zip(self.parameters, other.parameters, strict=True))

    def __str__(self) -> str:
        if self.kind is Kind.PARAM:
            return f"<{self.name}>"
        if not self.parameters:
            return self.declared_name
        return f"{self.declared_name}({', '.join(map(str, self.parameters))})"


ANY: Final = CelType(Kind.ANY, "google.protobuf.Any")
BOOL: Final = CelType(Kind.BOOL, "bool")
BYTES: Final = CelType(Kind.BYTES, "bytes")
DOUBLE: Final = CelType(Kind.DOUBLE, "double")
DURATION: Final = CelType(Kind.DURATION, "google.protobuf.Duration")
DYN: Final = CelType(Kind.DYN, "dyn")
ERROR: Final = CelType(Kind.ERROR, "error")
INT: Final = CelType(Kind.INT, "int")
NULL: Final = CelType(Kind.NULL, "null_type")
STRING: Final = CelType(Kind.STRING, "string")
TIMESTAMP: Final = CelType(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE: Final = CelType(Kind.TYPE, "type")
UINT: Final = CelType(Kind.UINT, "uint")

# Error messages of the checker (cel-go: FormatCELType) name these kinds otherwise than `str(type)` (cel-go:
# Type.String).
_SPECIAL_NAMES: Final = {
    Kind.ANY: "any",
    Kind.DURATION: "duration",
    Kind.ERROR: "!error!",
    Kind.NULL: "null",
    Kind.TIMESTAMP: "timestamp",
}


def list_of(element: CelType) -> CelType:
    """Return the type of lists of an element type."""
    return CelType(Kind.LIST, "list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of maps from keys to values."""
    return CelType(Kind.MAP, "map", (key, value))


def type_of_type(inner: CelType) -> CelType:
    """Return the type of a type."""
    return CelType(Kind.TYPE, "type", (inner,))


def optional_of(inner: CelType) -> CelType:
    """Return the type of values that may be absent."""
    return CelType(Kind.OPAQUE, "optional_type", (inner,))


def opaque(name: str) -> CelType:
    """Return an abstract type."""
    return CelType(Kind.OPAQUE, name)


def struct(name: str) -> CelType:
    """Return the type of a message."""
    return CelType(Kind.STRUCT, name)


def param(name: str) -> CelType:
    """Return a type parameter."""
    return CelType(Kind.PARAM, name)


def nullable(wrapped: CelType) -> CelType:
    """Return the wrapper of a primitive type: the type itself or null."""
    return CelType(wrapped.kind, wrapped.name, wrapped.parameters, nullable=True)


LIST: Final = list_of(DYN)
MAP: Final = map_of(DYN, DYN)

WELL_KNOWN: Final = {
    "google.protobuf.BoolValue": nullable(BOOL),
    "google.protobuf.BytesValue": nullable(BYTES),
    "google.protobuf.DoubleValue": nullable(DOUBLE),
    "google.protobuf.FloatValue": nullable(DOUBLE),
    "google.protobuf.Int64Value": nullable(INT),
    "google.protobuf.Int32Value": nullable(INT),
    "google.protobuf.UInt64Value": nullable(UINT),
    "google.protobuf.UInt32Value": nullable(UINT),
    "google.protobuf.StringValue": nullable(STRING),
    "google.protobuf.Any": ANY,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.ListValue": LIST,
    "google.protobuf.Struct": map_of(STRING, DYN),
    "google.protobuf.Value": DYN,
}


def unwrap_optional(given: CelType) -> tuple[CelType, bool]:
    """Return the element type of an optional type and True; any other type and False."""
    if given.kind is Kind.OPAQUE and given.name == "optional_type":
        return given.parameters[0], True
    return given, False


def format_type(given: CelType) -> str:
    """Print a type as error messages do (cel-go: FormatCELType)."""
    if name := _SPECIAL_NAMES.get(given.kind):
        return name
    if not given.parameters or given.kind is Kind.PARAM:
        return given.declared_name
    return f"{given.name}({', '.join(map(format_type, given.parameters))})"


def format_call(args: list[CelType], *, member: bool) -> str:
    """Print the types that a function is applied to: `string.(int, bool)` or `(int, bool)`."""
    target = f"{format_type(args[0])}." if member else ""
    return f"{target}({', '.join(format_type(arg) for arg in args[member:])})"
