import base64
import json
import random
import string
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mockkube.api.catalogue import KINDS
from mockkube.api.decoding.codec import DecodingState
from mockkube.api.protobuf.envelope import (
    MAGIC,
    GroupVersionKind,
    UnknownKind,
    encode_list_items,
    encode_watch_frame,
    wrap_in_envelope,
)
from mockkube.api.protobuf.layout import wire_fields
from mockkube.api.protobuf.wire import Malformed
from mockkube.api.schema import Shape

BODIES = json.loads((Path(__file__).parent / "kubectl_bodies.json").read_text())
"""What kubectl 1.33 sent, and what it printed of the same object as JSON."""

DEPTH_MAX = 9
PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
SCALARS = {
    Shape.STRING: lambda chance: chance.choice(("", "text", "zwölf 十二", "long " * 50)),
    Shape.BYTES: lambda chance: base64.b64encode(chance.randbytes(chance.choice((0, 1, 200)))).decode(),
    Shape.BOOL: lambda chance: chance.random() < 0.5,
    Shape.INT32: lambda chance: chance.choice((0, 1, -1, 200, (1 << 31) - 1, -(1 << 31))),
    Shape.INT64: lambda chance: chance.choice((0, 1, -1, 200, (1 << 63) - 1, -(1 << 63))),
    Shape.FLOAT: lambda chance: chance.choice((0, 1, -1.5, 1e300)),
    Shape.QUANTITY: lambda chance: chance.choice(("0", "100m", "3", "1Gi", "1e30")),
    Shape.INT_OR_STRING: lambda chance: chance.choice((0, 8080, -1, "", "50%")),
    Shape.TIME: lambda chance: chance.choice(("1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "1969-07-20T20:17:40Z")),
    Shape.MICRO_TIME: lambda chance: chance.choice(("2024-02-29T23:59:59.000001Z", "1969-07-20T20:17:40.250000Z")),
}


def invented(codec, node, chance, depth=0):
    """A value of a type, filled by chance, less and less the deeper it lies."""
    match node.shape:
        case Shape.STRUCT:
            share = 0.5 if depth < 3 else 0.25
            fields = [node.fields[name] for name in sorted(on_the_wire(wire_fields(node)))]
            chosen = [field for field in fields if is_open(field) or (depth < DEPTH_MAX and chance.random() < share)]
            return {field.name: invented(codec, field.node, chance, depth + 1) for field in chosen}
        case Shape.LIST:
            return [invented(codec, node.item, chance, depth + 1) for _ in range(chance.randrange(3))]
        case Shape.MAP:
            keys = chance.sample(string.ascii_lowercase, chance.randrange(3))
            return {key: invented(codec, node.item, chance, depth + 1) for key in keys}
        case Shape.ANY:
            return invented_json(codec, node, chance, depth)
        case shape:
            return SCALARS[shape](chance)


def is_open(field):
    """Whether a field is always there, but the codec does not know what stands for nothing in it."""
    return field.node.shape is Shape.ANY and field.always_written


def on_the_wire(given):
    """Names of the fields that protobuf has; the kind of what lies within an object is none of them."""
    return {name for slot in given for name in ([slot.field.name] if slot.field else on_the_wire(slot.inlined))}


def invented_json(codec, node, chance, depth):
    props = codec.schema.get_type(PROPS)
    one = codec.decode(props, invented(codec, props, chance, depth + 3), DecodingState())
    match node.definition.rpartition(".")[2]:
        case "RawExtension" | "JSON" | "FieldsV1":
            return chance.choice(({"f:a": {}}, {"list": [1, "b", None]}))
        case "JSONSchemaPropsOrBool":
            return chance.choice((True, False, one))
        case "JSONSchemaPropsOrArray":
            return chance.choice((one, [one, {}]))
        case "JSONSchemaPropsOrStringArray":
            return chance.choice((one, ["a", ""]))
        case _:
            return {}


def of_kind(codec, api_version, kind):
    group, _, version = api_version.rpartition("/")
    return codec.schema.find_kind_type(group, version, kind)


def completed(codec, obj):
    """The object as a Go binary has it."""
    return codec.decode(of_kind(codec, obj["apiVersion"], obj["kind"]), obj, DecodingState())


def every_kind():
    served = {
        (kind.group, version, name)
        for kind in KINDS
        for version in kind.versions
        for name in (kind.kind, kind.list_kind)
    }
    others = {
        (group, version, sub.kind)
        for kind in KINDS
        for sub in kind.subresources
        if sub.kind
        for group, _, version in [(sub.group_version or f"{kind.group}/{kind.versions[0]}").rpartition("/")]
    }
    return sorted(served | others | {("", "v1", "DeleteOptions"), ("", "v1", "Status")})


@pytest.mark.parametrize(("group", "version", "kind"), [pytest.param(*one, id="/".join(one)) for one in every_kind()])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(min_value=0))
def test_what_is_written_is_read_again(codec, protobuf, group, version, kind, seed):
    node = codec.schema.find_kind_type(group, version, kind)
    if node is None:
        with pytest.raises(UnknownKind):
            protobuf.encode({"kind": kind, "apiVersion": f"{group}/{version}"})
        return
    obj = codec.decode(node, invented(codec, node, random.Random(seed)), DecodingState())
    obj["kind"], obj["apiVersion"] = kind, f"{group}/{version}".removeprefix("/")
    written = protobuf.encode(obj)
    read = protobuf.decode(written)
    found = DecodingState()
    assert (read.api_version, read.kind) == (obj["apiVersion"], kind)
    assert codec.decode(node, read.value, found) == obj
    assert not found.has_unknown_fields
    assert protobuf.encode(obj) == written


@pytest.mark.parametrize("name", BODIES)
def test_a_body_of_kubectl_says_what_kubectl_prints(codec, protobuf, name):
    read = protobuf.decode(bytes.fromhex(BODIES[name]["bytes"]))
    assert completed(codec, read.value) == completed(codec, BODIES[name]["object"])


@pytest.mark.parametrize("name", BODIES)
def test_an_object_is_written_as_kubectl_writes_it(codec, protobuf, name):
    assert protobuf.encode(completed(codec, BODIES[name]["object"])).hex() == BODIES[name]["bytes"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", "empty data", id="nothing"),
        pytest.param(b'{"kind":"Pod"}', r"expected prefix \[107 56 115 0\]", id="JSON"),
        pytest.param(MAGIC, "empty body", id="the magic alone"),
        pytest.param(MAGIC + b"\x0a\x7f", "unexpected EOF", id="the beginning of an envelope"),
        pytest.param(wrap_in_envelope("v1", "", b""), "Object 'Kind' is missing", id="no kind"),
        pytest.param(wrap_in_envelope("", "Pod", b""), "Object 'apiVersion' is missing", id="no version"),
        pytest.param(
            wrap_in_envelope("v1", "Gizmo", b""), 'no kind "Gizmo" is registered for version "v1"', id="an unknown kind"
        ),
    ],
)
def test_what_is_no_object_is_named(protobuf, data, why):
    with pytest.raises(Malformed, match=why):
        protobuf.decode(data)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(wrap_in_envelope("v1", "Pod", b"\x12\x7f"), ("v1", "Pod"), id="broken within the object"),
        pytest.param(wrap_in_envelope("v1", "Gizmo", b""), ("v1", "Gizmo"), id="an unknown kind"),
        pytest.param(wrap_in_envelope("", "", b"\x12"), ("apps/v1", "Deployment"), id="a kind that was expected"),
        pytest.param(MAGIC + b"\x0a\x7f", ("", ""), id="broken before the kind is known"),
    ],
)
def test_a_complaint_says_of_which_kind_the_object_was(protobuf, data, kind):
    with pytest.raises(Malformed) as refused:
        protobuf.decode(data, GroupVersionKind("apps", "v1", "Deployment"))
    assert (refused.value.api_version, refused.value.kind) == kind


