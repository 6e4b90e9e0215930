"""Types of structured merge: maps and lists that are atomic or granular, and scalars.

A `Type` has a form for each kind of value (map, list, scalar); most allow only one. Types are compiled once from the
nodes of a schema.
"""

# upstream 1.36: k8s.io/kube-openapi/pkg/schemaconv, sigs.k8s.io/structured-merge-diff/v6/schema

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, Protocol

from mockkube.api.compile_cache import CompileCache
from mockkube.api.schema import Shape
from mockkube.lazy_dataclasses import dataclass

# No value at all; null is a value.
ABSENT: Final[Any] = object()


class Scalar(StrEnum):
    """Type of a scalar."""

    STRING = "string"
    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    UNTYPED = "untyped"


@dataclass(slots=True, eq=False)
class MapType:
    """Struct, map, or both; an atomic one is a single value."""

    fields: "dict[str, Type]" = field(default_factory=dict)
    # Type of entries that are not among the fields; None if there may be none.
    element: "Type | None" = None
    atomic: bool = False

    def type_of(self, name: str) -> "Type | None":
        """Return the type of a field or entry."""
        return self.fields.get(name, self.element)


@dataclass(slots=True, eq=False)
class ListType:
    """List; unless atomic, its items are identified by their `keys`, or without keys by their value."""

    element: "Type"
    atomic: bool = True
    keys: tuple[str, ...] = ()
    key_defaults: dict[str, Any] = field(default_factory=dict)


Form = MapType | ListType | Scalar


@dataclass(slots=True, eq=False, weakref_slot=True)
class Type:
    """Forms that a value may have."""

    map: MapType | None = None
    scalar: Scalar | None = None
    list: ListType | None = None

    def form(self, value: Any) -> Form:
        """Return the form that handles the value; the first one if none fits."""
        fitting: Form | None = None
        if isinstance(value, dict):
            fitting = self.map
        elif isinstance(value, list):
            fitting = self.list
        elif value is not None and value is not ABSENT:
            fitting = self.scalar
        found = fitting or self.map or self.scalar or self.list
        assert found is not None, "a type allows some form"
        return found


def _make_any_type(*, atomic: bool) -> Type:
    """Return a type that accepts everything; its lists are atomic, and with `atomic` its maps as well."""
    anything = Type(scalar=Scalar.UNTYPED)
    anything.map = MapType(element=anything, atomic=atomic)
    anything.list = ListType(anything)
    return anything


DEDUCED: Final = _make_any_type(atomic=False)
UNTYPED: Final = _make_any_type(atomic=True)


class SchemaField(Protocol):
    """Interface of a field that is compiled; implemented by `mockkube.api.schema.TypeField`."""

    @property
    def node(self) -> "SchemaNode":
        """Type of the field's value."""

    @property
    def always_written(self) -> bool:
        """True if the field is encoded even when it is empty."""


class SchemaNode(Protocol):
    """Interface of a type that is compiled; implemented by `mockkube.api.schema.TypeNode`."""

    @property
    def shape(self) -> Shape:
        """Kind of value."""

    @property
    def go(self) -> str:
        """Name of the Go type."""

    @property
    def fields(self) -> Mapping[str, SchemaField]:
        """Fields of a struct."""

    @property
    def item(self) -> "SchemaNode | None":
        """Type of the items of a list or map, or of additional fields of a struct."""

    @property
    def raw(self) -> Mapping[str, Any]:
        """JSON schema, for its extensions."""

    @property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`."""

    @property
    def map_keys(self) -> tuple[str, ...]:
        """Keys that identify an item of a `map` list."""


_SCALARS: Final = {
    Shape.STRING: Scalar.STRING,
    Shape.BYTES: Scalar.STRING,
    Shape.BOOL: Scalar.BOOLEAN,
    Shape.INT32: Scalar.NUMERIC,
    Shape.INT64: Scalar.NUMERIC,
    Shape.FLOAT: Scalar.NUMERIC,
    Shape.QUANTITY: Scalar.UNTYPED,
    Shape.INT_OR_STRING: Scalar.UNTYPED,
    Shape.TIME: Scalar.UNTYPED,
    Shape.MICRO_TIME: Scalar.UNTYPED,
}
_EMPTY_SCALARS: Final = {Scalar.STRING: "", Scalar.NUMERIC: 0, Scalar.BOOLEAN: False}

# Defaults of list keys that Go types declare with `+default`; the published schemas leave them out.
_DECLARED_DEFAULTS: Final = {
    ("v1.ContainerPort", "protocol"): "TCP",
    ("v1.ServicePort", "protocol"): "TCP",
    ("v1.LocalObjectReference", "name"): "",
}


class TypeCompiler:
    """Compiler of the nodes of one schema, each once. Types may contain themselves."""

    def __init__(self) -> None:
        self._compiled: CompileCache[int, tuple[SchemaNode, Type]] = CompileCache()

    def type_of(self, node: SchemaNode) -> Type:
        """Return the type of a node."""
        # The table holds the node, too, because an id may be reused once its object is gone.
        known = self._compiled.get(id(node))
        if known is not None:
            return known[1]
        if node.shape is Shape.ANY:
            entry = (node, UNTYPED if node.go == "runtime.RawExtension" else DEDUCED)
            return self._compiled.get_or_compile(id(node), lambda: entry, entry)[1]
        entry = (node, Type())
        return self._compiled.get_or_compile(id(node), lambda: (node, self._compile_forms(node, entry[1])), entry)[1]

    def _compile_forms(self, node: SchemaNode, compiled: Type) -> Type:
        match node.shape:
            case Shape.STRUCT | Shape.MAP:
                compiled.map = self._compile_map(node)
            case Shape.LIST:
                compiled.list = self._compile_list(node)
            case _:
                compiled.scalar = _SCALARS[node.shape]
        return compiled

    def _compile_map(self, node: SchemaNode) -> MapType:
        return MapType(
            {name: self.type_of(one.node) for name, one in node.fields.items()},
            self.type_of(node.item) if node.item is not None else None,
            atomic=node.raw.get("x-kubernetes-map-type") == "atomic",
        )

    def _compile_list(self, node: SchemaNode) -> ListType:
        assert node.item is not None, "a list has items"
        element, kind = self.type_of(node.item), node.list_type
        keys = tuple(sorted(node.map_keys)) if kind == "map" else ()
        defaults = {key: default for key in keys if (default := _key_default(node.item, key)) is not None}
        return ListType(element, kind not in ("map", "set"), keys, defaults)


def _key_default(item: SchemaNode, key: str) -> Any:
    """Return the value of a key that an item does not have: the declared default, or the encoded empty value."""
    declared = _DECLARED_DEFAULTS.get((item.go, key))
    if declared is not None or key not in item.fields:
        return declared
    own = item.fields[key]
    if "default" in own.node.raw:
        return own.node.raw["default"]
    scalar = _SCALARS.get(own.node.shape)
    return _EMPTY_SCALARS.get(scalar) if own.always_written and scalar else None
