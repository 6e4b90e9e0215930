"""Label selectors: what they select, how they are written back, what is said of bad ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import EVERYTHING, NOTHING, from_label_selector, parse

VALUE_FORM = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
KEY_FORM = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("text", "selected", "left"),
    [
        pytest.param("a=1", {"a": "1", "b": "2"}, {"a": "2"}, id="equal"),
        pytest.param("a==1", {"a": "1"}, {}, id="double equal"),
        pytest.param("a!=1", {"a": "2"}, {"a": "1"}, id="unequal"),
        pytest.param("a!=1", {}, {"a": "1"}, id="absent is unequal"),
        pytest.param("a=", {"a": ""}, {}, id="the empty value is not absence"),
        pytest.param("a in (1, 2)", {"a": "2"}, {"a": "3"}, id="in"),
        pytest.param("a in (,1)", {"a": ""}, {}, id="in with an empty value"),
        pytest.param("a in ()", {"a": ""}, {"a": "1"}, id="in nothing is in the empty value"),
        pytest.param("a notin (1,2)", {"a": "3"}, {"a": "1"}, id="not in"),
        pytest.param("a notin (1)", {}, {"a": "1"}, id="absent is not in"),
        pytest.param("a", {"a": ""}, {}, id="exists"),
        pytest.param("!a", {"b": ""}, {"a": ""}, id="exists not"),
        pytest.param("a>5", {"a": "10"}, {"a": "5"}, id="greater"),
        pytest.param("a>5", {"a": "+6"}, {"a": "x"}, id="greater than a word is false"),
        pytest.param("a<5", {"a": "-1"}, {}, id="less, and absent is false"),
        pytest.param("a<5", {"a": "4"}, {"a": "-9999999999999999999"}, id="beyond 64 bits is no number"),
        pytest.param("a=1,!b", {"a": "1"}, {"a": "1", "b": "1"}, id="both conditions"),
        pytest.param("in in (in,notin)", {"in": "notin"}, {"in": "x"}, id="keywords as key and values"),
        pytest.param(" a = 1\t,\n b ", {"a": "1", "b": ""}, {"a": "1"}, id="white space"),
    ],
)
def test_selects(text, selected, left):
    assert parse(text).matches(selected)
    assert not parse(text).matches(left)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("", "", id="everything"),
        pytest.param("z=1,a", "a,z=1", id="by key"),
        pytest.param("x in (c,a,b)", "x in (a,b,c)", id="values sorted"),
        pytest.param("x notin (a,,b)", "x notin (,a,b)", id="empty value"),
        pytest.param("!x, y!=1, z==2", "!x,y!=1,z==2", id="signs"),
        pytest.param("x > 1,y<2", "x>1,y<2", id="orders"),
    ],
)
def test_is_written_back_in_canonical_form(text, written):
    assert str(parse(text)) == written
    assert str(parse(written)) == written


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("tier in (web", "unable to parse requirement: found '', expected: ',' or ')'", id="unbalanced"),
        pytest.param("a=>b", "unable to parse requirement: found '>', expected: identifier", id="two operators"),
        pytest.param("a in b", "unable to parse requirement: found 'b' expected: '('", id="no parenthesis"),
        pytest.param("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier", id="sign"),
        pytest.param("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier", id="later"),
        pytest.param(
            "a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt", id="no operator"
        ),
        pytest.param("!", "unable to parse requirement: found '', expected: identifier", id="only a negation"),
        pytest.param("!a=b", "found '=', expected: ',' or 'end of string'", id="negation with a value"),
        pytest.param("a=b c", "found 'c', expected: ',' or 'end of string'", id="no comma"),
        pytest.param("a,", "found '', expected: identifier after ','", id="nothing after a comma"),
        pytest.param("=a", "found '=', expected: !, identifier, or 'end of string'", id="no key"),
        pytest.param(
            "-a=b", f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY_FORM}', id="key of a bad form"
        ),
        pytest.param(
            "a=b/c", f'unable to parse requirement: values[0][a]: Invalid value: "b/c": {VALUE_FORM}', id="bad value"
        ),
        pytest.param(
            "a in (/,_)",
            "unable to parse requirement: "
            f'[values[0][a]: Invalid value: "/": {VALUE_FORM}, values[1][a]: Invalid value: "_": {VALUE_FORM}]',
            id="two bad values",
        ),
        pytest.param(
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, "
            "the value must be an integer",
            id="no integer",
        ),
    ],
)
def test_a_bad_selector_is_refused_in_upstreams_words(text, complaint):
    with pytest.raises(BadSelector) as caught:
        parse(text)
    assert str(caught.value) == complaint


def test_the_selector_of_an_object_joins_labels_and_expressions():
    selector = from_label_selector(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["b", "a"]},
                {"key": "env", "operator": "NotIn", "values": ["test"]},
                {"key": "x", "operator": "Exists"},
                {"key": "y", "operator": "DoesNotExist"},
            ],
        }
    )
    assert str(selector) == "app=web,env notin (test),tier in (a,b),x,!y"
    assert selector.matches({"app": "web", "tier": "a", "x": ""})
    assert not selector.matches({"app": "web", "tier": "a", "x": "", "y": ""})


def test_an_absent_selector_selects_nothing_and_an_empty_one_everything():
    assert from_label_selector(None) is NOTHING
    assert not NOTHING.matches({})
    assert not NOTHING.is_empty
    assert from_label_selector({}) == EVERYTHING
    assert EVERYTHING.is_empty
    assert EVERYTHING.matches({"a": "b"})
    assert NOTHING != EVERYTHING


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        pytest.param(
            {"key": "a", "operator": "Gt", "values": ["1"]},
            '"Gt" is not a valid label selector operator',
            id="operator of node selectors",
        ),
        pytest.param(
            {"key": "a", "operator": "In"},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="no values",
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "values": ["b"]},
            'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
            id="values too many",
        ),
        pytest.param(
            {"key": "-", "operator": "Exists"}, f'key: Invalid value: "-": {KEY_FORM}', id="key of a bad form"
        ),
    ],
)
def test_a_bad_expression_is_refused_in_upstreams_words(expression, complaint):
    with pytest.raises(BadSelector) as caught:
        from_label_selector({"matchExpressions": [expression]})
    assert str(caught.value) == complaint


words = st.text("ab1", min_size=1, max_size=2)
terms = st.one_of(
    st.builds("{}{}{}".format, words, st.sampled_from(["=", "==", "!="]), words),
    st.builds(lambda key, sign, values: f"{key} {sign} ({','.join(values)})", words,
              st.sampled_from(["in", "notin"]), st.lists(words | st.just(""), max_size=3)),
    words,
    words.map("!{}".format),
)  # fmt: skip


@given(st.lists(terms, max_size=4), st.dictionaries(words, words))
def test_the_written_form_selects_the_same_and_each_term_must_hold(each, labels):
    selector = parse(",".join(each))
    assert parse(str(selector)) == selector
    assert selector.matches(labels) is all(parse(term).matches(labels) for term in each)


@given(st.text("ab=!(),<> in", max_size=8))
def test_any_text_is_refused_or_reads_the_same_once_written_back(text):
    try:
        selector = parse(text)
    except BadSelector:
        return
    assert parse(str(selector)) == selector
