"""Answers in protobuf, which most Go clients prefer: who gets them, and what they are."""

from typing import TYPE_CHECKING, Any, Final

import pytest
import pytest_asyncio

from mockkube.api.protobuf.envelope import MEDIA_TYPE, STREAM_MEDIA_TYPE, GroupVersionKind, ProtobufSerializer
from mockkube.api.schema import Schema
from mockkube.features.versions import DEFAULT

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")
PROTOBUF: Final = ProtobufSerializer(Schema(DEFAULT))
GO: Final = f"{MEDIA_TYPE},application/json"
METADATA: Final = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
CONTROL: Final = "/apis/control.mockkube.dev/v1alpha1/components"


@pytest_asyncio.fixture(loop_scope="module")
async def configs(api: "Api", lab: str) -> str:
    """The path of a config map, a, and of what else a namespace has."""
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "a", "labels": {"k": "v"}}, "data": {"key": "1"}})
    return f"{lab}/configmaps"


async def test_an_object_is_changed_by_its_message(api: "Api", configs: str) -> None:
    read = PROTOBUF.decode((await api.ask("GET", f"{configs}/a", accept=GO)).body).value
    changed = PROTOBUF.encode({**read, "data": {"key": "2"}})
    answer = await api.ask("PUT", f"{configs}/a", changed, media=MEDIA_TYPE, accept=GO)
    assert PROTOBUF.decode(answer.body).value["data"] == {"key": "2"}
    patched = await api.ask(
        "PATCH", f"{configs}/a", {"data": {"key": "3"}}, media="application/merge-patch+json", accept=GO
    )
    assert PROTOBUF.decode(patched.body).value["data"] == {"key": "3"}
    assert PROTOBUF.decode((await api.ask("GET", f"{configs}/a", accept=GO)).body).value["data"] == {"key": "3"}


async def test_a_dry_run_is_answered_with_what_would_be(api: "Api", configs: str) -> None:
    await api.ask("GET", f"{configs}/a", accept=GO)
    patch, query = {"data": {"key": "dry"}}, "dryRun=All"
    dry = await api.ask("PATCH", f"{configs}/a?{query}", patch, media="application/merge-patch+json", accept=GO)
    assert PROTOBUF.decode(dry.body).value["data"] == {"key": "dry"}
    assert PROTOBUF.decode((await api.ask("GET", f"{configs}/a", accept=GO)).body).value["data"] == {"key": "1"}


async def test_a_page_of_a_list_tells_how_to_go_on(api: "Api", configs: str) -> None:
    await api.create(configs, {"metadata": {"name": "b"}})
    page = PROTOBUF.decode((await api.ask("GET", f"{configs}?limit=1", accept=GO)).body)
    assert (page.kind, len(page.value["items"])) == ("ConfigMapList", 1)
    assert page.value["metadata"]["continue"]


async def test_an_error_is_a_status(api: "Api", configs: str) -> None:
    answer = await api.ask("GET", f"{configs}/missing", accept=GO)
    status = PROTOBUF.decode(answer.body)
    assert (answer.status, answer.headers["Content-Type"]) == (404, MEDIA_TYPE)
    assert (status.kind, status.value["reason"], status.value["code"]) == ("Status", "NotFound", 404)


async def test_a_watch_frames_its_events(api: "Api", configs: str) -> None:
    start = (await api.get(configs))["metadata"]["resourceVersion"]
    await api.patch(f"{configs}/a", {"data": {"key": "4"}})
    await api.delete(f"{configs}/a")
    query = f"watch=1&resourceVersion={start}&timeoutSeconds=1&allowWatchBookmarks=true"
    answer = await api.ask("GET", f"{configs}?{query}", accept=f"{STREAM_MEDIA_TYPE},{MEDIA_TYPE}")
    assert answer.headers["Content-Type"] == STREAM_MEDIA_TYPE
    events = [(kind, PROTOBUF.decode(raw).value) for kind, raw in frames(answer.body)]
    assert [(kind, obj["metadata"]["name"], obj["data"]) for kind, obj in events] == [
        ("MODIFIED", "a", {"key": "4"}),
        ("DELETED", "a", {"key": "4"}),
    ]


