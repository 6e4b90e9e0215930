import pytest

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.labels import format_labels, format_selector, format_selector_or_none


def test_labels_are_sorted_as_pairs() -> None:
    assert format_labels({"tier": "db", "app": "shop", "app.kind": "x"}) == "app.kind=x,app=shop,tier=db"


def test_no_labels_are_a_word() -> None:
    assert format_labels({}) == "<none>"


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        pytest.param({}, "", id="everything"),
        pytest.param({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2", id="labels by key"),
        pytest.param(
            {
                "matchLabels": {"m": ""},
                "matchExpressions": [
                    {"key": "z", "operator": "In", "values": ["y", "x"]},
                    {"key": "n", "operator": "NotIn", "values": ["v"]},
                    {"key": "a", "operator": "Exists"},
                    {"key": "b", "operator": "DoesNotExist"},
                ],
            },
            "a,!b,m=,n notin (v),z in (x,y)",
            id="requirements between labels, values sorted",
        ),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "In"}]}, None, id="in nothing"),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, None, id="excess"),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "Near"}]}, None, id="no operator"),
        pytest.param({"matchLabels": {"a b": "c"}}, None, id="no label key"),
        pytest.param({"matchLabels": {"a": "b c"}}, None, id="no label value"),
    ],
)
def test_a_selector_is_written_as_on_a_command_line(selector: ReadOnlyObject, shown: str | None) -> None:
    assert format_selector_or_none(selector) == shown


def test_a_selector_that_cannot_be_written_says_so() -> None:
    assert format_selector({}) == "<none>"
    assert format_selector({"matchLabels": {"a b": "c"}}) == "<error>"
    assert format_selector({"matchLabels": {"a": "b"}}) == "a=b"
