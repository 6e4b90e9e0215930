import struct

import pytest

from mockkube.api.protobuf import wire
from mockkube.api.protobuf.envelope import wrap_in_envelope
from mockkube.api.protobuf.wire import Malformed


def sized(number, content):
    return wire.encode_length_delimited(wire.encode_tag(number, wire.LENGTH_DELIMITED), content)


def number(field, value):
    return wire.encode_tag(field, wire.VARINT) + wire.encode_varint(value)


def pod(*spec):
    return wrap_in_envelope("v1", "Pod", sized(2, b"".join(spec)))


def container(*fields):
    return pod(sized(2, b"".join(fields)))


def crd(props):
    version = sized(4, sized(1, props))
    return wrap_in_envelope(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", sized(1, b"") + sized(2, sized(7, version))
    )


def props_of(definition):
    return definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def test_a_zero_says_nothing_unless_the_field_is_a_pointer(protobuf):
    read = protobuf.decode(pod(sized(3, b""), number(4, 0), number(11, 0), number(37, 0)))
    assert read.value["spec"] == {"terminationGracePeriodSeconds": 0, "hostUsers": False}


def test_fields_this_version_does_not_know_are_dropped(protobuf):
    read = protobuf.decode(pod(sized(10, b"node-1"), sized(4000, b"news"), number(4001, 7)))
    assert read.value["spec"] == {"nodeName": "node-1"}


def test_an_inlined_struct_shares_the_object_of_its_parent(protobuf):
    volume = sized(1, b"data") + sized(2, sized(2, sized(1, b"Memory")))
    assert protobuf.decode(pod(sized(1, volume))).value["spec"]["volumes"] == [
        {"name": "data", "emptyDir": {"medium": "Memory"}}
    ]


def test_a_struct_that_stands_there_twice_is_merged(protobuf):
    affinity = [sized(18, sized(1, b"")), sized(18, sized(2, b""))]
    assert protobuf.decode(pod(*affinity)).value["spec"] == {"affinity": {"nodeAffinity": {}, "podAffinity": {}}}


def test_a_later_zero_takes_back_an_earlier_value(protobuf):
    assert protobuf.decode(pod(sized(10, b"node-1"), number(11, 1), sized(10, b""), number(11, 0))).value["spec"] == {}


def test_maps_are_entries_and_the_parts_of_an_entry_may_be_missing(protobuf):
    entries = [sized(7, sized(1, b"a") + sized(2, b"b")), sized(7, sized(2, b"no key")), sized(7, sized(1, b"bare"))]
    selector = protobuf.decode(pod(*entries)).value["spec"]["nodeSelector"]
    assert selector == {"a": "b", "": "no key", "bare": None}


def test_numbers_that_repeat_may_be_packed_or_not(protobuf):
    supplemental = number(4, 1), number(4, 2), sized(4, wire.encode_varint(3) + wire.encode_varint(1 << 40))
    read = protobuf.decode(pod(sized(14, b"".join(supplemental))))
    assert read.value["spec"]["securityContext"]["supplementalGroups"] == [1, 2, 3, 1 << 40]


def test_text_that_is_not_utf_8_is_replaced(protobuf):
    assert protobuf.decode(pod(sized(10, b"n\xffde"))).value["spec"]["nodeName"] == "n�de"


@pytest.mark.parametrize(
    ("content", "value"),
    [
        pytest.param(number(1, 0) + number(2, -5), -5, id="a number"),
        pytest.param(number(1, 1) + sized(3, b"http"), "http", id="text"),
        pytest.param(b"", 0, id="nothing"),
    ],
)
def test_a_number_or_text_is_what_its_type_says(protobuf, content, value):
    probe = sized(10, sized(1, sized(2, sized(2, content))))
    assert protobuf.decode(container(probe)).value["spec"]["containers"] == [
        {"livenessProbe": {"httpGet": {"port": value}}}
    ]


def test_a_quantity_is_read_in_its_canonical_form(protobuf):
    limits = sized(8, sized(1, sized(1, b"cpu") + sized(2, sized(1, b"1000m"))))
    assert protobuf.decode(container(limits)).value["spec"]["containers"] == [{"resources": {"limits": {"cpu": "1"}}}]


