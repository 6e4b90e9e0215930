"""Values and objects as bytes."""

from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.errors import BadRequest, NotAcceptable
from mockkube.apiserver.http.responses.negotiation import PLAIN_JSON, YAML, Representation
from mockkube.apiserver.http.responses.rendering import OutputOptions, encode_value, render_list, render_object
from mockkube.apiserver.http.responses.yaml_text import to_yaml
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation
from mockkube.apiserver.registry.listing import ListResult
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource

TABLE = Representation(transform="Table")
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 53), 1 << 53)
    | st.text(alphabet=st.characters(exclude_categories=["C"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="abcyn10:-", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_yaml_and_json_say_the_same(value: Any) -> None:
    assert yaml.safe_load(to_yaml(value)) == value
    assert (
        orjson.loads(encode_value(value, PLAIN_JSON))
        == orjson.loads(encode_value(value, PLAIN_JSON, pretty=True))
        == value
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"b": 1, "a": None}, "a: null\nb: 1\n", id="sorted"),
        pytest.param({"a": []}, "a: []\n", id="an empty list"),
        pytest.param({"a": ["x", {"b": 1}]}, "a:\n- x\n- b: 1\n", id="a list is not indented"),
        pytest.param({"a": "one\ntwo\n"}, "a: |\n  one\n  two\n", id="lines"),
        pytest.param(
            {"a": "1", "b": "true", "c": ""}, 'a: "1"\nb: "true"\nc: ""\n', id="what looks like something else"
        ),
        pytest.param({"a": "y", "n": 1}, 'a: "y"\n"n": 1\n', id="truths of YAML 1.1"),
        pytest.param({"a": "2026-01-01T00:00:00Z"}, 'a: "2026-01-01T00:00:00Z"\n', id="a time"),
    ],
)
def test_yaml_is_written_as_kubernetes_does(value: Any, text: str) -> None:
    assert to_yaml(value).decode() == text


def test_a_value_that_stands_twice_is_written_twice() -> None:
    shared = {"x": 1}
    assert to_yaml({"a": shared, "b": shared}) == b"a:\n  x: 1\nb:\n  x: 1\n"


def whole_list(resource: Resource, listed: ListResult, representation: Representation = PLAIN_JSON) -> bytes:
    """The body of the answer, in one piece."""
    body = render_list(resource, listed, representation, OutputOptions())
    return body if isinstance(body, bytes) else b"".join(part.data for part in body)


async def configs(registry: Registry, *names: str) -> ListResult:
    """ConfigMaps of these names, as listed."""
    resource, records = registry.resources["", "v1", "configmaps"], []
    for name in names:
        obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a": "1"}}
        records.append(await creation.create(resource, RequestScope(User("u"), "lab"), obj, WriteOptions()))
    return ListResult(records, 7)


async def test_an_object_is_its_stored_bytes(registry: Registry) -> None:
    listed = await configs(registry, "one")
    resource = registry.resources["", "v1", "configmaps"]
    assert render_object(resource, listed.items[0], PLAIN_JSON, OutputOptions()) == listed.items[0].body + b"\n"


async def test_a_list_joins_what_its_objects_are_without_their_kind(registry: Registry) -> None:
    resource, listed = registry.resources["", "v1", "configmaps"], await configs(registry, "one", "two")
    whole = orjson.loads(whole_list(resource, listed))
    assert (whole["kind"], whole["apiVersion"], whole["metadata"]) == ("ConfigMapList", "v1", {"resourceVersion": "7"})
    for item, record in zip(whole["items"], listed.items, strict=True):
        assert {"kind": "ConfigMap", "apiVersion": "v1", **item} == record.load()


async def test_the_items_of_a_span_are_joined_once(registry: Registry) -> None:
    await configs(registry, "one", "two")
    resource = registry.resources["", "v1", "configmaps"]
    span = resource.collection.range(resource.prefix("lab"))
    first, second = (
        render_list(resource, ListResult(span, revision), PLAIN_JSON, OutputOptions()) for revision in (7, 8)
    )
    assert first[1] is second[1]
    assert first[0] != second[0]


async def test_a_page_tells_how_to_go_on(registry: Registry) -> None:
    resource, listed = registry.resources["", "v1", "configmaps"], ListResult([], 7, "token", 3)
    metadata = orjson.loads(whole_list(resource, listed))["metadata"]
    assert metadata == {"resourceVersion": "7", "continue": "token", "remainingItemCount": 3}


async def test_every_form_of_an_empty_list_is_valid(registry: Registry) -> None:
    resource = registry.resources["", "v1", "configmaps"]
    assert orjson.loads(whole_list(resource, ListResult([], 7)))["items"] == []
    assert orjson.loads(whole_list(resource, ListResult([], 7), TABLE))["rows"] == []
    assert yaml.safe_load(whole_list(resource, ListResult([], 7), Representation(YAML)))["items"] == []


async def test_an_object_is_no_list_and_a_list_no_object(registry: Registry) -> None:
    resource, listed = registry.resources["", "v1", "configmaps"], await configs(registry, "one")
    with pytest.raises(NotAcceptable, match="is not a list"):
        render_object(resource, listed.items[0], Representation(transform="PartialObjectMetadataList"), OutputOptions())
    with pytest.raises(NotAcceptable, match="is a list"):
        render_list(resource, listed, Representation(transform="PartialObjectMetadata"), OutputOptions())


async def test_a_table_of_something_unknown_is_refused(registry: Registry) -> None:
    listed = await configs(registry, "one")
    with pytest.raises(BadRequest, match="includeObject"):
        render_list(registry.resources["", "v1", "configmaps"], listed, TABLE, OutputOptions(include="Everything"))
