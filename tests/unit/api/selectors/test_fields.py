"""Field selectors: what they select, escaping, what is said of bad ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.fields import EVERYTHING, FieldRequirement, FieldSelector, escape, parse, unescape


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        pytest.param("", [], id="everything"),
        pytest.param(",,", [], id="only commas"),
        pytest.param("b=2,a!=1", [("a", "1", True), ("b", "2", False)], id="sorted by their text"),
        pytest.param("a==1", [("a", "1", False)], id="double equal"),
        pytest.param("a=", [("a", "", False)], id="empty value"),
        pytest.param("a=x!y", [("a", "x!y", False)], id="the first operator counts"),
        pytest.param(r"a=x\,y\=z\\", [("a", "x,y=z\\", False)], id="escaped"),
        pytest.param("a= b ", [("a", " b ", False)], id="white space counts"),
    ],
)
def test_parses(text, requirements):
    assert parse(text).requirements == tuple(FieldRequirement(*one) for one in requirements)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("x", "invalid selector: 'x'; can't understand 'x'", id="no operator"),
        pytest.param("a=b,x in (y)", "invalid selector: 'a=b,x in (y)'; can't understand 'x in (y)'", id="one term"),
        pytest.param("a=b=c", "invalid field selector: unescaped character in value: 61", id="not escaped"),
        pytest.param(r"a=\b", r"invalid field selector: invalid escape sequence: \b", id="escaped for nothing"),
        pytest.param("a=b\\", "invalid field selector: invalid escape sequence: \\", id="escape at the end"),
    ],
)
def test_a_bad_selector_is_refused_in_upstreams_words(text, complaint):
    with pytest.raises(BadSelector) as caught:
        parse(text)
    assert str(caught.value) == complaint


def test_all_requirements_must_hold_and_a_missing_field_is_empty():
    selector = parse("metadata.name=p,spec.nodeName!=")
    assert selector.matches({"metadata.name": "p", "spec.nodeName": "n"})
    assert not selector.matches({"metadata.name": "p"})
    assert not selector.matches({"metadata.name": "q", "spec.nodeName": "n"})
    assert EVERYTHING.matches({})


def test_the_exact_value_is_known_only_from_an_equality():
    selector = parse("a=1,b!=2")
    assert selector.get_required_value("a") == "1"
    assert selector.get_required_value("b") is None
    assert not selector.is_empty


@given(st.lists(st.tuples(st.text("ab.", min_size=1), st.text(), st.booleans()), max_size=4))
def test_the_written_form_reads_the_same(conditions):
    selector = FieldSelector(tuple(FieldRequirement(*condition) for condition in conditions))
    assert sorted(parse(str(selector)).requirements, key=str) == sorted(selector.requirements, key=str)


@given(st.text())
def test_an_escaped_value_is_itself_again(value):
    assert unescape(escape(value)) == value
