"""Convert structural schemas to schema nodes, by which server-side apply walks objects."""

# upstream 1.36: k8s.io/kube-openapi/pkg/schemaconv, apiextensions-apiserver/pkg/controller/openapi/builder

from typing import Final

from mockkube.api.custom.structural import Structural
from mockkube.api.schema import Shape, TypeField, TypeNode

_SCALARS: Final = {
    "string": Shape.STRING,
    "integer": Shape.INT64,
    "number": Shape.FLOAT,
    "boolean": Shape.BOOL,
}


def make_object_node(schema: Structural, metadata: TypeNode) -> TypeNode:
    """Return the node of a whole object."""
    node = _make_struct(schema, metadata)
    node.fields |= _object_fields(metadata)
    return node


def _object_fields(metadata: TypeNode) -> dict[str, TypeField]:
    text = TypeNode(Shape.STRING)
    return {
        name: _make_field(name, one) for name, one in (("kind", text), ("apiVersion", text), ("metadata", metadata))
    }


def _make_field(name: str, node: TypeNode) -> TypeField:
    """Return a field that is only present if it was set."""
    return TypeField(name, node, pointer=True, omit_empty=True, omit_zero=False)


def _make_struct(schema: Structural, metadata: TypeNode) -> TypeNode:
    fields = {name: _make_field(name, _make_node(each, metadata)) for name, each in schema.properties.items()}
    rest = TypeNode(Shape.ANY) if schema.preserves_unknown_fields else None
    return TypeNode(Shape.STRUCT, item=rest, raw=schema.raw, fields=fields)


def _make_node(schema: Structural, metadata: TypeNode) -> TypeNode:
    if schema.is_int_or_string:
        return TypeNode(Shape.INT_OR_STRING, raw=schema.raw)
    if schema.type in _SCALARS:
        return TypeNode(_SCALARS[schema.type], raw=schema.raw)
    if schema.type == "array" and schema.items is not None:
        return TypeNode(Shape.LIST, item=_make_node(schema.items, metadata), raw=schema.raw)
    if schema.type == "object":
        return _make_map(schema, metadata)
    return TypeNode(Shape.ANY, raw=schema.raw)


def _make_map(schema: Structural, metadata: TypeNode) -> TypeNode:
    if schema.has_additional_properties and not schema.properties:
        item = (
            TypeNode(Shape.ANY)
            if schema.additional_properties is None
            else _make_node(schema.additional_properties, metadata)
        )
        return TypeNode(Shape.MAP, item=item, raw=schema.raw)
    return make_object_node(schema, metadata) if schema.is_embedded_resource else _make_struct(schema, metadata)
