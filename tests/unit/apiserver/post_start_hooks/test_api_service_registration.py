import asyncio
import contextlib

from mockkube.apiserver.identity.user import User
from mockkube.apiserver.post_start_hooks.api_service_registration import (
    API_SERVICES,
    AUTOMANAGED_LABEL,
    ApiServiceRegistration,
)
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.creation import CRDS
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

USER = User("somebody")


def definition(*versions):
    schema = {"openAPIV3Schema": {"type": "object"}}
    listed = [{"name": name, "served": served, "storage": i == 0, "schema": schema} for i, (name, served) in versions]
    names = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": listed}
    return {"metadata": {"name": "foos.example.com"}, "spec": spec}


async def create(registry, kind, obj):
    home = registry.find_storage_resource(*kind)
    call = RequestScope(USER)
    await creation.create(home, call, home.decode(obj, call, "Strict"), WriteOptions())


async def delete(registry, name):
    await deletion.delete(registry.find_storage_resource(*API_SERVICES), RequestScope(USER, name=name), DeleteOptions())


async def change(registry, name, **spec):
    home, call = registry.find_storage_resource(*API_SERVICES), RequestScope(USER, name=name)
    await updating.update(home, call, lambda now: {**now, "spec": {**now["spec"], **spec}}, WriteOptions())


def stored(registry, name):
    record = registry.find_storage_resource(*API_SERVICES).get_cached("", name)
    return record.load() if record is not None else None


async def rest(registrations):
    for _ in range(100):
        await asyncio.sleep(0)
        if not registrations.queue.is_busy:
            return
    raise AssertionError("it does not come to rest")


@contextlib.asynccontextmanager
async def running(registry):
    made = ApiServiceRegistration(registry)
    await made.start()
    task = asyncio.create_task(made.queue.run())
    await asyncio.sleep(0)
    yield made
    made.stop()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert not registry.find_storage_resource(*API_SERVICES).collection.listeners


async def test_each_version_of_a_built_in_group_is_announced(registry):
    async with running(registry):
        apps = stored(registry, "v1.apps")
        assert apps["spec"] == {"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15}
        assert apps["metadata"]["labels"] == {AUTOMANAGED_LABEL: "onstart"}
        [available] = apps["status"]["conditions"]
        assert (available["type"], available["status"], available["reason"]) == ("Available", "True", "Local")
        assert "group" not in stored(registry, "v1.")["spec"]
        assert stored(registry, "v2.autoscaling") is not None
        assert stored(registry, "v1beta1.resource.k8s.io") is None, "that version is not served"


async def test_what_was_made_on_start_is_whoevers_from_then_on(registry):
    async with running(registry) as registrations:
        await delete(registry, "v1.apps")
        await change(registry, "v1.policy", versionPriority=3)
        await rest(registrations)
        assert stored(registry, "v1.apps") is None
        assert stored(registry, "v1.policy")["spec"]["versionPriority"] == 3


async def test_the_next_start_makes_it_anew(registry):
    async with running(registry):
        await delete(registry, "v1.apps")
        await change(registry, "v1.policy", versionPriority=3)
    async with running(registry):
        assert stored(registry, "v1.apps") is not None
        assert stored(registry, "v1.policy")["spec"]["versionPriority"] == 15


async def test_the_next_start_takes_away_what_is_served_no_longer(registry):
    spec = {"group": "gone.k8s.io", "version": "v1", "groupPriorityMinimum": 9, "versionPriority": 9}
    for name, labels in (("v1", {AUTOMANAGED_LABEL: "onstart"}), ("v2", {})):
        obj = {"metadata": {"name": f"{name}.gone.k8s.io", "labels": labels}, "spec": {**spec, "version": name}}
        await create(registry, API_SERVICES, obj)
    async with running(registry):
        assert stored(registry, "v1.gone.k8s.io") is None
        assert stored(registry, "v2.gone.k8s.io") is not None, "somebody else's"


async def test_those_of_definitions_come_and_go_and_are_kept(registry):
    async with running(registry) as registrations:
        await create(registry, CRDS, definition(*enumerate([("v1", True), ("v2", False)])))
        await rest(registrations)
        made = stored(registry, "v1.example.com")
        assert made["metadata"]["labels"] == {AUTOMANAGED_LABEL: "true"}
        assert (made["spec"]["groupPriorityMinimum"], made["spec"]["versionPriority"]) == (1000, 100)
        assert stored(registry, "v2.example.com") is None
        await change(registry, "v1.example.com", versionPriority=3)
        await rest(registrations)
        assert stored(registry, "v1.example.com")["spec"]["versionPriority"] == 100
        await delete(registry, "v1.example.com")
        await rest(registrations)
        assert stored(registry, "v1.example.com") is not None
        home = registry.find_storage_resource(*CRDS)
        record = home.get_cached("", "foos.example.com")
        await registry.dependencies.store.delete(record.key, expected=record.revision)
        await registry.dependencies.watch_cache.wait_until_at(registry.dependencies.store.revision)
        await rest(registrations)
        assert stored(registry, "v1.example.com") is None


async def test_another_server_of_the_cluster_changes_nothing(registry):
    async with running(registry):
        revision = registry.dependencies.store.revision
        beside = ApiServiceRegistration(registry)
        await beside.start()
        assert registry.dependencies.store.revision == revision
        beside.stop()
