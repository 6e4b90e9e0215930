import pytest

from mockkube.api.validation.formats import (
    sort_labels,
    validate_csi_driver_name,
    validate_domain_prefixed_path,
    validate_immutable_field,
    validate_one_of,
    validate_required_one_of,
)


def test_a_choice_shows_what_there_is():
    assert str(validate_one_of("c", "at", ("a", "b"))[0]) == 'at: Unsupported value: "c": supported values: "a", "b"'
    assert str(validate_required_one_of("", "at", ("a", "b"))[0]) == "at: Required value"


def test_a_changed_field_is_shown_as_it_would_be():
    assert validate_immutable_field({"a": 1}, {"a": 1}, "a") == []
    assert (
        str(validate_immutable_field({"a": 2}, {"a": 1}, "a", "spec")[0])
        == "spec.a: Invalid value: 2: field is immutable"
    )
    assert str(validate_immutable_field({}, {"a": 1}, "a")[0]) == "a: Invalid value: null: field is immutable"


def test_labels_are_printed_in_order():
    assert list(sort_labels({"b": "1", "a": "2"}) or {}) == ["a", "b"]
    assert sort_labels({}) is None


@pytest.mark.parametrize(
    ("text", "details"),
    [
        pytest.param("a.b/c", [], id="domain and path"),
        pytest.param("a.b", ['must be a domain-prefixed path (such as "acme.io/foo")'], id="no path"),
        pytest.param("", [""], id="empty"),
    ],
)
def test_a_path_has_a_domain(text, details):
    assert [error.detail for error in validate_domain_prefixed_path(text, "at")] == details


def test_a_driver_may_have_capitals_but_not_be_long():
    assert validate_csi_driver_name("CSI.Example.com", "at") == []
    assert [str(error) for error in validate_csi_driver_name("a" * 64, "at")] == [
        "at: Too long: may not be more than 63 bytes"
    ]
