"""Types of a CRD's schema with two JSON forms: `additionalProperties: true` or a schema.

upstream 1.36: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go
"""

from typing import Any, Final

from mockkube.api.json_objects import Object
from mockkube.api.protobuf.layout import WireField
from mockkube.api.schema import Schema, Shape, TypeField, TypeNode
from mockkube.lazy_dataclasses import dataclass

_SCHEMA: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_ALLOWED: Final = "allows"
_ONE: Final = "schema"
_MANY: Final = "many"


@dataclass(frozen=True, slots=True)
class SchemaUnion:
    """One of these types: the fields of its message, and its value if none is present."""

    slots: tuple[WireField, ...]
    default: bool | None = None

    def to_json(self, parts: Object) -> Any:
        """Return the JSON form of a decoded message."""
        return parts.get(_MANY) or parts.get(_ONE, parts.get(_ALLOWED, self.default))


def find_union(schema: Schema, name: str) -> SchemaUnion | None:
    """Return the union type with this name; None for any other type."""
    props = schema.get_type(_SCHEMA)
    match name:
        case "JSONSchemaPropsOrArray":
            several = TypeNode(Shape.LIST, "[]v1.JSONSchemaProps", item=props)
            return SchemaUnion((_make_field(1, _ONE, props), _make_field(2, _MANY, several)))
        case "JSONSchemaPropsOrBool":
            return SchemaUnion(
                (_make_field(1, _ALLOWED, TypeNode(Shape.BOOL), pointer=False), _make_field(2, _ONE, props)),
                default=False,
            )
        case "JSONSchemaPropsOrStringArray":
            several = TypeNode(Shape.LIST, "[]string", item=TypeNode(Shape.STRING))
            return SchemaUnion((_make_field(1, _ONE, props), _make_field(2, _MANY, several)))
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


def _make_field(number: int, name: str, node: TypeNode, *, pointer: bool = True) -> WireField:
    return WireField(number, TypeField(name, node, pointer=pointer, omit_empty=True, omit_zero=False))
