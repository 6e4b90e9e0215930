"""Convert structural schemas to schema nodes, by which server-side apply walks objects."""

# upstream 1.36: k8s.io/kube-openapi/pkg/schemaconv, apiextensions-apiserver/pkg/controller/openapi/builder

from typing import Final

from mockkube.api.custom.structural import Structural
from mockkube.api.schema import Field, Node, Shape

_SCALARS: Final = {
    "string": Shape.STRING,
    "integer": Shape.INT64,
    "number": Shape.FLOAT,
    "boolean": Shape.BOOL,
}


def object_node(schema: Structural, metadata: Node) -> Node:
    """Return the node of a whole object."""
    node = _struct(schema, metadata)
    node.fields |= _own(metadata)
    return node


def _own(metadata: Node) -> dict[str, Field]:
    text = Node(Shape.STRING)
    return {name: _field(name, one) for name, one in (("kind", text), ("apiVersion", text), ("metadata", metadata))}


def _field(name: str, node: Node) -> Field:
    """Return a field that is only present if it was set."""
    return Field(name, node, pointer=True, omit_empty=True, omit_zero=False)


def _struct(schema: Structural, metadata: Node) -> Node:
    fields = {name: _field(name, _node(each, metadata)) for name, each in schema.properties.items()}
    rest = Node(Shape.ANY) if schema.preserve else None
    return Node(Shape.STRUCT, item=rest, raw=schema.raw, fields=fields)


def _node(schema: Structural, metadata: Node) -> Node:
    if schema.int_or_string:
        return Node(Shape.INT_OR_STRING, raw=schema.raw)
    if schema.type in _SCALARS:
        return Node(_SCALARS[schema.type], raw=schema.raw)
    if schema.type == "array" and schema.items is not None:
        return Node(Shape.LIST, item=_node(schema.items, metadata), raw=schema.raw)
    if schema.type == "object":
        return _map(schema, metadata)
    return Node(Shape.ANY, raw=schema.raw)


def _map(schema: Structural, metadata: Node) -> Node:
    if schema.keeps_additional and not schema.properties:
        item = Node(Shape.ANY) if schema.additional is None else _node(schema.additional, metadata)
        return Node(Shape.MAP, item=item, raw=schema.raw)
    return object_node(schema, metadata) if schema.embedded else _struct(schema, metadata)