def test_what_an_object_does_not_say_of_its_kind_is_taken_from_what_is_expected(protobuf):
    expected = GroupVersionKind("apps", "v1", "Deployment")
    assert protobuf.decode(wrap_in_envelope("", "", b""), expected).value == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
    }
    assert protobuf.decode(wrap_in_envelope("v1", "Pod", b""), expected).kind == "Pod"


def test_options_of_a_deletion_may_stand_in_any_group(protobuf):
    read = protobuf.decode(wrap_in_envelope("stable.example.com/v1", "DeleteOptions", b"\x08\x00"))
    assert read.value == {"kind": "DeleteOptions", "apiVersion": "stable.example.com/v1", "gracePeriodSeconds": 0}


def attempt(protobuf, data):
    """What is read; None when the bytes are refused."""
    try:
        return protobuf.decode(data)
    except Malformed:
        return None


def body_bytes(name):
    return bytes.fromhex(BODIES[name]["bytes"])


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(BODIES)), st.lists(st.tuples(st.integers(min_value=4), st.binary(max_size=3)), max_size=4)
)
@example("a deployment of no replicas", [(60, b"")])
def test_a_broken_body_is_malformed_or_another_object_but_never_a_bug(protobuf, name, damage):
    data = bytearray(body_bytes(name))
    for at, put in damage:
        place = 4 + at % (len(data) - 4)
        data[place : place + max(len(put), 1)] = put
    read = attempt(protobuf, bytes(data))
    assert read is None or read.value["kind"] == read.kind


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["Pod", "Service", "Node", "Secret"]), st.binary(max_size=200))
def test_any_bytes_are_an_object_or_malformed(protobuf, kind, content):
    read = attempt(protobuf, wrap_in_envelope("v1", kind, content))
    assert read is None or read.kind == kind


