"""Whether an applied object fits its type, in upstream's words."""

import pytest

from mockkube.api.managed_fields.errors import TypeMismatch
from mockkube.api.managed_fields.validate import validate_value


def c(name, **more):
    return {"name": name, **more}


@pytest.mark.parametrize(
    ("obj", "complaint"),
    [
        pytest.param({"spec": {"replica": 2}}, ".spec.replica: field not declared in schema", id="unknown field"),
        pytest.param({"data": {"a": 1}}, ".data.a: expected string, got &value.valueUnstructured{Value:1}", id="int"),
        pytest.param({"data": {"a": {"b": ["c", None]}}},
                     '.data.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}'
                     '{"b":[]interface {}{"c", interface {}(nil)}}}', id="map for text"),
        pytest.param({"spec": {"replicas": "2"}}, ".spec.replicas: expected numeric (int or float), got string",
                     id="text for a number"),
        pytest.param({"spec": {"replicas": True}}, ".spec.replicas: expected numeric (int or float), got bool",
                     id="boolean for a number"),
        pytest.param({"spec": {"paused": 1}}, ".spec.paused: expected boolean, got &{1}", id="number for a boolean"),
        pytest.param({"spec": ["x"]}, ".spec: expected map, got &{[x]}", id="list for a map"),
        pytest.param({"spec": {"containers": {"a": 1}}}, ".spec.containers: expected list, got &{map[a:1]}",
                     id="map for a list"),
        pytest.param({"spec": {"containers": [c("c"), c("c")]}},
                     '.spec.containers: duplicate entries for key [name="c"]', id="duplicate key"),
        pytest.param({"spec": {"containers": [{"image": "i"}]}},
                     '.spec.containers: element 0: associative list with keys has an element that omits all key fields '
                     '["name"] (and doesn\'t have default values for any key fields)', id="no key"),
        pytest.param({"spec": {"containers": [None]}},
                     ".spec.containers: element 0: associative list with keys may not have a null element", id="null"),
        pytest.param({"spec": {"containers": ["x"]}},
                     ".spec.containers: element 0: associative list with keys may not have non-map elements",
                     id="text for an item"),
        pytest.param({"metadata": {"finalizers": ["a", "a"]}}, '.metadata.finalizers: duplicate entries for key [="a"]',
                     id="duplicate value"),
        pytest.param({"metadata": {"finalizers": [{}]}},
                     ".metadata.finalizers: element 0: associative list without keys has an element that's a map type",
                     id="map in a set"),
        pytest.param({"metadata": {"finalizers": [[]]}},
                     ".metadata.finalizers: element 0: not supported: associative list with lists as elements",
                     id="list in a set"),
        pytest.param({"metadata": {"finalizers": [None]}},
                     ".metadata.finalizers: element 0: associative list without keys has an element that's an explicit "
                     "null", id="null in a set"),
        pytest.param({"data": {"a": 1, "b": True}},
                     "errors:\n  .data.a: expected string, got &value.valueUnstructured{Value:1}\n"
                     "  .data.b: expected string, got &value.valueUnstructured{Value:true}", id="two"),
        pytest.param({"spec": {"containers": [c("x", image=1)]}},
                     '.spec.containers[name="x"].image: expected string, got &value.valueUnstructured{Value:1}',
                     id="inside an item"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(thing, obj, complaint):
    with pytest.raises(TypeMismatch) as caught:
        validate_value(obj, thing)
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({"spec": None, "data": {"a": None}, "metadata": {"finalizers": None}}, id="nulls"),
        pytest.param({"spec": {"any": {"x": [1, {"y": None}]}, "tolerations": [{}, "x"]}}, id="anything"),
        pytest.param({"spec": {"replicas": 1.5, "paused": False, "ports": [{"port": 1}]}}, id="scalars"),
    ],
)
def test_what_fits_passes(thing, obj):
    validate_value(obj, thing)


def test_a_live_object_may_have_duplicates(thing):
    validate_value({"spec": {"containers": [c("c"), c("c")]}}, thing, allow_duplicates=True)
