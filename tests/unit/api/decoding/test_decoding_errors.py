"""What is wrong with a body, in the words of Go's decoders."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockkube.api.decoding import decoding_errors
from mockkube.api.decoding.codec import Codec, DecodingError, DecodingState
from mockkube.api.schema import Schema
from mockkube.features.versions import Version

SCHEMA = Schema(Version.parse("1.36"))
CODEC = Codec(SCHEMA)
CORE = "io.k8s.api.core.v1."
POD = SCHEMA.get_type(CORE + "Pod")


def spec(**fields: Any) -> dict[str, Any]:
    """A pod of these fields."""
    return {"metadata": {"name": "a"}, "spec": fields}


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        pytest.param(spec(nodeName="a"), [], id="none"),
        pytest.param({"x": 1, "spec": {"y": 2}}, ["x", "spec.y"], id="in the order of the document"),
        pytest.param(spec(containers=[{}, {"z": 1}]), ["spec.containers[1].z"], id="in a list"),
        pytest.param(spec(nodeSelector={"any": "x"}), [], id="keys of a map are no fields"),
        pytest.param({"Spec": {}}, ["Spec"], id="another case"),
    ],
)
def test_unknown_fields_are_named_by_their_paths(value: Any, paths: list[str]) -> None:
    assert list(decoding_errors.find_unknown_fields(POD, value)) == paths


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        pytest.param([], "json: cannot unmarshal array into Go value of type v1.Pod", id="the whole"),
        pytest.param(
            spec(nodeName=5),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.nodeName of type string",
            id="a number for a text",
        ),
        pytest.param(
            spec(hostPID="x"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostPID of type bool",
            id="a text for a truth",
        ),
        pytest.param(
            spec(containers={}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
            id="an object for a list",
        ),
        pytest.param(
            spec(nodeSelector=[]),
            "json: cannot unmarshal array into Go struct field PodSpec.spec.nodeSelector of type map[string]string",
            id="an array for a map",
        ),
        pytest.param(
            spec(priority=1 << 31),
            "json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
            id="too many bits",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "now"}},
            'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
            id="no time",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            id="a value of a map",
        ),
        pytest.param(
            spec(volumes=[{"secret": {"optional": "x"}}]),
            "json: cannot unmarshal string into Go struct field"
            " SecretVolumeSource.spec.volumes.VolumeSource.secret.optional of type bool",
            id="a field of an embedded struct",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": 5}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
            id="a time that is no text",
        ),
        pytest.param(
            spec(containers=[{"livenessProbe": {"httpGet": {"port": 1 << 31}}}]),
            "json: cannot unmarshal number 2147483648 into Go struct field"
            " HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
            id="a number beyond a port or name",
        ),
        pytest.param(
            spec(nodeName=5, containers=[{"resources": {"limits": {"cpu": "x"}}}]),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="what ends the decoding comes before what does not",
        ),
    ],
)
def test_a_value_of_another_type_is_told_as_encoding_json_does(value: Any, complaint: str) -> None:
    assert decoding_errors.find_decoding_error(POD, value) == complaint


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        pytest.param(spec(nodeName=5), "cannot convert int64 to string", id="a number for a text"),
        pytest.param({"spec": []}, "cannot restore struct from: slice", id="an array for a struct"),
        pytest.param(spec(containers="x"), "cannot restore slice from string", id="a text for a list"),
        pytest.param(spec(nodeSelector=[]), "cannot restore map from slice", id="an array for a map"),
        pytest.param(spec(hostPID=1.5), "unrecognized type: bool", id="a fraction for a truth"),
        pytest.param(spec(priority=1 << 31), "overflow converting 2147483648 to int32", id="too many bits"),
    ],
)
def test_a_patched_value_is_told_as_the_converter_does(value: Any, complaint: str) -> None:
    assert decoding_errors.find_conversion_error(POD, value) == complaint


@pytest.mark.parametrize(
    ("text", "offset"),
    [("!", 0), ("YQ=!", 2), ("YWI", 0), ("YWJjZA", 4), ("Y===", 1), ("YQ==YQ==", 4), ("YWI= ", 4), ("YQ=", 3)],
    ids=[
        "no letter",
        "after the end",
        "too short",
        "too short for the second four",
        "an early end",
        "more after two signs of the end",
        "more after one",
        "one sign of the end where two are due",
    ],
)
def test_base64_is_refused_with_the_place(text: str, offset: int) -> None:
    node = SCHEMA.get_type(CORE + "Secret")
    assert (
        decoding_errors.find_decoding_error(node, {"data": {"a": text}})
        == f"illegal base64 data at input byte {offset}"
    )


def test_types_are_named_as_reflection_does() -> None:
    node = SCHEMA.get_type(CORE + "Secret")
    complaint = "json: cannot unmarshal array into Go struct field Secret.data of type map[string][]uint8"
    assert decoding_errors.find_decoding_error(node, {"data": []}) == complaint
    claims = SCHEMA.get_type("io.k8s.api.apps.v1.StatefulSetSpec")
    complaint = (
        "json: cannot unmarshal bool into Go struct field "
        "PersistentVolumeClaim.volumeClaimTemplates.TypeMeta.kind of type string"
    )
    assert decoding_errors.find_decoding_error(claims, {"volumeClaimTemplates": [{"kind": True}]}) == complaint
    overhead = SCHEMA.get_type("io.k8s.api.node.v1.Overhead")
    complaint = "json: cannot unmarshal string into Go struct field Overhead.podFixed of type v1.ResourceList"
    assert decoding_errors.find_decoding_error(overhead, {"podFixed": "a"}) == complaint
    review = SCHEMA.get_type("io.k8s.api.authorization.v1.SubjectAccessReviewSpec")
    complaint = "json: cannot unmarshal bool into Go struct field SubjectAccessReviewSpec.extra of type string"
    assert decoding_errors.find_decoding_error(review, {"extra": {"a": [True]}}) == complaint


odd = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(("metadata", "labels", "spec", "containers", "name", "ports", "hostPort", "priority", "x")),
            inner,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(odd.filter(lambda value: value is not None))
def test_what_the_codec_refuses_is_always_explained(value: Any) -> None:
    found = DecodingState()
    try:
        CODEC.decode(POD, value, found)
    except DecodingError:
        assert decoding_errors.find_decoding_error(POD, value) != "json: cannot unmarshal the value"
        return
    assert found.has_unknown_fields is bool(list(decoding_errors.find_unknown_fields(POD, value)))


@pytest.mark.parametrize("value", [{}, []], ids=["an object", "an array"])
def test_what_is_no_scalar_is_no_quantity(value: Any) -> None:
    node = SCHEMA.get_type(CORE + "ResourceRequirements")
    assert decoding_errors.find_decoding_error(node, {"limits": {"cpu": value}})


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        pytest.param({"additionalProperties": "x"}, "boolean or JSON schema expected", id="a text for a schema"),
        pytest.param(
            {"items": {"type": 5}},
            "json: cannot unmarshal number into Go struct field JSONSchemaProps.items.type of type string",
            id="within a schema",
        ),
    ],
)
def test_a_schema_or_something_else_is_told_as_the_type_that_reads_it_does(value: Any, complaint: str) -> None:
    node = SCHEMA.get_type("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert decoding_errors.find_decoding_error(node, value) == complaint
    with pytest.raises(DecodingError):
        CODEC.decode(node, value, DecodingState())
