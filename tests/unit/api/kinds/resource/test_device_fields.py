import pytest

from mockkube.api.kinds.resource.device_fields import (
    validate_attribute_name,
    validate_binding_conditions,
    validate_configuration,
    validate_items,
    validate_map,
    validate_pool_name,
    validate_raw_object,
    validate_set,
    validate_taint,
    validate_uid,
)


def nothing(item, at):
    return []


def test_a_list_that_is_too_long_is_not_looked_into():
    assert [str(error) for error in validate_items([1, 2], "l", nothing, items_max=1)] == [
        "l: Too many: 2: must have at most 1 item"
    ]


def test_a_set_holds_each_key_once():
    assert [str(error) for error in validate_set(["a", "b", "a"], "s", nothing)] == ['s[2]: Duplicate value: "a"']


def test_a_long_key_is_shortened_in_paths():
    found = []
    validate_map({"a" * 40: 1}, "m", nothing, lambda item, at: found.append(at) or [], key_length_max=16)
    assert found == ["m[aaaaaaa...aaaaaa]"]


@pytest.mark.parametrize(("name", "wrong"), [("a/b.c", 0), ("", 1), ("a/B_", 1)])
def test_a_pool_is_subdomains_and_slashes(name, wrong):
    assert len(validate_pool_name(name, "p")) == wrong


@pytest.mark.parametrize(
    ("uid", "complaint"),
    [
        pytest.param("6ba7b810-9dad-11d1-80b4-00c04fd430c8", None, id="fine"),
        pytest.param("6BA7B810-9dad-11d1-80b4-00c04fd430c8", "uid must be in RFC 4122 normalized form", id="capitals"),
        pytest.param("x", "error validating uid: invalid UUID length: 1", id="too short"),
        pytest.param("x" * 36, "error validating uid: invalid UUID format", id="not hexadecimal"),
    ],
)
def test_an_identity_is_36_characters(uid, complaint):
    details = [error.detail for error in validate_uid(uid, "u")]
    assert details == [] if complaint is None else details[0].startswith(complaint)


@pytest.mark.parametrize(
    ("name", "wrong"), [("a", 0), ("a.b/c", 0), ("/c", 1), ("a.b/", 1), ("1a", 1), ("a" * 33, 1), ("a/b/c", 0)]
)
def test_an_attribute_is_an_identifier_perhaps_with_a_domain(name, wrong):
    assert len(validate_attribute_name(name, "a")) == wrong


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        pytest.param({"a": 1}, None, id="object"),
        pytest.param(None, "p: Required value", id="null"),
        pytest.param([], 'p: Invalid value: "<value omitted>": must be a valid JSON object', id="list"),
        pytest.param({"a": "x" * 10240}, "p: Too long: may not be more than 10240 bytes", id="too large"),
    ],
)
def test_parameters_are_an_object(value, complaint):
    assert [str(error) for error in validate_raw_object(value, "p")] == ([complaint] if complaint else [])


def test_stored_parameters_may_be_larger():
    assert validate_raw_object({"a": "x" * 10240}, "p", stored=True) == []


def test_a_configuration_is_opaque():
    assert [str(error) for error in validate_configuration({}, "c")] == ["c.opaque: Required value"]


def test_an_unknown_effect_that_was_stored_stays_valid():
    taint = {"key": "a", "effect": "Odd"}
    assert [error.field for error in validate_taint(taint, "t")] == ["t.effect"]
    assert validate_taint(taint, "t", old_effect="Odd") == []


def test_binding_and_its_failure_go_together():
    assert validate_binding_conditions({"bindingConditions": ["a"], "bindingFailureConditions": ["b"]}, "d") == []
    assert [error.field for error in validate_binding_conditions({"bindingConditions": ["a"]}, "d")] == [
        "d.bindingFailureConditions"
    ]
    overlap = {"bindingConditions": ["a"], "bindingFailureConditions": ["a"]}
    assert [error.field for error in validate_binding_conditions(overlap, "d")] == ["d.bindingFailureConditions[0]"]
