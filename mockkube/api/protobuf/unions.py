"""Types of a CRD's schema with two JSON forms: `additionalProperties: true` or a schema.

upstream 1.36: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go
"""

from dataclasses import dataclass
from typing import Any, Final

from mockkube.api.protobuf.layout import Slot
from mockkube.api.schema import Field, Node, Schema, Shape
from mockkube.api.types import Object

_SCHEMA: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_ALLOWED: Final = "allows"
_ONE: Final = "schema"
_MANY: Final = "many"


@dataclass(frozen=True, slots=True)
class Union:
    """One of these types: the fields of its message, and its value if none is present."""

    slots: tuple[Slot, ...]
    otherwise: bool | None = None

    def fold(self, parts: Object) -> Any:
        """Return the JSON form of a decoded message."""
        return parts.get(_MANY) or parts.get(_ONE, parts.get(_ALLOWED, self.otherwise))


def union(schema: Schema, name: str) -> Union | None:
    """Return the union type with this name; None for any other type."""
    props = schema.node(_SCHEMA)
    match name:
        case "JSONSchemaPropsOrArray":
            several = Node(Shape.LIST, "[]v1.JSONSchemaProps", item=props)
            return Union((_make_field(1, _ONE, props), _make_field(2, _MANY, several)))
        case "JSONSchemaPropsOrBool":
            return Union(
                (_make_field(1, _ALLOWED, Node(Shape.BOOL), pointer=False), _make_field(2, _ONE, props)),
                otherwise=False,
            )
        case "JSONSchemaPropsOrStringArray":
            several = Node(Shape.LIST, "[]string", item=Node(Shape.STRING))
            return Union((_make_field(1, _ONE, props), _make_field(2, _MANY, several)))
        case _:
            return None


def from_json(value: Any) -> Object:
    """Return the message fields for a JSON value."""
    match value:
        case bool():
            return {_ALLOWED: value}
        case list():
            return {_MANY: value}
        case dict():
            # A schema also sets `allows`, as upstream's Go type does when it parses one.
            return {_ALLOWED: True, _ONE: value}
        case _:
            return {}


def _make_field(number: int, name: str, node: Node, *, pointer: bool = True) -> Slot:
    return Slot(number, Field(name, node, pointer=pointer, omit_empty=True, omit_zero=False))
