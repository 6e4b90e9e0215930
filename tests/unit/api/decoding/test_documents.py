"""Request bodies become values, or are refused in the words of Go's parsers."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mockkube.api.decoding import documents
from mockkube.api.decoding.documents import InvalidDocument
from mockkube.api.errors import TooLarge

keys = st.sampled_from(("a", "b", 'quo"te', "col:on", "back\\slash", ""))


def test_json_is_read() -> None:
    assert documents.parse_json(b'{"a": [1, null, "x"]}') == {"a": [1, None, "x"]}


def test_what_is_not_json_is_refused_with_the_place() -> None:
    with pytest.raises(InvalidDocument, match=r"^json parse error: invalid character 'x' after array element"):
        documents.parse_json(b"[1 x]")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: 1\nb: [x, null]", {"a": 1, "b": ["x", None]}, id="a document"),
        pytest.param("", None, id="nothing"),
        pytest.param("a: 2026-01-01", {"a": "2026-01-01"}, id="a date stays text"),
        pytest.param("a: 2026-01-01T00:00:00Z", {"a": "2026-01-01T00:00:00Z"}, id="a time stays text"),
        pytest.param("[y, N, yes, off, on, true]", [True, False, True, False, True, True], id="truths of YAML 1.1"),
        pytest.param("['y', \"no\"]", ["y", "no"], id="quoted truths stay text"),
        pytest.param("7: a\ntrue: b\n~: c\n1.5: d", {"7": "a", "true": "b", "null": "c", "1.5": "d"}, id="keys"),
        pytest.param("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}, id="an alias"),
        pytest.param("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}, id="a block of text"),
        pytest.param('{"a": {"b": "c"}}', {"a": {"b": "c"}}, id="JSON"),
    ],
)
def test_yaml_is_read_as_the_json_it_stands_for(text: str, value: Any) -> None:
    assert documents.parse_yaml(text.encode()).value == value


def test_keys_that_differ_as_text_stay_apart() -> None:
    assert documents.parse_yaml(b"1: a\ntrue: b\n").value == {"1": "a", "true": "b"}


def test_a_merged_mapping_is_filled_in() -> None:
    text = b"base: &base {a: 1, b: 2}\nmore:\n  <<: *base\n  b: 3\n"
    assert documents.parse_yaml(text).value["more"] == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(b"a: b: c", "yaml: line 1: mapping values are not allowed in this context", id="two colons"),
        pytest.param(b"a: *x", "yaml: line 1: found undefined alias", id="an alias of nothing"),
        pytest.param(b"[a]: b", "yaml: line 1: invalid map key", id="a list as a key"),
        pytest.param(b"!!python/name:os.system x", "could not determine a constructor", id="a call"),
        pytest.param(b"a: !!set {b}", "cannot turn set into JSON", id="a set"),
        pytest.param(b"[" * 900, "yaml", id="depth"),
    ],
)
def test_what_is_not_yaml_is_refused_with_the_place(text: bytes, complaint: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        documents.parse_yaml(text)
    assert complaint in str(caught.value)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%,? \n\t1.~", max_size=40).map(str.encode) | st.binary(max_size=40))
@example(b"&a [*a]")
@example(b"\xff\xfe")
def test_any_text_is_read_as_yaml_or_refused(text: bytes) -> None:
    with contextlib.suppress(InvalidDocument):
        json.dumps(documents.parse_yaml(text).value)


def test_keys_of_yaml_that_stand_twice_are_told_and_the_last_counts() -> None:
    read = documents.parse_yaml(b"a: 1\nb: {c: 1, c: 2}\na: 3\n")
    assert read.value == {"a": 3, "b": {"c": 2}}
    lines = read.duplicates.list_errors()
    assert sorted(lines) == ['line 2: key "c" already set in map', 'line 3: key "a" already set in map']
    at_once = read.duplicates.join_errors(["d"])
    assert at_once == f'yaml: unmarshal errors:\n  {lines[0]}\n  {lines[1]}, unknown field "d"'


def test_a_repeated_key_of_yaml_is_shown_as_what_it_is() -> None:
    lines = documents.parse_yaml(b"1: a\n1: b\ntrue: a\ntrue: b\n").duplicates.list_errors()
    assert lines == ["line 2: key 1 already set in map", "line 4: key true already set in map"]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param(b'{"a": 1, "b": 2}', [], id="none"),
        pytest.param(b'{"a": 1, "a": 2}', ["a"], id="at the top"),
        pytest.param(b'{"a": {"b": 1, "b": 2}}', ["a.b"], id="below"),
        pytest.param(b'{"a": [{}, {"b": 1, "b": 1}]}', ["a[1].b"], id="in a list"),
        pytest.param(b'{"a": 1, "a": 2, "a": 3}', ["a"], id="three times"),
        pytest.param(b'{"a": "b:\\"c\\": d", "e:": 1}', [], id="colons in texts"),
    ],
)
def test_fields_that_stand_twice_are_found(text: bytes, paths: list[str]) -> None:
    assert documents.find_duplicate_fields(text, json.loads(text)).list_errors() == [
        f'duplicate field "{path}"' for path in paths
    ]


def test_what_a_type_does_not_fit_is_told_in_the_order_of_the_text() -> None:
    text = b'{"x": {"b": 1, "b": 1}, "a": {"y": 1, "b": 2, "b": 3}, "a": 4}'
    found = documents.find_duplicate_fields(text, json.loads(text))
    unknown = ["x", "a.y"]
    assert found.list_errors(unknown, typed=True) == [
        'unknown field "x"', 'unknown field "a.y"', 'duplicate field "a.b"', 'duplicate field "a"'
    ]  # fmt: skip
    assert found.list_errors(unknown)[0] == 'duplicate field "x.b"'


def written(value: Any) -> str:
    """Pairs as the JSON object they stand for, whether or not their keys differ."""
    if isinstance(value, list):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(item)}" for key, item in value) + "}"
    return json.dumps(value)


def repeats(value: Any) -> int:
    """How many members of pairs repeat an earlier key."""
    if not isinstance(value, list):
        return 0
    return len(value) - len({key for key, _ in value}) + sum(repeats(item) for _, item in value)


pairs: st.SearchStrategy[Any] = st.recursive(
    st.text(alphabet='a:"\\{}', max_size=4) | st.integers(),
    lambda inner: st.lists(st.tuples(keys, inner), max_size=4),
    max_leaves=8,
).filter(lambda value: isinstance(value, list))


@given(pairs)
def test_as_many_duplicates_are_found_as_there_are(value: Any) -> None:
    text = written(value).encode()
    assert sum(again for _, again in documents.find_duplicate_fields(text, json.loads(text)).json_fields) == repeats(
        value
    )


def test_a_document_of_too_many_objects_and_lists_is_refused(monkeypatch):
    monkeypatch.setattr(documents, "CONTAINERS_MAX", 5)
    text = b'{"a": [{}, {}, []], "b": "[[[[[[[["}'
    assert documents.parse_json(text) == {"a": [{}, {}, []], "b": "[[[[[[[["}
    assert documents.parse_yaml(text).value["a"] == [{}, {}, []]
    for read in (documents.parse_json, documents.parse_yaml):
        with pytest.raises(TooLarge, match="6 objects and lists, the limit is 5"):
            read(b'{"a": [{}, {}, [], []]}')


def test_yaml_of_too_many_values_is_refused() -> None:
    few = b"a:\n" + b"- b\n" * 299_998
    assert len(documents.parse_yaml(few[:40_003]).value["a"]) == 10_000
    with pytest.raises(TooLarge, match="the limit of YAML is 300000 keys and values"):
        documents.parse_yaml(few + b"- b\n" * 2)
