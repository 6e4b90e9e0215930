"""Field errors, as Go prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api import fields
from mockkube.api.fields import ErrorType


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a<b>", '"a<b>"', id="plain text keeps HTML"),
        pytest.param('say "é"\n', r'"say \"é\"\n"', id="quotes and newlines are escaped"),
        pytest.param("\x00\x7f\u200b", r'"\x00\x7f\u200b"', id="what cannot be printed is escaped"),
        pytest.param(fields.TypedString(">="), r'"\u003e="', id="a word is JSON"),
        pytest.param(True, "true", id="boolean"),
        pytest.param(None, "null", id="null"),
        pytest.param(-1, "-1", id="number"),
        pytest.param({"a": ["<"]}, r'{"a":["\u003c"]}', id="JSON escapes HTML"),
    ],
)
def test_bad_values_are_shown_as_go_shows_them(value, text):
    assert fields.format_value(value) == text


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        pytest.param(fields.required("a"), "FieldValueRequired", "Required value", id="required"),
        pytest.param(fields.duplicate("a", "x"), "FieldValueDuplicate", 'Duplicate value: "x"', id="duplicate"),
        pytest.param(
            fields.duplicate("a", "x", "why"),
            "FieldValueDuplicate",
            'Duplicate value: "x": why',
            id="duplicate and why",
        ),
        pytest.param(fields.not_found("a", "x"), "FieldValueNotFound", 'Not found: "x"', id="not found"),
        pytest.param(
            fields.not_supported("a", "x", ("y", "z")),
            "FieldValueNotSupported",
            'Unsupported value: "x": supported values: "y", "z"',
            id="not supported",
        ),
        pytest.param(
            fields.too_long("a", 1), "FieldValueTooLong", "Too long: may not be more than 1 byte", id="one byte"
        ),
        pytest.param(
            fields.too_many("a", 9, 3), "FieldValueTooMany", "Too many: 9: must have at most 3 items", id="too many"
        ),
        pytest.param(fields.internal("a", "oops"), "InternalError", "Internal error: oops", id="internal"),
    ],
)
def test_an_error_has_upstreams_reason_and_message(error, reason, message):
    assert (error.type, error.message) == (reason, message)


def test_what_is_not_supported_is_a_word():
    assert fields.not_supported("a", ">", ("In",)).message == r'Unsupported value: "\u003e": supported values: "In"'


def test_the_field_leads_the_whole_text():
    assert str(fields.forbidden("spec.a", "no")) == "spec.a: Forbidden: no"


def test_every_type_of_error_has_a_title():
    assert [fields.FieldError("a", type=kind).message for kind in ErrorType]


def test_indented_json_is_as_go_indents_it():
    assert fields.to_go_json({"a": [1], "b": {}}, indent=1) == '{\n "a": [\n  1\n ],\n "b": {}\n}'


@given(st.lists(st.sampled_from(["a", "b", "c", 1, 2, None])))
def test_repeated_indexes_are_those_of_values_that_stand_before(values):
    assert sorted(fields.find_duplicate_indexes(values)) == [i for i, each in enumerate(values) if each in values[:i]]
