"""Values of expressions at run time.

Booleans, ints, doubles, strings, bytes, null and lists are Python's own. A map is a dict whose keys went through
`to_key`, because Python treats True as 1. An error is a value too: operators pass it on until one absorbs it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mockkube_cel import types
from mockkube_cel.types import CelType, Kind


class UInt(int):
    """An unsigned integer of 64 bits."""

    # A subclass of int shares its arithmetic; types are compared exactly, so that an int never passes for a uint.
    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A duration in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """Nanoseconds since 1970; `offset_seconds` only affects printing."""

    nanos: int
    offset_seconds: int = 0

    def __eq__(self, other: object) -> bool:
        # The same moment in two zones is one value.
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)


class CelError:
    """Value of an expression whose evaluation failed."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __repr__(self) -> str:
        return f"CelError({self.message!r})"


class InternalError(Exception):
    """A panic of upstream: evaluation ends immediately with this message."""


@dataclass(frozen=True, slots=True)
class Optional:
    """A value or its absence."""

    value: Any
    present: bool = True


NONE: Final = Optional(None, present=False)
NO_OVERLOAD: Final = CelError("no such overload")


class MutableList(list[Any]):
    """Accumulator of a comprehension that builds a list in place."""

    __slots__ = ()


class MutableMap(dict[Any, Any]):
    """Accumulator of a comprehension that builds a map in place."""

    __slots__ = ()


class OpenMap(dict[Any, Any]):
    """A map that returns an empty map for absent keys, although it neither contains nor lists them."""

    __slots__ = ()

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value under the key, or an empty map."""
        return super().get(key, _EMPTY)


_EMPTY: Final[dict[Any, Any]] = {}


class SchemaList(list[Any], ABC):
    """A list whose schema says how it compares."""

    __slots__ = ()

    @abstractmethod
    def equals(self, other: list[Any]) -> "bool | CelError":
        """Compute `self == other`."""

    @abstractmethod
    def concatenate(self, other: list[Any]) -> "SchemaList":
        """Compute `self + other`."""


class SchemaMap(dict[Any, Any], ABC):
    """A map whose schema says how it compares."""

    __slots__ = ()

    @abstractmethod
    def equals(self, other: dict[Any, Any]) -> "bool | CelError":
        """Compute `self == other`."""


class ObjectLiteral(dict[str, Any]):
    """An object or patch literal, with the name of its type."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = type_name


@dataclass(frozen=True, slots=True)
class BoolKey:
    """A boolean as map key."""

    value: bool


BOOL_KEYS: Final = {True: BoolKey(True), False: BoolKey(False)}


@dataclass(frozen=True, slots=True, eq=False)
class IdentityKey:
    """A list, map or optional as map key: upstream finds it again only as the identical object."""

    value: Any


_BY_IDENTITY: Final = (list, dict, Optional)


def to_key(value: Any) -> Any:
    """Return the form in which a value is a key of a map."""
    if value is True or value is False:
        return BOOL_KEYS[value]
    if isinstance(value, _BY_IDENTITY):
        return IdentityKey(value)
    if type(value) is bytes:
        raise InternalError("runtime error: hash of unhashable type types.Bytes")
    return value


def from_key(key: Any) -> Any:
    """Return the value that a key of a map was made from."""
    return key.value if type(key) in (BoolKey, IdentityKey) else key


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """Type, equality and Go name of the values of a library's own type."""

    type: CelType
    go_name: str
    equal: Callable[[Any, Any], "bool | CelError"]


_RUNTIME_TYPES: Final[dict[type, CelType]] = {
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
    list: types.LIST,
    MutableList: types.LIST,
    dict: types.MAP,
    MutableMap: types.MAP,
    OpenMap: types.MAP,
    Duration: types.DURATION,
    Timestamp: types.TIMESTAMP,
    Optional: types.optional_of(types.DYN),
    CelType: types.TYPE,
    CelError: types.ERROR,
}
_GO_NAMES: Final[dict[type, str]] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Optional: "*types.Optional",
    CelType: "*types.Type",
    CelError: "*types.Err",
}
_OPAQUES: Final[dict[type, OpaqueType]] = {}


def register_opaque_type(python_type: type, opaque: OpaqueType) -> None:
    """Register a library's own type of values."""
    _OPAQUES[python_type] = opaque
    _RUNTIME_TYPES[python_type] = opaque.type
    _GO_NAMES[python_type] = opaque.go_name


def register_container_type(python_type: type, cel_type: CelType) -> None:
    """Register a subclass of list or dict as a type of values."""
    _RUNTIME_TYPES[python_type] = cel_type


def is_opaque(value: Any) -> bool:
    """Return whether the value is of a type that a library registered."""
    return type(value) in _OPAQUES


