"""Components of the server's process are judged like anybody else, and see what their version knows."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from mockkube_storage import errors as store_errors
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.model import Entry

from mockkube.api.errors import AlreadyExists, Expired, Forbidden, Internal, Invalid, NotFound, Unavailable
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.local.kind_view import REPLACED_MAX, UNSHARED_MAX
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType
from mockkube.apiserver.registry.watching import PENDING_MAX
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.client.identity import controller, controller_manager, kubelet, scheduler
from mockkube.client.protocol import EVERYTHING, Key, Selection, WatchEnded
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.features.versions import DEFAULT, Version
from mockkube.proposals.component_extensions import make_schema
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random

POD = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
BINDING = {"metadata": {"name": "p", "namespace": "default"}, "target": {"kind": "Node", "name": "n1"}}
P = Key("default", "p")


class FragileStore(MemoryStore):
    """A store whose database may break."""

    failure: Exception | None = None

    async def create(self, key: str, value: bytes) -> Entry:
        if self.failure is not None:
            raise self.failure
        return await super().create(key, value)


@pytest.fixture
async def store() -> AsyncIterator[FragileStore]:
    async with FragileStore() as opened:
        yield opened


@pytest.fixture
async def server(store: FragileStore) -> AsyncIterator[ApiServer]:
    options = ApiServerOptions(Authenticator({}), disable_admission=("ServiceAccount",))
    made = ApiServer(store=store, options=options, clock=RealClock(), random=Random.from_seed(1, "server"))
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def door(server: ApiServer) -> LocalEndpoint:
    opened = LocalEndpoint()
    opened.open(server)
    return opened


@pytest.fixture
def client(door: LocalEndpoint) -> LocalClient:
    return LocalClient(door, controller_manager(DEFAULT))


async def test_a_scheduler_may_bind_and_no_more(client: LocalClient, door: LocalEndpoint) -> None:
    await client.create("Pod", POD)
    own = LocalClient(door, scheduler(DEFAULT))
    await own.create("Pod", BINDING, subresource="binding")
    why = 'User "system:kube-scheduler" cannot delete resource "nodes" in API group "" at the cluster scope'
    with pytest.raises(Forbidden, match=why):
        await own.delete("Node", Key("", "n1"))


async def test_a_kubelet_may_renew_its_own_lease(door: LocalEndpoint) -> None:
    own = LocalClient(door, kubelet("n1", DEFAULT))
    assert await own.create("Lease", {"metadata": {"name": "n1", "namespace": "kube-node-lease"}})
    with pytest.raises(Forbidden):
        await own.patch("Lease", Key("kube-node-lease", "n2"), {"spec": {"holderIdentity": "n1"}})


async def test_a_kubelet_may_list_the_pods_of_its_node(client: LocalClient, door: LocalEndpoint) -> None:
    await client.create("Pod", POD)
    await client.create("Pod", BINDING, subresource="binding")
    own = LocalClient(door, kubelet("n1", DEFAULT))
    assert len((await own.list("Pod", Selection(fields="spec.nodeName=n1"))).items) == 1
    with pytest.raises(Forbidden):
        await own.list("Pod")


async def test_a_controller_may_do_what_its_role_says(client: LocalClient, door: LocalEndpoint) -> None:
    await client.create("Pod", POD)
    own = LocalClient(door, controller("replicaset-controller", DEFAULT))
    await own.delete("Pod", P)
    with pytest.raises(Forbidden):
        await own.list("Secret")


async def test_requests_are_counted(client: LocalClient, server: ApiServer) -> None:
    await client.create("Pod", POD)
    with pytest.raises(NotFound):
        await client.get("Pod", Key("default", "q"))
    text = server.metrics.render().decode()
    labels = 'dry_run="",group="",resource="pods",scope="{}",subresource="",verb="{}",version="v1"'
    for code, scope, verb in (("201", "resource", "POST"), ("404", "resource", "GET")):
        assert f'apiserver_request_total{{code="{code}",{labels.format(scope, verb)}}} 1' in text


async def test_each_of_many_creations_is_answered_and_counted(client: LocalClient, server: ApiServer) -> None:
    objects = [{"metadata": {"name": name, "namespace": namespace}} for name, namespace in MANY]
    created, again, invalid, elsewhere, homeless = await client.create_all("ConfigMap", objects)
    assert created is elsewhere is None
    assert isinstance(again, AlreadyExists)
    assert isinstance(invalid, Invalid)
    assert isinstance(homeless, NotFound)
    shown = server.metrics.render().decode()
    labels = 'dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"'
    for code, count in ((201, 2), (409, 1), (422, 1), (404, 1)):
        assert f'apiserver_request_total{{code="{code}",{labels}}} {count}\n' in shown


MANY = (("a", "default"), ("a", "default"), ("A", "default"), ("a", "kube-system"), ("a", "nowhere"))


async def test_who_may_not_create_objects_creates_none_of_many(door: LocalEndpoint, server: ApiServer) -> None:
    own = LocalClient(door, scheduler(DEFAULT))
    errors = await own.create_all("ConfigMap", [{"metadata": {"name": name, "namespace": "default"}} for name in "ab"])
    assert [type(error) for error in errors] == [Forbidden, Forbidden]
    counted = [line for line in server.metrics.render().decode().splitlines() if 'code="403"' in line]
    assert [line.rpartition(" ")[2] for line in counted] == ["2"]


async def test_a_store_that_fails_in_the_middle_fails_the_creations_that_follow(
    client: LocalClient, store: FragileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = [{"metadata": {"name": name, "namespace": "default"}} for name in "abc"]
    create, failures = store.create, {"b": store_errors.Unavailable("db", "gone"), "c": KeyError("a bug")}

    async def fail(key: str, value: bytes) -> Entry:
        store.failure = failures.get(key[-1])
        return await create(key, value)

    monkeypatch.setattr(store, "create", fail)
    errors = await client.create_all("ConfigMap", objects)
    assert [type(error) for error in errors] == [type(None), Unavailable, Internal]


async def test_a_store_that_fails_makes_the_server_unavailable(client: LocalClient, store: FragileStore) -> None:
    store.failure = store_errors.Unavailable("x", "the database is away")
    with pytest.raises(Unavailable, match="the database is away"):
        await client.create("Pod", POD)


async def test_a_bug_of_the_server_is_logged_and_told_as_such(
    client: LocalClient, store: FragileStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.failure = ZeroDivisionError("a bug")
    with pytest.raises(Internal, match="an unexpected error"):
        await client.create("Pod", POD)
    assert "ZeroDivisionError: a bug" in caplog.text


async def test_what_was_read_once_is_shared_by_all_of_a_version(client: LocalClient, door: LocalEndpoint) -> None:
    await client.create("Pod", POD)
    present, older = VersionedDecoder(make_schema(DEFAULT)), VersionedDecoder(make_schema(Version(1, 33)))
    whole, same, first, second = [
        await LocalClient(door, controller_manager(DEFAULT), sight).get("Pod", P)
        for sight in (present, VersionedDecoder(make_schema(DEFAULT)), older, older)
    ]
    assert whole is same
    assert first is second
    assert first is not whole


@pytest.mark.parametrize("version", [DEFAULT, Version(1, 33)])
async def test_components_read_no_managed_fields_and_keep_them_when_they_write(
    client: LocalClient, door: LocalEndpoint, version: Version
) -> None:
    await client.create("Pod", POD)
    component = LocalClient(door, controller_manager(version), VersionedDecoder(make_schema(version)))
    read = await component.get("Pod", P)
    assert "managedFields" not in read["metadata"]
    await component.update("Pod", {**read, "metadata": {**read["metadata"], "labels": {"a": "b"}}})
    stored = await client.get("Pod", P)
    (managed,) = stored["metadata"]["managedFields"]
    assert "f:containers" in managed["fieldsV1"]["f:spec"]
    assert managed["fieldsV1"]["f:metadata"] == {"f:labels": {".": {}, "f:a": {}}}


async def test_what_was_replaced_is_soon_forgotten(client: LocalClient, door: LocalEndpoint) -> None:
    await client.create("Pod", POD)
    watch = await client.watch("Pod", EVERYTHING, "")
    for number in range(3 * REPLACED_MAX):
        await client.patch("Pod", P, {"metadata": {"labels": {"number": str(number)}}})
    view = door.get_server().get_view("Pod", None)
    assert len(view) <= 2 * REPLACED_MAX + 1
    newest = watch.take()[-1].object
    assert newest is await client.get("Pod", P)


async def test_replaced_objects_are_forgotten_when_every_watcher_has_received_them(
    client: LocalClient, door: LocalEndpoint
) -> None:
    await client.create("Pod", POD)
    fast, slow = await client.watch("Pod", EVERYTHING, ""), await client.watch("Pod", EVERYTHING, "")
    view = door.get_server().get_view("Pod", None)
    for number in range(REPLACED_MAX):
        await client.patch("Pod", P, {"metadata": {"labels": {"number": str(number)}}})
        fast.take()
    assert len(view) >= REPLACED_MAX
    assert slow.take()[-1].object is await client.get("Pod", P)
    assert len(view) == 1


async def test_objects_that_stay_share_equal_parts(client: LocalClient, door: LocalEndpoint) -> None:
    watch = await client.watch("Pod", EVERYTHING, "")
    for number in range(UNSHARED_MAX + 2):
        await client.create("Pod", {**POD, "metadata": {**POD["metadata"], "name": f"p{number}"}})
    events = watch.take()
    first, second, *_, last = (event.object for event in events)
    assert first["spec"] is second["spec"]
    assert first["spec"] == last["spec"]
    assert first["spec"] is not last["spec"], "it may be replaced soon"
    assert door.get_server().find_mutated_objects() == []


async def test_what_nobody_follows_is_forgotten_though_it_is_current(client: LocalClient, door: LocalEndpoint) -> None:
    for number in range(3 * REPLACED_MAX):
        await client.create("ConfigMap", {"metadata": {"name": f"c{number}", "namespace": "default"}})
    view = door.get_server().get_view("ConfigMap", None)
    assert len(view) <= 2 * REPLACED_MAX
    watch = await client.watch("ConfigMap", EVERYTHING, "")
    listed = (await client.list("ConfigMap")).items
    again = (await client.list("ConfigMap")).items
    assert all(one is other for one, other in zip(listed, again, strict=True))
    await watch.close()


async def test_who_changes_in_place_what_all_share_is_found_out(client: LocalClient, door: LocalEndpoint) -> None:
    await client.create("Pod", POD)
    seen = await client.get("Pod", P)
    assert door.get_server().find_mutated_objects() == []
    seen["spec"]["nodeName"] = "n1"
    assert door.get_server().find_mutated_objects() == ["/registry/core/pods/default/p"]


async def test_a_watch_that_ends_says_how_far_the_server_had_come(client: LocalClient, door: LocalEndpoint) -> None:
    watch = await client.watch("Pod", EVERYTHING, (await client.list("Pod")).resource_version)
    await client.create("Namespace", {"metadata": {"name": "other"}})
    reached = (await client.list("Pod")).resource_version
    door.close()
    with pytest.raises(WatchEnded) as caught:
        watch.take()
    assert caught.value.resource_version == reached


async def test_custom_resources_are_served_when_they_are_there(client: LocalClient, door: LocalEndpoint) -> None:
    older = LocalClient(door, controller_manager(DEFAULT), VersionedDecoder(make_schema(Version(1, 33))))
    with pytest.raises(NotFound):
        await older.list("Widget")
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    }  # fmt: skip
    await client.create("CustomResourceDefinition", {"metadata": {"name": "widgets.example.com"}, "spec": spec})
    await older.create("Widget", {"metadata": {"name": "w", "namespace": "default"}, "any": "thing"})
    assert [item["any"] for item in (await older.list("Widget.example.com")).items] == ["thing"]


async def test_requests_in_hand_are_answered_before_the_door_counts_as_empty(
    client: LocalClient, door: LocalEndpoint
) -> None:
    async with asyncio.TaskGroup() as group:
        creating = group.create_task(client.create("Pod", POD))
        await asyncio.sleep(0)
        door.close()
        await door.wait_until_idle()
        await asyncio.sleep(0)
        assert creating.done()
    with pytest.raises(Unavailable):
        await client.get("Pod", P)


async def test_a_client_outlives_its_server(client: LocalClient, door: LocalEndpoint, server: ApiServer) -> None:
    await client.create("Pod", POD)
    door.close()
    door.open(server)
    assert await client.get("Pod", P)


async def test_who_falls_too_far_behind_is_told_to_list_anew(client: LocalClient, server: ApiServer) -> None:
    watch = await client.watch("Pod", EVERYTHING, (await client.list("Pod")).resource_version)
    await client.create("Pod", POD)
    pods = server.registry.find_storage_resource("", "pods")
    assert pods is not None
    record = pods.get_cached("default", "p")
    assert record is not None
    for _ in range(PENDING_MAX):
        for listener in tuple(pods.collection.listeners):
            listener(CacheChange(ChangeType.MODIFIED, record.revision, record, record))
    with pytest.raises(Expired):
        watch.take()