@pytest.mark.parametrize("name", BODIES)
def test_a_body_cut_short_is_malformed_or_ends_between_fields(protobuf, name):
    whole = body_bytes(name)
    for end in range(len(MAGIC), len(whole)):
        read = attempt(protobuf, whole[:end])
        assert read is None or read.kind == BODIES[name]["object"]["kind"]


def test_a_list_is_its_metadata_and_the_messages_of_its_items(codec, protobuf):
    pods = [completed(codec, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}}) for name in ("a", "b")]
    metadata = {"resourceVersion": "7", "remainingItemCount": 3, "continue": "x"}
    items = b"".join(encode_list_items(protobuf.encode_content(pod) for pod in pods))
    before, after = protobuf.encode_list_frame("v1", "PodList", metadata, len(items))
    bare = [{key: value for key, value in pod.items() if key not in ("kind", "apiVersion")} for pod in pods]
    whole = {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": bare}
    assert before + items + after == protobuf.encode(whole)


def test_metadata_alone_is_written_as_an_object_and_as_a_list(protobuf):
    one = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a", "creationTimestamp": None},
    }
    many = {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "7"},
        "items": [one],
    }
    assert protobuf.decode(protobuf.encode(one)).value == one
    read = protobuf.decode(protobuf.encode(many)).value
    assert (read["metadata"], read["items"]) == ({"resourceVersion": "7"}, [{"metadata": one["metadata"]}])


def test_an_event_of_a_watch_is_framed_by_its_length():
    enclosed = wrap_in_envelope("v1", "Pod", b"")
    event = b"\x0a\x05ADDED" + b"\x12" + bytes([len(enclosed) + 2]) + b"\x0a" + bytes([len(enclosed)]) + enclosed
    assert encode_watch_frame("ADDED", enclosed) == len(event).to_bytes(4, "big") + event
