import pytest

from mockkube.api.fields import invalid
from mockkube.api.kinds.apiextensions.crd_schemas import validate_schema
from mockkube.api.kinds.apiextensions.schema_check import accept_schema


def schema(**field):
    return {"type": "object", "properties": {"f": field}}


@pytest.mark.parametrize(
    ("field", "complaints"),
    [
        pytest.param({"type": "string", "default": "x"}, [], id="fine"),
        pytest.param(
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            [
                "s.properties[f].uniqueItems: Forbidden: uniqueItems cannot be set to true since the "
                "runtime complexity "
                "becomes quadratic"
            ],
            id="unique",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "string"}, "additionalItems": False},
            ["s.properties[f].additionalItems: Forbidden: additionalItems is not supported"],
            id="additional items, also none",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            [
                "s.properties[f].x-kubernetes-list-map-keys: Required value: must not be empty if "
                "x-kubernetes-list-type is map"
            ],
            id="map without keys",
        ),
        pytest.param(
            {"type": "string", "x-kubernetes-map-type": "odd"},
            [
                's.properties[f].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
                's.properties[f].x-kubernetes-map-type: Unsupported value: "odd": supported values: '
                '"atomic", "granular"',
            ],
            id="map type",
        ),
        pytest.param(
            {"type": "string", "x-kubernetes-validations": [{"rule": " "}]},
            ["s.properties[f].x-kubernetes-validations[0].rule: Required value: rule is not specified"],
            id="empty rule",
        ),
        pytest.param(
            {"type": "string", "x-kubernetes-preserve-unknown-fields": False},
            ["s.properties[f].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
            id="preserve",
        ),
    ],
)
def test_fields_are_judged(judge, field, complaints):
    assert [str(error) for error in validate_schema(schema(**field), None, "s", judge(), accept_schema)] == complaints


def test_metadata_has_no_defaults(judge):
    obj = {"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}}
    errors = validate_schema(obj, None, "s", judge(), accept_schema)
    assert [str(error) for error in errors] == [
        "s.properties[metadata].default: Forbidden: must not be set in top-level metadata"
    ]


def test_only_a_sound_schema_is_handed_to_the_evaluator(judge):
    def refuse(new, old, at, judge):
        return [invalid(at, "", "refused")]

    assert [error.detail for error in validate_schema(schema(type="string"), None, "s", judge(), refuse)] == ["refused"]
    assert [error.detail for error in validate_schema(schema(), None, "s", judge(), refuse)] != ["refused"]