def type_of(value: Any) -> CelType:
    """Return the type of a value at run time."""
    return types.struct(value.type_name) if type(value) is ObjectLiteral else _RUNTIME_TYPES[type(value)]


def go_type_name(value: Any) -> str:
    """Return the name of Go's type for a value, which a few messages show."""
    return _GO_NAMES.get(type(value), "ref.Val")


def error_or_no_overload(value: Any) -> CelError:
    """Return the value if it is an error, else the error that no overload matches."""
    return value if type(value) is CelError else NO_OVERLOAD


_NUMBERS: Final = (int, UInt, float)


def equal(left: Any, right: Any) -> bool | CelError:
    """Compare two values as `==` does; return an error if their types cannot be compared."""
    # A list that holds another one twice, which does so itself, has few elements and takes for ever to compare.
    if isinstance(left, list | dict):
        text_length(left)
    return _equal(left, right)


def _equal(left: Any, right: Any) -> bool | CelError:
    kind, other = type(left), type(right)
    if kind is other and kind in _DIRECTLY_COMPARABLE:
        return bool(left == right)
    # Null equals null only; comparing it with any other type is false, not an error.
    if left is None or right is None:
        return left is right
    if kind in _NUMBERS:
        # upstream 1.36: where a double takes part the comparison is made in doubles.
        return other in _NUMBERS and bool(left == right if float not in (kind, other) else float(left) == float(right))
    if isinstance(left, list):
        if isinstance(left, SchemaList):
            return left.equals(right) if isinstance(right, list) else NO_OVERLOAD
        return isinstance(right, list) and _equal_lists(left, right)
    if isinstance(left, dict):
        if isinstance(left, SchemaMap):
            return left.equals(right) if isinstance(right, dict) else NO_OVERLOAD
        return (
            isinstance(right, dict)
            and _literal_type_name(left) == _literal_type_name(right)
            and _equal_maps(left, right)
        )
    if kind is Optional:
        return other is Optional and _equal_optionals(left, right)
    if kind is CelType:
        return other is CelType and left.name == right.name
    if kind in _OPAQUES:
        return _OPAQUES[kind].equal(left, right) if kind is other else NO_OVERLOAD
    return False


_DIRECTLY_COMPARABLE: Final = frozenset({bool, str, bytes, int, UInt, float, Duration, Timestamp})


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    # upstream 1.36: only a plain False decides; elements that cannot be compared pass for equal.
    return len(left) == len(right) and all(_equal(a, b) is not False for a, b in zip(left, right, strict=True))


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    return all(key in right and _equal(value, right[key]) is not False for key, value in left.items())


def _literal_type_name(value: dict[Any, Any]) -> str | None:
    return value.type_name if type(value) is ObjectLiteral else None


def _equal_optionals(left: Optional, right: Optional) -> bool | CelError:
    if left.present and right.present:
        return _equal(left.value, right.value)
    return left.present == right.present


def contains(container: list[Any], value: Any) -> bool:
    """Return whether a list contains a value."""
    return any(equal(value, element) is True for element in container)


# differs: cel-go has no such limit; an expression whose types are not known doubles a string for a cost of 1.
LENGTH_MAX: Final = 1 << 24
# So many elements are counted in a tenth of a second; documents have fewer.
_STEPS_MAX: Final = 300_000


class TooLong(Exception):
    """A string, bytes or list of more than `LENGTH_MAX` characters or elements was computed."""


def check_length(length: int) -> None:
    """Refuse a result that is too long, if possible before it is made."""
    if length > LENGTH_MAX:
        raise TooLong


def text_length(value: Any) -> int:
    """Return about how many characters a value has as text; refuse what is too long, however it is nested."""
    total, steps, waiting = 0, 0, [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str | bytes):
            total += len(found)
        elif isinstance(found, dict):
            waiting += [from_key(key) for key in found]
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
        total += 1
        steps += 1
        check_length(total if steps < _STEPS_MAX else LENGTH_MAX + 1)
    return total


def size_of(value: Any) -> int:
    """Return the size of a value in the cost model: 1 for values without one."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if type(value) is Optional and value.present:
        return size_of(value.value)
    return getattr(value, "byte_size", 1)


def has_type(expected: CelType, value: Any) -> bool:
    """Return whether an overload accepts a value for this type; of a list only the first element counts."""
    if expected.nullable and value is None:
        return True
    if not (expected.is_dyn or expected.kind is Kind.PARAM or expected.name == type_of(value).name):
        return False
    # Only the first element is checked, as cel-go does: checking all would make every call linear.
    if expected.kind is Kind.LIST and value:
        return has_type(expected.parameters[0], value[0])
    # An object may have a size, but no field that expressions know.
    if expected.kind is Kind.MAP and (first := next(iter(value.items()), None)):
        return has_type(expected.parameters[0], from_key(first[0])) and has_type(expected.parameters[1], first[1])
    return True