async def test_the_beginning_of_a_watch_ends_with_a_bookmark(api: "Api", configs: str) -> None:
    query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    answer = await api.ask("GET", f"{configs}?{query}", accept=MEDIA_TYPE)
    *added, (kind, raw) = frames(answer.body)
    bookmark = PROTOBUF.decode(raw).value
    assert {kind for kind, _ in added} == {"ADDED"}
    assert (kind, bookmark["kind"]) == ("BOOKMARK", "ConfigMap")
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def frames(body: bytes) -> list[tuple[str, bytes]]:
    """The type of each event and the envelope of its object."""
    found = []
    while body:
        size = int.from_bytes(body[:4])
        event, body = body[4 : 4 + size], body[4 + size :]
        kind_size = event[1]
        kind, rest = event[2 : 2 + kind_size].decode(), event[2 + kind_size :]
        found.append((kind, rest[rest.index(b"k8s\0") :]))
    return found


@pytest.mark.parametrize("path", ["configmaps", "pods"])
async def test_metadata_alone_is_a_message_too(api: "Api", lab: str, configs: str, path: str) -> None:
    accept = f"{MEDIA_TYPE};{METADATA.replace('Metadata;', 'MetadataList;')}"
    whole = PROTOBUF.decode((await api.ask("GET", f"{lab}/{path}", accept=accept)).body)
    assert (whole.api_version, whole.kind) == ("meta.k8s.io/v1", "PartialObjectMetadataList")
    one = PROTOBUF.decode((await api.ask("GET", f"{configs}/a", accept=f"{MEDIA_TYPE};{METADATA}")).body).value
    assert one["metadata"] == (await api.get(f"{configs}/a"))["metadata"]
    assert "data" not in one


async def test_a_table_is_not(api: "Api", configs: str) -> None:
    table = "as=Table;g=meta.k8s.io;v=v1"
    answer = await api.ask("GET", configs, accept=f"{MEDIA_TYPE};{table},application/json;{table}")
    assert (answer.headers["Content-Type"], answer.json["kind"]) == ("application/json", "Table")
    assert (await api.ask("GET", configs, accept=f"{MEDIA_TYPE};{table}")).status == 406


async def test_kinds_without_messages_are_json_for_whoever_takes_it(api: "Api") -> None:
    answer = await api.ask("GET", CONTROL, accept=GO)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    refused = await api.ask("GET", CONTROL, accept=MEDIA_TYPE)
    assert refused.status == 406
    assert PROTOBUF.decode(refused.body).value["reason"] == "NotAcceptable"


async def test_their_metadata_is_a_message(api: "Api") -> None:
    name = (await api.get(CONTROL))["items"][0]["metadata"]["name"]
    answer = await api.ask("GET", f"{CONTROL}/{name}", accept=f"{MEDIA_TYPE};{METADATA}")
    assert PROTOBUF.decode(answer.body).value["metadata"]["name"] == name


async def test_custom_objects_are_json_for_whoever_takes_it(api: "Api") -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {
        "group": "example.com",
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Cluster",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await api.create(definitions, {"metadata": {"name": "things.example.com"}, "spec": spec})
    answer = await api.ask("POST", "/apis/example.com/v1/things", {
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "size": 3
    }, accept=GO)  # fmt: skip
    assert (answer.status, answer.headers["Content-Type"], answer.json["size"]) == (201, "application/json", 3)
    one = await api.ask("GET", "/apis/example.com/v1/things/t", accept=f"{MEDIA_TYPE};{METADATA},application/json")
    assert PROTOBUF.decode(one.body).value["metadata"]["name"] == "t"


async def test_discovery_is_a_message_for_whoever_prefers_it(api: "Api") -> None:
    found = PROTOBUF.decode((await api.ask("GET", "/apis/apps/v1", accept=GO)).body)
    assert (found.kind, found.value["groupVersion"]) == ("APIResourceList", "apps/v1")
    assert "deployments" in [one["name"] for one in found.value["resources"]]
    expected = GroupVersionKind("", "v1", "APIResourceList")
    core = PROTOBUF.decode((await api.ask("GET", "/api/v1", accept=GO)).body, expected)
    assert "pods" in [one["name"] for one in core.value["resources"]], "whose list names no apiVersion"
