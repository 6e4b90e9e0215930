"""Decoding as a Go binary of one version does."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockkube.api.decoding.codec import Codec, DecodingError, DecodingState
from mockkube.api.schema import Schema, Shape, TypeNode
from mockkube.features.versions import Version

SCHEMA = Schema(Version.parse("1.36"))
CODEC = Codec(SCHEMA)
CORE = "io.k8s.api.core.v1."


def decode(definition: str, value: Any) -> Any:
    """What the type makes of a value."""
    return CODEC.decode(SCHEMA.get_type(definition), value, DecodingState())


def test_unknown_fields_are_dropped_and_noticed() -> None:
    found = DecodingState()
    decoded = CODEC.decode(SCHEMA.get_type(CORE + "Toleration"), {"key": "a", "surplus": 1}, found)
    assert (decoded, found.has_unknown_fields) == ({"key": "a"}, True)


def test_names_of_fields_are_matched_with_their_case() -> None:
    assert decode(CORE + "Toleration", {"Key": "a"}) == {}


@pytest.mark.parametrize(
    ("definition", "value", "decoded"),
    [
        pytest.param("Toleration", {"key": None, "value": ""}, {}, id="null and the empty text disappear"),
        pytest.param("Toleration", {"tolerationSeconds": 0}, {"tolerationSeconds": 0}, id="a pointer keeps its zero"),
        pytest.param("PodSpec", {"hostUsers": False, "hostPID": False}, {"hostUsers": False}, id="and its false"),
        pytest.param("LabelSelector", {"matchLabels": {}}, {}, id="an empty map disappears"),
        pytest.param("LabelSelector", {"matchExpressions": []}, {}, id="an empty list disappears"),
        pytest.param("Container", {}, {"name": "", "resources": {}}, id="what has no omitempty is always there"),
        pytest.param("PodSpec", {"containers": []}, {"containers": None}, id="an empty list that is always written"),
        pytest.param("SecurityContext", {"capabilities": {}}, {"capabilities": {}}, id="a struct behind a pointer"),
    ],
)
def test_emptiness_is_what_go_makes_of_it(definition: str, value: Any, decoded: Any) -> None:
    full = "io.k8s.apimachinery.pkg.apis.meta.v1." if definition == "LabelSelector" else CORE
    result = decode(full + definition, value)
    assert {key: result[key] for key in result if key in decoded or key in value} == decoded


def test_whole_numbers_are_written_without_a_point() -> None:
    given = {"maximum": 3.0, "minimum": 0.5, "multipleOf": 1e300}
    assert repr(decode(PROPS, given)) == "{'maximum': 3, 'minimum': 0.5, 'multipleOf': 1e+300}"


def test_bytes_are_written_anew() -> None:
    assert decode(CORE + "Secret", {"data": {"a": "YR=="}})["data"] == {"a": "YQ=="}


def test_null_in_a_list_or_map_is_the_empty_value() -> None:
    assert decode(CORE + "Container", {"args": ["a", None]})["args"] == ["a", ""]
    assert decode(CORE + "ConfigMap", {"data": {"a": None}})["data"] == {"a": ""}
    assert decode(CORE + "Secret", {"data": {"a": None}})["data"] == {"a": ""}
    assert decode(CORE + "PodSpec", {"containers": [None]})["containers"] == [{"name": "", "resources": {}}]


@pytest.mark.parametrize(
    ("value", "canonical"), [("1000m", "1"), ("0.5", "500m"), (2, "2"), ("1024Mi", "1Gi"), ("1e3", "1e3"), (0, "0")]
)
def test_quantities_become_canonical(value: Any, canonical: str) -> None:
    assert decode(CORE + "ResourceRequirements", {"limits": {"cpu": value}}) == {"limits": {"cpu": canonical}}


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        pytest.param("PodSpec", [], id="an array for a struct"),
        pytest.param("PodSpec", {"containers": {}}, id="an object for a list"),
        pytest.param("PodSpec", {"nodeSelector": []}, id="an array for a map"),
        pytest.param("PodSpec", {"nodeName": 5}, id="a number for a text"),
        pytest.param("PodSpec", {"hostPID": "true"}, id="a text for a truth"),
        pytest.param("PodSpec", {"hostPID": 1}, id="a number for a truth"),
        pytest.param("PodSpec", {"priority": True}, id="a truth for a number"),
        pytest.param("PodSpec", {"priority": 1 << 31}, id="more than 32 bits"),
        pytest.param("PodSpec", {"priority": 1.0}, id="a fraction"),
        pytest.param("PodSpec", {"activeDeadlineSeconds": 1 << 63}, id="more than 64 bits"),
        pytest.param("ServicePort", {"targetPort": 1.5}, id="neither a number nor a text"),
        pytest.param("ServicePort", {"targetPort": True}, id="a truth for either"),
        pytest.param("Secret", {"data": {"a": "!"}}, id="no base64"),
        pytest.param("Secret", {"data": {"a": "YQ="}}, id="base64 without its end"),
        pytest.param("ContainerStateRunning", {"startedAt": "yesterday"}, id="no time"),
        pytest.param("ContainerStateRunning", {"startedAt": 5}, id="a number for a time"),
        pytest.param("ResourceRequirements", {"limits": {"cpu": "many"}}, id="no quantity"),
        pytest.param("ResourceRequirements", {"limits": {"cpu": True}}, id="a truth for a quantity"),
        pytest.param("ResourceRequirements", {"limits": {"cpu": {}}}, id="an object for a quantity"),
        pytest.param(
            "Secret",
            {"data": {"a": "\u2028"}},
            id="base64 beyond ASCII",
        ),
    ],
)
def test_a_value_of_another_type_is_refused(definition: str, value: Any) -> None:
    with pytest.raises(DecodingError) as caught:
        decode(CORE + definition, value)
    assert caught.type is DecodingError


def test_base64_over_several_lines_is_joined() -> None:
    assert decode(CORE + "Secret", {"data": {"a": "YW\nJj\r\n"}})["data"] == {"a": "YWJj"}


def test_what_has_no_type_is_kept_as_it_is() -> None:
    given_data: dict[str, Any] = {"b": [None, {}, "", 0, False], "": None}
    revision = decode("io.k8s.api.apps.v1.ControllerRevision", {"data": given_data, "revision": 1})
    assert revision["data"] == given_data


def test_what_was_given_is_not_changed() -> None:
    value = {"containers": [{"name": "a", "surplus": 1, "args": []}], "nodeName": ""}
    before = orjson.dumps(value)
    decode(CORE + "PodSpec", value)
    assert orjson.dumps(value) == before


SCALARS: dict[Shape, st.SearchStrategy[Any]] = {
    Shape.STRING: st.text(max_size=3),
    Shape.BYTES: st.sampled_from(("", "YQ==", "YWI=")),
    Shape.BOOL: st.booleans(),
    Shape.INT32: st.integers(-(1 << 31), (1 << 31) - 1),
    Shape.INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    Shape.FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    Shape.QUANTITY: st.sampled_from(("0", "1", "100m", "1Gi", "0.1", "1e3", 5)),
    Shape.INT_OR_STRING: st.integers(0, 9) | st.text(max_size=3),
    Shape.TIME: st.sampled_from(("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+01:00")),
    Shape.MICRO_TIME: st.sampled_from(("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+01:00")),
    Shape.ANY: st.dictionaries(st.text(max_size=2), st.none() | st.integers(0, 3), max_size=2),
}


@st.composite
def values_of(draw: st.DrawFn, node: TypeNode, depth: int = 0) -> Any:
    """Any value of a type, null and empty ones included."""
    if draw(st.integers(0, 9)) == 0:
        return None
    match node.shape:
        case Shape.STRUCT:
            names = list(node.fields) if depth < 6 else []
            few = draw(st.lists(st.sampled_from(names), max_size=5, unique=True)) if names else []
            return {name: draw(values_of(node.fields[name].node, depth + 1)) for name in few}
        case Shape.LIST:
            assert node.item is not None
            return draw(st.lists(values_of(node.item, depth + 1), max_size=2))
        case Shape.MAP:
            assert node.item is not None
            return draw(st.dictionaries(st.text(max_size=2), values_of(node.item, depth + 1), max_size=2))
        case scalar:
            return draw(SCALARS[scalar])


@pytest.mark.parametrize("definition", [CORE + "Pod", CORE + "Service", "io.k8s.api.batch.v1.CronJob"])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_what_was_decoded_once_stays_as_it_is(definition: str, data: st.DataObject) -> None:
    given_value = data.draw(values_of(SCHEMA.get_type(definition))) or {}
    found = DecodingState()
    once = CODEC.decode(SCHEMA.get_type(definition), given_value, found)
    assert not found.has_unknown_fields
    assert decode(definition, orjson.loads(orjson.dumps(once))) == once


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet=st.characters(codec="ascii"), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("metadata", "spec", "containers", "name", "resources", "labels", "x")), inner
        )
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(anything)
def test_any_json_is_decoded_or_refused(value: Any) -> None:
    try:
        decoded = decode(CORE + "Pod", value)
    except DecodingError:
        return
    assert set(decoded) <= set(SCHEMA.get_type(CORE + "Pod").fields)


PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


@pytest.mark.parametrize(
    ("given", "decoded"),
    [
        pytest.param(
            {"items": {"type": "string", "maxLength": None, "odd": 1}}, {"items": {"type": "string"}}, id="pruned"
        ),
        pytest.param({"items": [{"odd": 1}]}, {"items": [{}]}, id="several"),
        pytest.param({"items": "x"}, {"items": None}, id="neither"),
        pytest.param({"additionalProperties": {"odd": 1}}, {"additionalProperties": {}}, id="of values"),
        pytest.param({"additionalProperties": False}, {"additionalProperties": False}, id="no values"),
        pytest.param({"dependencies": {"a": ["b"]}}, {"dependencies": {"a": ["b"]}}, id="names"),
    ],
)
def test_a_schema_in_a_place_where_something_else_may_stand_is_pruned_too(given: Any, decoded: Any) -> None:
    found = DecodingState()
    assert CODEC.decode(SCHEMA.get_type(PROPS), given, found) == decoded
    assert not found.has_unknown_fields


def decode_change(definition: str, value: Any, before: Any) -> tuple[Any, bool]:
    """What the type makes of a value that was made from a decoded one; and whether it has unknown fields."""
    found = DecodingState()
    return CODEC.decode_change(SCHEMA.get_type(CORE + definition), value, found, before), found.has_unknown_fields


def test_a_change_is_decoded_as_the_whole_value_is() -> None:
    before = decode(CORE + "Pod", {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"hostPID": True}})
    metadata = {**before["metadata"], "annotations": {}, "surplus": 1, "namespace": None, "generateName": "g"}
    changed = {**before, "metadata": metadata}
    assert decode_change("Pod", changed, before) == (decode(CORE + "Pod", changed), True)
    assert decode_change("Pod", changed, before)[0]["metadata"] == {
        "name": "p",
        "labels": {"a": "b"},
        "generateName": "g",
    }


def test_parts_that_have_not_changed_are_shared() -> None:
    before = decode(CORE + "Pod", {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}})
    decoded, _ = decode_change("Pod", {**before, "metadata": {**before["metadata"], "name": "p"}}, before)
    assert decoded["spec"] is before["spec"]
    assert decoded["metadata"]["labels"] is before["metadata"]["labels"]
    assert decoded["metadata"] is not before["metadata"]


@pytest.mark.parametrize("wrong", [{"spec": []}, {"metadata": {"name": 1}}, {"spec": {"hostPID": "yes"}}])
def test_a_changed_part_of_the_wrong_type_is_an_error(wrong: Any) -> None:
    before = decode(CORE + "Pod", {"metadata": {"name": "p"}, "spec": {"hostPID": True}})
    with pytest.raises(DecodingError):
        decode_change("Pod", {**before, **wrong}, before)
