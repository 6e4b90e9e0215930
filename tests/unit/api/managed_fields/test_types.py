"""Types compiled from a schema: what is one value, what is many, and which defaults keys have."""

from dataclasses import dataclass, field

from mockkube.api.managed_fields.items import make_item_element
from mockkube.api.managed_fields.types import DEDUCED, UNTYPED, Scalar, TypeCompiler
from mockkube.api.schema import Shape


@dataclass(eq=False)
class Node:
    shape: Shape
    go: str = ""
    fields: dict = field(default_factory=dict)
    item: "Node | None" = None
    raw: dict = field(default_factory=dict)
    list_type: str = "atomic"
    map_keys: tuple = ()


@dataclass(eq=False)
class Field:
    node: Node
    always_written: bool = False


STRING = Node(Shape.STRING)


def compiled(node):
    return TypeCompiler().type_of(node)


def test_lists_are_atomic_unless_the_schema_says_otherwise():
    assert compiled(Node(Shape.LIST, item=STRING)).list.atomic
    assert not compiled(Node(Shape.LIST, item=STRING, list_type="set")).list.atomic
    keyed = compiled(Node(Shape.LIST, item=Node(Shape.STRUCT), list_type="map", map_keys=("b", "a"))).list
    assert (keyed.atomic, keyed.keys) == (False, ("a", "b"))


def test_maps_are_many_values_unless_the_schema_says_otherwise():
    assert not compiled(Node(Shape.MAP, item=STRING)).map.atomic
    assert compiled(Node(Shape.MAP, item=STRING, raw={"x-kubernetes-map-type": "atomic"})).map.atomic
    assert compiled(Node(Shape.STRUCT, raw={"x-kubernetes-map-type": "atomic"})).map.atomic


def test_scalars_keep_the_type_they_must_have():
    shapes = (Shape.STRING, Shape.BOOL, Shape.INT32, Shape.QUANTITY, Shape.TIME)
    assert [compiled(Node(shape)).scalar for shape in shapes] == [
        Scalar.STRING, Scalar.BOOLEAN, Scalar.NUMERIC, Scalar.UNTYPED, Scalar.UNTYPED,
    ]  # fmt: skip


def test_what_has_no_schema_takes_everything_and_an_extension_as_one_value():
    assert compiled(Node(Shape.ANY)) is DEDUCED
    assert compiled(Node(Shape.ANY, go="runtime.RawExtension")) is UNTYPED
    assert DEDUCED.form({}) is DEDUCED.map
    assert DEDUCED.form([1]) is DEDUCED.list
    assert DEDUCED.form("x") is Scalar.UNTYPED
    assert UNTYPED.map.atomic


def test_a_type_may_contain_itself():
    node = Node(Shape.STRUCT)
    node.fields["self"] = Field(node)
    own = compiled(node)
    assert own.map.fields["self"] is own


def test_a_key_that_an_item_does_not_give_has_the_default_of_its_type():
    port = Node(Shape.STRUCT, "v1.ServicePort")
    port.fields |= {"port": Field(Node(Shape.INT32), always_written=True), "protocol": Field(STRING)}
    ports = compiled(Node(Shape.LIST, item=port, list_type="map", map_keys=("port", "protocol"))).list
    assert make_item_element(ports, {"port": 80}) == 'k:{"port":80,"protocol":"TCP"}'
    assert make_item_element(ports, {}) == 'k:{"port":0,"protocol":"TCP"}'


def test_a_default_of_the_schema_counts():
    item = Node(Shape.STRUCT, "v1.Own", {"kind": Field(Node(Shape.STRING, raw={"default": "plain"}))})
    items = compiled(Node(Shape.LIST, item=item, list_type="map", map_keys=("kind",))).list
    assert make_item_element(items, {"x": 1}) == 'k:{"kind":"plain"}'