def test_times_lose_what_json_would_lose(protobuf):
    renewed = sized(4, number(1, 1700000000) + number(2, 123456789))
    lease = wrap_in_envelope(
        "coordination.k8s.io/v1", "Lease", sized(1, sized(8, number(1, 5) + number(2, 9))) + sized(2, renewed)
    )
    value = protobuf.decode(lease).value
    assert value["metadata"]["creationTimestamp"] == "1970-01-01T00:00:05Z"
    assert value["spec"]["renewTime"] == "2023-11-14T22:13:20.123456Z"


def test_json_within_protobuf_is_read_as_json(protobuf):
    revision = wrap_in_envelope("apps/v1", "ControllerRevision", sized(2, sized(1, b'{"a":[1,null]}')) + number(3, 4))
    assert protobuf.decode(revision).value["data"] == {"a": [1, None]}


def test_values_that_are_lists_are_messages_with_items(protobuf):
    extra = sized(5, sized(1, b"scopes") + sized(2, sized(1, b"a") + sized(1, b"")))
    review = wrap_in_envelope("authorization.k8s.io/v1", "SubjectAccessReview", sized(2, extra))
    assert protobuf.decode(review).value["spec"]["extra"] == {"scopes": ["a", ""]}


@pytest.mark.parametrize(
    ("content", "value"),
    [
        pytest.param(sized(30, number(1, 1)), {"additionalProperties": True}, id="all properties"),
        pytest.param(sized(30, b""), {"additionalProperties": False}, id="no other properties"),
        pytest.param(
            sized(30, number(1, 1) + sized(2, sized(5, b"a"))), {"additionalProperties": {"type": "a"}}, id="some"
        ),
        pytest.param(sized(24, sized(1, sized(5, b"a"))), {"items": {"type": "a"}}, id="one schema of items"),
        pytest.param(sized(24, sized(2, b"") + sized(2, sized(5, b"a"))), {"items": [{}, {"type": "a"}]}, id="several"),
        pytest.param(
            sized(32, sized(1, b"x") + sized(2, sized(2, b"y"))),
            {"dependencies": {"x": ["y"]}},
            id="names of properties",
        ),
        pytest.param(sized(8, sized(1, b"true")), {"default": True}, id="a default"),
        pytest.param(
            sized(20, sized(1, b'"a"')) + sized(20, b""), {"enum": ["a", None]}, id="an enumeration with null"
        ),
        pytest.param(wire.encode_tag(9, 1) + struct.pack("<d", 5), {"maximum": 5}, id="a whole number"),
        pytest.param(wire.encode_tag(9, 1) + struct.pack("<d", 0.5), {"maximum": 0.5}, id="half a number"),
    ],
)
def test_the_schemas_of_crds_are_read_with_their_unions(protobuf, content, value):
    assert props_of(protobuf.decode(crd(content)).value) == value


def test_a_limit_that_is_no_number_is_named(protobuf):
    with pytest.raises(Malformed, match="unsupported value: nan"):
        protobuf.decode(crd(wire.encode_tag(9, 1) + struct.pack("<d", float("nan"))))


def test_a_schema_within_a_schema_within_a_schema_has_an_end(protobuf):
    content = b""
    for _ in range(2000):
        content = sized(28, content)
    with pytest.raises(Malformed, match="exceeded max depth"):
        protobuf.decode(crd(content))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(pod(number(10, 1)), "wrong wireType = 0 for field 10", id="a number where text stands"),
        pytest.param(pod(sized(11, b"x")), "wrong wireType = 2 for field 11", id="text where a number stands"),
        pytest.param(
            container(sized(8, sized(1, sized(2, sized(1, b"many"))))), "quantities must match", id="no quantity"
        ),
        pytest.param(
            wrap_in_envelope("v1", "Pod", sized(1, sized(8, number(1, 1 << 62)))),
            "no time of the years",
            id="beyond all time",
        ),
        pytest.param(
            wrap_in_envelope("apps/v1", "ControllerRevision", sized(2, sized(1, b"{"))), "json: ", id="broken JSON"
        ),
        pytest.param(pod(sized(14, sized(4, b"\x80"))), "unexpected EOF", id="half a packed number"),
    ],
)
def test_a_value_that_cannot_be_is_named(protobuf, data, why):
    with pytest.raises(Malformed, match=why):
        protobuf.decode(data)
