"""How Go prints JSON in messages."""

import pytest

from mockkube.api.patching.go_formatting import format_go_value, go_type_name, json_kind_name


@pytest.mark.parametrize(
    ("value", "text", "kind", "type_name"),
    [
        pytest.param(
            {"b": [1, "x y"], "a": {}}, "map[a:map[] b:[1 x y]]", "object", "map[string]interface {}", id="map"
        ),
        pytest.param([None, True], "[<nil> true]", "array", "[]interface {}", id="list"),
        pytest.param("x", "x", "string", "string", id="text"),
        pytest.param(False, "false", "bool", "bool", id="boolean"),
        pytest.param(7, "7", "number", "int64", id="integer"),
        pytest.param(2.0, "2", "number", "float64", id="whole fraction"),
        pytest.param(0.25, "0.25", "number", "float64", id="fraction"),
        pytest.param(1e21, "1e+21", "number", "float64", id="large"),
        pytest.param(None, "<nil>", "null", "%!s(<nil>)", id="null"),
    ],
)
def test_values_kinds_and_types_are_named_as_go_does(value, text, kind, type_name):
    assert (format_go_value(value), json_kind_name(value), go_type_name(value)) == (text, kind, type_name)
