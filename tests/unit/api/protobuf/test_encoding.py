import pytest

from mockkube.api.decoding.codec import DecodingState


def content(codec, protobuf, obj):
    """The object's message, once the codec has completed the object."""
    group, _, version = obj["apiVersion"].rpartition("/")
    node = codec.schema.find_kind_type(group, version, obj["kind"])
    return protobuf.encode_content(codec.decode(node, obj, DecodingState())).hex()


def test_zeros_of_plain_fields_are_written_and_absent_pointers_are_not(codec, protobuf):
    written = content(codec, protobuf, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "a"}})
    metadata = "0a0161" + "1200" + "1a00" + "2200" + "2a00" + "3200" + "3800" + "4200"
    assert written == "0a11" + metadata + "1200" + "1a02" + "0a00"


def test_maps_are_written_in_the_order_of_their_keys(codec, protobuf):
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"b": "2", "a": "1"}}
    assert content(codec, protobuf, obj).endswith("1206" + "0a0161120131" + "1206" + "0a0162120132")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param("50%", "08011000" + "1a03353025", id="text"),
        pytest.param(1, "08001001" + "1a00", id="a number"),
        pytest.param(0, "08001000" + "1a00", id="zero"),
    ],
)
def test_a_number_or_text_says_which_it_is(codec, protobuf, value, written):
    obj = {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "spec": {"minAvailable": value}}
    length = f"{len(written) // 2:02x}"
    assert ("0a" + length + written) in content(codec, protobuf, obj)


def test_a_time_that_was_never_is_written_as_nothing_in_it(codec, protobuf):
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": None}]
    obj = {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "status": {"conditions": conditions}}
    assert "0a055265616479" + "120454727565" + "1800" + "2200" in content(codec, protobuf, obj)


def test_a_micro_time_before_the_epoch_keeps_its_fraction(codec, protobuf):
    spec = {"renewTime": "1969-12-31T23:59:59.250000Z"}
    written = content(codec, protobuf, {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "spec": spec})
    assert written.endswith("2210" + "08" + "ff" * 9 + "01" + "10" + "80e59a77")


def test_what_json_leaves_out_of_a_union_is_written_out(codec, protobuf):
    props = {"type": "object", "additionalProperties": {"type": "string"}, "items": [{"type": "string"}]}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": props}}
    spec = {"group": "x.io", "names": {"kind": "A", "plural": "as"}, "scope": "Cluster", "versions": [version]}
    obj = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "spec": spec}
    node = codec.schema.find_kind_type("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    read = protobuf.decode(protobuf.encode(codec.decode(node, obj, DecodingState()))).value
    assert read["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == props


def test_raw_json_has_the_bytes_that_go_makes(codec, protobuf):
    obj = {"kind": "ControllerRevision", "apiVersion": "apps/v1", "data": {"a": "x && y"}, "revision": 1}
    raw = rb'{"a":"x \u0026\u0026 y"}'
    assert raw.hex() in content(codec, protobuf, obj)
