import pytest

from mockkube.api.kinds.apiextensions.structural_schemas import validate_structural


@pytest.mark.parametrize(
    ("schema", "complaints"),
    [
        pytest.param({"type": "object", "properties": {"a": {"type": "string"}}}, [], id="fine"),
        pytest.param({}, ["s.type: Required value: must not be empty at the root"], id="no type"),
        pytest.param(
            {"type": "object", "properties": {"a": {}}},
            ["s.properties[a].type: Required value: must not be empty for specified object fields"],
            id="a field without type",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "array"}}},
            ["s.properties[a].items: Required value: must be specified"],
            id="a list of nothing",
        ),
        pytest.param(
            {"type": "string"}, ['s.type: Invalid value: "string": must be object at the root'], id="no object"
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": True}}}, [], id="int or string"
        ),
        pytest.param(
            {"type": "object", "anyOf": [{"properties": {"a": {"type": "string"}}}]},
            [
                "s.anyOf[0].properties[a].type: Forbidden: must be empty to be structural",
                "s.properties[a]: Required value: because it is defined in s.anyOf[0].properties[a]",
            ],
            id="structure in the wrong place",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
            None,
            id="pattern",
        ),
    ],
)
def test_structure_stands_outside(schema, complaints):
    found = [str(error) for error in validate_structural(schema, "s")]
    if complaints is None:
        assert found[0].startswith('s.properties[a].pattern: Invalid value: "(": must be a valid regular expression')
    else:
        assert found == complaints


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("^(?i)(a|b)$", None),
        (r"^[\p{L}\p{S}]+\z", None),
        ("(?<name>a)", None),
        ("a(?=b)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("(a)\\1", "error parsing regexp: invalid escape sequence: `\\1`"),
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
    ],
)
def test_patterns_are_in_gos_dialect(pattern, error):
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    found = [each.detail for each in validate_structural(schema, "s")]
    assert found == ([f"must be a valid regular expression, but isn't: {error}"] if error else [])


def test_the_usual_form_of_int_or_string_is_allowed():
    field = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert validate_structural({"type": "object", "properties": {"a": field}}, "s") == []


def test_metadata_may_restrict_names_alone():
    own = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    assert validate_structural({"type": "object", "properties": {"metadata": own}}, "s") == []
    own["properties"]["labels"] = {"type": "object"}
    assert [error.field for error in validate_structural({"type": "object", "properties": {"metadata": own}}, "s")] == [
        "s.properties[metadata]"
    ]
