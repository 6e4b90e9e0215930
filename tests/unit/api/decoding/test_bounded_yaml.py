import pytest
import yaml

from mockkube.api.decoding import bounded_yaml

LAUGHS = "a: &a [ha, ha]\n" + "".join(f"{c}: &{c} [{', '.join([f'*{chr(ord(c) - 1)}'] * 9)}]\n" for c in "bcdefg")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[" * 100_000 + "]" * 100_000, "nested more than 250 levels deep", id="brackets"),
        pytest.param("[" * 100_000, "nested more than 250 levels deep", id="brackets that are not closed"),
        pytest.param("\n".join(" " * level + "a:" for level in range(2000)), "nested more than", id="indentation"),
        pytest.param("- " * 20_000, "nested more than 250 levels deep", id="lists in a line"),
        pytest.param("? " * 20_000, "nested more than 250 levels deep", id="keys in a line"),
        pytest.param("a: '}}}}'\nb: " + "{a: " * 20_000, "nested more than", id="after brackets in a text"),
        pytest.param(LAUGHS, "excessive aliasing", id="a billion laughs"),
        pytest.param("a: &a\n  b: *a\n", "a value contains itself", id="itself"),
        pytest.param("&a [x, *a]", "a value contains itself", id="itself, in brackets"),
    ],
)
def test_what_no_reader_could_hold_is_refused(text: str, problem: str) -> None:
    for given in (text, text.encode()):
        with pytest.raises(yaml.YAMLError, match=problem):
            bounded_yaml.load(given)
        with pytest.raises(yaml.YAMLError, match=problem):
            bounded_yaml.load_all(given)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"a": [{"b": [1, 2, {"c": None}]}]}, id="nested"),
        pytest.param({"script": "\n".join(" " * level + "[" * level for level in range(300))}, id="text like nesting"),
        pytest.param({"schedule": "*/5 * * * *", "list": ["* a", "*b"]}, id="stars"),
    ],
)
def test_ordinary_values_are_read(value: object) -> None:
    text = yaml.safe_dump(value)
    assert bounded_yaml.load(text) == bounded_yaml.load(text.encode()) == value
    assert bounded_yaml.load_all(f"{text}---\n{text}") == [value, value]


def test_a_few_aliases_are_read() -> None:
    assert bounded_yaml.load("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}") == {
        "a": {"x": 1},
        "b": {"x": 1},
        "c": {"x": 1, "y": 2},
    }
