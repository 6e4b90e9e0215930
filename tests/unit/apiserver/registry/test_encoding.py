"""How an object lies in the store."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.apiserver.registry import encoding

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8) | st.just('"resourceVersion":""')


def test_kind_and_metadata_stand_first_in_gos_order() -> None:
    obj = {"spec": {}, "metadata": {"labels": {}, "uid": "u", "name": "a"}, "apiVersion": "v1", "kind": "Pod"}
    ordered = encoding.order_fields(obj, resourceVersion="7")
    assert orjson.dumps(ordered) == (
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"7","labels":{}},"spec":{}}'
    )


def test_every_body_begins_with_the_head_of_its_kind() -> None:
    body = encoding.dumps(encoding.order_fields({"kind": "Pod", "apiVersion": "v1", "metadata": {}}))
    assert body.startswith(encoding.encode_head("Pod", "v1"))


@given(name=texts, label=texts, data=st.dictionaries(texts, texts), revision=st.integers(1, 1 << 63))
def test_what_is_read_is_what_was_stored_at_its_revision(
    name: str, label: str, data: dict[str, str], revision: int
) -> None:
    metadata: dict[str, Any] = {"name": name, "resourceVersion": "999", "labels": {label: label}}
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}
    tag, body = encoding.decode_stored(encoding.encode_stored(obj, b"1.36"), revision)
    expected = {**obj, "metadata": {**metadata, "resourceVersion": str(revision)}}
    assert (tag, encoding.loads(body)) == (b"1.36", expected)


def test_characters_of_html_are_stored_as_go_escapes_them() -> None:
    obj = {"kind": "ControllerRevision", "apiVersion": "apps/v1", "metadata": {}, "data": {"a<b": "x && y > z\u2028"}}
    stored = encoding.encode_stored(obj, b"1.36")
    assert stored.endswith(rb'"data":{"a\u003cb":"x \u0026\u0026 y \u003e z\u2028"}}')


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        pytest.param(b'{"metadata": {"name": "a"}}', b'{"metadata":{"name":"a","resourceVersion":"7"}}', id="no hole"),
        pytest.param(b'{"spec":1}', b'{"spec":1,"metadata":{"resourceVersion":"7"}}', id="no metadata"),
        pytest.param(b'{"metadata":[]}', b'{"metadata":[]}', id="other metadata"),
        pytest.param(b"[1]", b"[1]", id="no object"),
        pytest.param(b"nothing", b"nothing", id="no JSON"),
    ],
)
def test_what_others_have_stored_is_read_with_its_version(stored: bytes, read: bytes) -> None:
    assert encoding.decode_stored(b"1.36+x\n" + stored, 7) == (b"1.36+x", read)


MANAGED: dict[str, Any] = {
    "manager": "m",
    "fieldsV1": {"f:metadata": {"f:finalizers": {'v:"}]},\\"spec"': {}, "}]},": {}}}},
}


@pytest.mark.parametrize(
    "rest",
    [
        {"spec": {"a": [{"b": 1}]}},
        {"status": {"conditions": [{"type": "Ready"}]}, "spec": {}},
        {"1": [{}], "data": {}},
        {},
    ],
)
@pytest.mark.parametrize("managed", [[MANAGED], [MANAGED, MANAGED], [{"fieldsV1": {"x": [{"y": [{}]}], "z": 1}}]])
def test_managed_fields_are_left_out_of_what_is_decoded(rest: dict[str, Any], managed: list[Any]) -> None:
    metadata = {"name": "x", "labels": {"metadata": "{", "spec": ',"managedFields":['}}
    body = encoding.dumps({"kind": "K", "metadata": {**metadata, "managedFields": managed}, **rest})
    assert encoding.loads_without_managed_fields(body) == {"kind": "K", "metadata": metadata, **rest}


def test_a_template_keeps_its_managed_fields() -> None:
    template = {"metadata": {"name": "t", "managedFields": [MANAGED]}, "spec": {"a": "b"}}
    obj = {"kind": "K", "metadata": {"name": "x"}, "spec": {"template": template}}
    assert encoding.loads_without_managed_fields(encoding.dumps(obj)) == obj
