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


def object_node(schema: Structural, metadata: TypeNode) -> TypeNode:
    """Return the node of a whole object."""
    node = _struct(schema, metadata)
    node.fields |= _own(metadata)
    return node


def _own(metadata: TypeNode) -> dict[str, TypeField]:
    text = TypeNode(Shape.STRING)
    return {name: _field(name, one) for name, one in (("kind", text), ("apiVersion", text), ("metadata", metadata))}


def _field(name: str, node: TypeNode) -> TypeField:
    """Return a field that is only present if it was set."""
    return TypeField(name, node, pointer=True, omit_empty=True, omit_zero=False)


def _struct(schema: Structural, metadata: TypeNode) -> TypeNode:
    fields = {name: _field(name, _node(each, metadata)) for name, each in schema.properties.items()}
    rest = TypeNode(Shape.ANY) if schema.preserve else None
    return TypeNode(Shape.STRUCT, item=rest, raw=schema.raw, fields=fields)


def _node(schema: Structural, metadata: TypeNode) -> TypeNode:
    if schema.int_or_string:
        return TypeNode(Shape.INT_OR_STRING, raw=schema.raw)
    if schema.type in _SCALARS:
        return TypeNode(_SCALARS[schema.type], raw=schema.raw)
    if schema.type == "array" and schema.items is not None:
        return TypeNode(Shape.LIST, item=_node(schema.items, metadata), raw=schema.raw)
    if schema.type == "object":
        return _map(schema, metadata)
    return TypeNode(Shape.ANY, raw=schema.raw)


def _map(schema: Structural, metadata: TypeNode) -> TypeNode:
    if schema.keeps_additional and not schema.properties:
        item = TypeNode(Shape.ANY) if schema.additional is None else _node(schema.additional, metadata)
        return TypeNode(Shape.MAP, item=item, raw=schema.raw)
    return object_node(schema, metadata) if schema.embedded else _struct(schema, metadata)
