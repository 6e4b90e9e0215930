import pytest

from mockkube.api.kinds.apiextensions.crd_root_schemas import to_internal_schema, validate_root

OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(OBJECT, id="an object"),
        pytest.param({**OBJECT, "properties": {"a": {"nullable": True}}, "required": ["a"]}, id="what it must have"),
        pytest.param({**OBJECT, "x-kubernetes-preserve-unknown-fields": True}, id="what is unknown is kept"),
        pytest.param({**OBJECT, "nullable": False, "enum": None}, id="what is empty does not count"),
    ],
)
def test_fields_that_are_not_lost_may_stand_at_the_root(schema):
    assert validate_root(schema, "s") == []


@pytest.mark.parametrize("name", ["oneOf", "additionalProperties", "nullable", "default", "x-kubernetes-map-type"])
def test_others_may_not(name):
    (error,) = validate_root({**OBJECT, name: [] if name == "oneOf" else True if name == "nullable" else {}}, "s")
    assert (error.field, error.value["Type"]) == ("s", "object")


def test_the_type_is_looked_at_before_what_comes_after_it():
    (error,) = validate_root({"type": "array", "nullable": True}, "s")
    assert error.field == "s.type"
    (error,) = validate_root({"type": "array", "$ref": "x"}, "s")
    assert error.field == "s"


def test_a_schema_is_printed_with_every_field_under_gos_names():
    form = to_internal_schema(
        {
            "items": {"type": "string"},
            "additionalProperties": False,
            "additionalItems": {},
            "properties": {"b": {}, "a": {"maximum": 0}},
            "dependencies": {"a": ["b"]},
            "x-kubernetes-validations": [{"rule": "true"}],
        }
    )
    assert list(form)[:4] == ["ID", "Schema", "Ref", "Description"]
    assert form["Items"]["Schema"]["Type"] == "string"
    assert form["Items"]["JSONSchemas"] is None
    assert form["AdditionalProperties"] == {"Allows": False, "Schema": None}
    assert form["AdditionalItems"]["Allows"]
    assert list(form["Properties"]) == ["a", "b"]
    assert (form["Properties"]["a"]["Maximum"], form["Properties"]["b"]["Maximum"]) == (0, None)
    assert form["Dependencies"] == {"a": {"Schema": None, "Property": ["b"]}}
    assert form["XValidations"][0] == {
        "Rule": "true",
        "Message": "",
        "MessageExpression": "",
        "Reason": None,
        "FieldPath": "",
        "OptionalOldSelf": None,
    }
