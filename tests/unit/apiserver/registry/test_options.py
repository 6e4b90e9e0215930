"""What a request asks for beside its body."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.errors import ApiError, BadRequest, Invalid
from mockkube.apiserver.registry import options
from mockkube.apiserver.registry.options import DeleteOptions, ListOptions, WriteOptions

texts = st.sampled_from(("", "0", "1", "-1", "true", "All", "Strict", "Exact", "a=b", "a in (", "\x00")) | st.text(
    max_size=6
)


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ([], False),
        (["true"], True),
        (["1"], True),
        (["x"], True),
        (["false"], False),
        (["0"], False),
        (["False"], False),
    ],
)
def test_a_flag_is_set_by_anything_but_no(values: list[str], answer: bool) -> None:
    assert options.parse_bool({"a": values} if values else {}, "a") is answer


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("-5", -5), ("+7", 7), ("007", 7), (str((1 << 63) - 1), (1 << 63) - 1)]
)
def test_an_integer_is_read_as_go_does(text: str, number: int) -> None:
    assert options.parse_int(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1.0", "1e3", "0x1", " 1", "1_0", "--1", "²", "١", str(1 << 63), str(-(1 << 63) - 1)]
)
def test_what_is_no_integer_is_refused_in_gos_words(text: str) -> None:
    with pytest.raises(BadRequest, match=r"^strconv\.ParseInt: parsing "):
        options.parse_int(text)


@pytest.mark.parametrize(("text", "revision"), [("", 0), ("0", 0), ("7", 7), (str((1 << 64) - 1), (1 << 64) - 1)])
def test_a_resource_version_is_a_revision(text: str, revision: int) -> None:
    assert options.parse_resource_version(text) == revision


@pytest.mark.parametrize("text", ["x", "-1", "1.0", "²", str(1 << 64)])
def test_what_is_no_resource_version_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="invalid resource version"):
        options.parse_resource_version(text)


def test_a_write_warns_unless_told_otherwise() -> None:
    assert options.parse_write_options({}, "CreateOptions") == WriteOptions()
    assert options.parse_write_options({"fieldValidation": ["Strict"]}, "CreateOptions").field_validation == "Strict"
    assert options.parse_write_options({"dryRun": ["All"]}, "CreateOptions").dry_run


@pytest.mark.parametrize(
    ("query", "field"),
    [
        pytest.param({"dryRun": ["Some"]}, "dryRun", id="half a dry run"),
        pytest.param({"fieldValidation": ["Perhaps"]}, "fieldValidation", id="another validation"),
        pytest.param({"fieldManager": ["x" * 129]}, "fieldManager", id="a long manager"),
        pytest.param({"fieldManager": ["a\nb"]}, "fieldManager", id="a manager of two lines"),
        pytest.param({"force": ["true"]}, "force", id="force without apply"),
    ],
)
def test_options_of_a_write_that_make_no_sense_are_refused(query: dict[str, list[str]], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        options.parse_write_options(query, "PatchOptions")
    assert [error.field for error in caught.value.errors] == [field]


def test_an_apply_needs_a_manager() -> None:
    with pytest.raises(Invalid, match="is required for apply patch"):
        options.parse_write_options({"force": ["true"]}, "PatchOptions", apply=True)


def test_a_deletion_is_told_by_its_body_or_else_by_its_query() -> None:
    query = {"gracePeriodSeconds": ["5"], "propagationPolicy": ["Orphan"]}
    assert options.parse_delete_options(query, None) == DeleteOptions(grace_seconds=5, propagation="Orphan")
    assert options.parse_delete_options(query, {"gracePeriodSeconds": 0}) == DeleteOptions(grace_seconds=0)
    assert options.parse_delete_options({}, {"preconditions": {"uid": "u"}}).uid == "u"


@pytest.mark.parametrize(
    "body",
    [{"orphanDependents": True, "propagationPolicy": "Orphan"}, {"propagationPolicy": "x"}, {"dryRun": ["x"]}],
    ids=["two policies", "an unknown policy", "half a dry run"],
)
def test_options_of_a_deletion_that_make_no_sense_are_refused(body: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        options.parse_delete_options({}, body)


def listing(**query: str) -> ListOptions:
    """The options of a list or watch, judged."""
    read = options.parse_list_options({name: [value] for name, value in query.items()})
    options.validate_list_options(read)
    return read


def test_a_list_is_told_what_to_select_and_from_where() -> None:
    read = listing(labelSelector="a=b", fieldSelector="metadata.name=x", limit="5", resourceVersion="7")
    assert read.labels.matches({"a": "b"})
    assert read.fields.matches({"metadata.name": "x"})
    assert (read.limit, read.resource_version, read.watch, read.send_initial) == (5, "7", False, None)


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"resourceVersionMatch": "Exact"}, id="a match of nothing"),
        pytest.param({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, id="exactly any"),
        pytest.param({"resourceVersionMatch": "x", "resourceVersion": "1"}, id="an unknown match"),
        pytest.param({"sendInitialEvents": "true"}, id="events of a list"),
        pytest.param({"watch": "1", "sendInitialEvents": "true"}, id="events of no age"),
        pytest.param({"watch": "1", "resourceVersionMatch": "NotOlderThan"}, id="an age without events"),
    ],
)
def test_options_of_a_list_that_contradict_each_other_are_refused(query: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        listing(**query)


@given(
    st.dictionaries(
        st.sampled_from(
            (
                "limit",
                "timeoutSeconds",
                "resourceVersion",
                "resourceVersionMatch",
                "labelSelector",
                "fieldSelector",
                "watch",
                "continue",
                "sendInitialEvents",
                "dryRun",
                "fieldValidation",
                "gracePeriodSeconds",
                "propagationPolicy",
            )
        ),
        st.lists(texts, min_size=1, max_size=2),
    )
)
def test_any_query_is_understood_or_refused(query: dict[str, list[str]]) -> None:
    for read in (
        lambda: options.validate_list_options(options.parse_list_options(query)),
        lambda: options.parse_write_options(query, "CreateOptions"),
        lambda: options.parse_delete_options(query, None),
        lambda: options.parse_resource_version(options.first_value(query, "resourceVersion")),
    ):
        try:
            read()
        except ApiError as error:
            assert error.code in (400, 422)  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize("read", [options.parse_int, options.parse_resource_version], ids=["an integer", "a version"])
def test_a_number_of_any_length_is_refused(read: Any) -> None:
    with pytest.raises(BadRequest):
        read("9" * 5000)
