"""The kind contract: every entry of the catalogue is discovered, created, read, listed, watched and deleted."""

from typing import TYPE_CHECKING, Any, Final

import pytest

from mockkube.api.catalogue import KINDS, KindInfo, is_stable_version
from mockkube.api.decoding.codec import Codec, DecodingState
from mockkube.api.protobuf.envelope import MEDIA_TYPE, ProtobufSerializer
from mockkube.api.schema import Schema
from mockkube.features.versions import DEFAULT

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api, Minimal

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")


SCHEMA: Final = Schema(DEFAULT)
CODEC: Final = Codec(SCHEMA)
PROTOBUF: Final = ProtobufSerializer(SCHEMA)
LATER: Final = {"csinodes/status"}
"""What only versions after the default one have."""


def served(kind: KindInfo) -> tuple[str, ...]:
    """The stable versions of a kind that the default version of Kubernetes has."""
    found = (version for version in kind.versions if SCHEMA.find_kind_type(kind.group, version, kind.kind))
    return tuple(version for version in found if is_stable_version(version))


STORED: Final = [
    pytest.param(kind, version, id=f"{kind.group or 'core'}/{version}/{kind.plural}")
    for kind in KINDS
    for version in served(kind)
    if "create" in kind.verbs and "get" in kind.verbs
]


def path_of(kind: KindInfo, version: str, namespace: str) -> str:
    """Where objects of a kind are created."""
    root = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
    return f"{root}/namespaces/{namespace}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


@pytest.mark.parametrize(("kind", "version"), STORED)
async def test_every_kind_can_be_created_read_listed_watched_and_deleted(
    api: "Api", lab: str, minimal: "Minimal", kind: KindInfo, version: str
) -> None:
    namespace = lab.rpartition("/")[2]
    path, body = path_of(kind, version, namespace), minimal(kind, version, namespace)
    name = body["metadata"]["name"]
    start = (await api.get(path))["metadata"]["resourceVersion"]
    created = await api.create(f"{path}?fieldValidation=Strict", body)
    if kind.kind == "CustomResourceDefinition":
        created = await established(api, f"{path}/{name}", created["metadata"]["resourceVersion"])
    listed = await api.get(path)
    assert (created["kind"], created["apiVersion"]) == (kind.kind, body["apiVersion"])
    assert await api.get(f"{path}/{name}") == created
    assert listed["kind"] == kind.list_kind
    assert [item for item in listed["items"] if item["metadata"]["name"] == name] == [without_kind(created)]
    noted = await api.patch(f"{path}/{name}", {"metadata": {"annotations": {"k": "v"}}})
    assert {**noted, "metadata": None} == {**created, "metadata": None}
    await api.delete(f"{path}/{name}?gracePeriodSeconds=0")
    await unhold(api, f"{path}/{name}")
    assert (await api.ask("GET", f"{path}/{name}")).status == 404
    async with api.watch(path, f"resourceVersion={start}&fieldSelector=metadata.name%3D{name}") as watch:
        seen = [await watch.next()]
        while seen[-1] != ("MODIFIED", noted):
            seen.append(await watch.next())
        assert seen[0][0] == "ADDED"
        assert created in [obj for _, obj in seen]


@pytest.mark.parametrize(("kind", "version"), STORED)
async def test_every_kind_says_the_same_in_protobuf_as_in_json(
    api: "Api", lab: str, minimal: "Minimal", kind: KindInfo, version: str
) -> None:
    namespace = lab.rpartition("/")[2]
    path, body = path_of(kind, version, namespace), minimal(kind, version, namespace)
    name = body["metadata"]["name"]
    created = await api.ask(
        "POST", path, PROTOBUF.encode(body), media=MEDIA_TYPE, accept=f"{MEDIA_TYPE},application/json"
    )
    assert (created.status, created.headers["Content-Type"]) == (201, MEDIA_TYPE), created.body
    one, whole = [await api.ask("GET", at, accept=MEDIA_TYPE) for at in (f"{path}/{name}", path)]
    assert as_json(one.body) == await api.get(f"{path}/{name}")
    assert as_json(whole.body)["items"] == (await api.get(path))["items"]
    gone = await api.ask("DELETE", f"{path}/{name}?gracePeriodSeconds=0", accept=MEDIA_TYPE)
    assert as_json(gone.body)["kind"] in (kind.kind, "Status")
    await unhold(api, f"{path}/{name}")


def as_json(message: bytes) -> Object:
    """What a message says, as the server would write it in JSON."""
    read = PROTOBUF.decode(message)
    group, _, version = read.api_version.rpartition("/")
    node = SCHEMA.find_kind_type(group, version, read.kind)
    assert node is not None
    return {"kind": read.kind, "apiVersion": read.api_version, **CODEC.decode(node, read.value, DecodingState())}


async def established(api: "Api", path: str, since: str) -> Object:
    """The definition once it is served."""
    collection, _, name = path.rpartition("/")
    async with api.watch(collection, f"resourceVersion={since}&fieldSelector=metadata.name%3D{name}") as watch:
        while True:
            _, obj = await watch.next()
            if any(one["type"] == "Established" for one in obj["status"].get("conditions") or ()):
                return obj


def without_kind(obj: Object) -> Object:
    """The object as it stands in a list."""
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


async def unhold(api: "Api", path: str) -> None:
    """Do what a controller would before the object may go."""
    answer = await api.ask("GET", path)
    if answer.status == 404:
        return
    if answer.json["kind"] == "Namespace":
        await api.ask("PUT", f"{path}/finalize", {**answer.json, "spec": {}})
    else:
        await api.patch(path, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize(("kind", "version"), STORED)
async def test_every_kind_has_a_table(api: "Api", kind: KindInfo, version: str) -> None:
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    answer = await api.ask("GET", path_of(kind, version, "default"), accept=accept)
    assert answer.status == 200
    assert answer.json["columnDefinitions"][0]["name"] in ("Name", "Last Seen")


@pytest.mark.parametrize("kind", [pytest.param(kind, id=f"{kind.group or 'core'}/{kind.plural}") for kind in KINDS])
async def test_every_kind_is_discovered_as_the_catalogue_says(api: "Api", kind: KindInfo) -> None:
    for version in served(kind):
        root = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
        resources = {one["name"]: one for one in (await api.get(root))["resources"]}
        entry = resources[kind.plural]
        assert (entry["kind"], entry["namespaced"]) == (kind.kind, kind.namespaced)
        assert entry["verbs"] == sorted(kind.verbs)
        assert entry.get("shortNames", []) == list(kind.short_names)
        assert {f"{kind.plural}/{sub.name}" for sub in kind.subresources} - LATER <= set(resources)


async def test_both_forms_of_discovery_say_the_same(api: "Api") -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    items = [item for root in ("/api", "/apis") for item in (await api.ask("GET", root, accept=accept)).json["items"]]
    for item in items:
        group = item["metadata"].get("name", "")
        for version in item["versions"]:
            path = f"/apis/{group}/{version['version']}" if group else f"/api/{version['version']}"
            legacy = {one["name"]: one["verbs"] for one in (await api.get(path))["resources"] if "/" not in one["name"]}
            assert legacy == {one["resource"]: one["verbs"] for one in version["resources"]}
    groups = [group["name"] for group in (await api.get("/apis"))["groups"]]
    assert groups == [item["metadata"]["name"] for item in items if item["metadata"]]
