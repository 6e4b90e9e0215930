"""Labels and label selectors."""

import pytest

from mockkube.api.validation.labels import is_invalid_selector, validate_label_selector, validate_labels


def says(errors):
    return [f"{error.field}: {error.message.partition(' (e.g.')[0]}" for error in errors]


def test_keys_and_values_of_labels_are_judged_under_the_path_of_the_map():
    errors = validate_labels({"a b": "c", "d": "e f"}, "metadata.labels")
    assert [(error.field, error.value) for error in errors] == [("metadata.labels", "a b"), ("metadata.labels", "e f")]


@pytest.mark.parametrize(
    ("requirement", "complaint"),
    [
        pytest.param(
            {"key": "a", "operator": "In"},
            "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            id="In without values",
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "values": ["x"]},
            "s.matchExpressions[0].values: Forbidden: "
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            id="Exists with values",
        ),
        pytest.param(
            {"key": "a", "operator": "Gt", "values": ["1"]},
            's.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator',
            id="unknown operator",
        ),
        pytest.param(
            {"key": "a", "operator": "In", "values": ["x" * 64]},
            f's.matchExpressions[0].values[0]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
            id="value no label can have",
        ),
    ],
)
def test_a_requirement_is_told_what_is_wrong(requirement, complaint):
    assert says(validate_label_selector({"matchExpressions": [requirement]}, "s")) == [complaint]


def test_a_selector_stored_with_bad_values_may_keep_them():
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}
    assert is_invalid_selector(selector)
    assert validate_label_selector(selector, "s", allow_invalid_values=True) == []


def test_no_selector_is_in_order():
    assert validate_label_selector(None, "s") == []
    assert not is_invalid_selector(None)
