import asyncio
import contextlib

import pytest

from mockkube.apiserver.identity.user import User
from mockkube.apiserver.post_start_hooks.namespace_defaults import NamespaceDefaults
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

USER = User("somebody")


async def make_namespace(registry, name):
    home = registry.find_storage_resource("", "namespaces")
    obj = home.decode({"metadata": {"name": name}}, RequestScope(USER), "Strict")
    await creation.create(home, RequestScope(USER), obj, WriteOptions())


async def delete(registry, plural, namespace, name):
    await deletion.delete(
        registry.find_storage_resource("", plural), RequestScope(USER, namespace, name), DeleteOptions()
    )


def account(registry, namespace):
    return registry.find_storage_resource("", "serviceaccounts").get_cached(namespace, "default")


def authority(registry, namespace):
    record = registry.find_storage_resource("", "configmaps").get_cached(namespace, "kube-root-ca.crt")
    return record.load()["data"] if record is not None else None


@pytest.fixture
async def accounts(registry):
    """Accounts that run."""
    made = NamespaceDefaults(registry, "PEM")
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert not registry.find_storage_resource("", "namespaces").collection.listeners


async def until(condition):
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come to pass")


async def test_a_namespace_has_an_account_and_an_authority_at_once(registry):
    await make_namespace(registry, "a")
    await NamespaceDefaults(registry, "PEM").sync("a")
    assert account(registry, "a") is not None
    assert authority(registry, "a") == {"ca.crt": "PEM"}


async def test_ensuring_twice_changes_nothing(registry):
    await make_namespace(registry, "a")
    await NamespaceDefaults(registry, "PEM").sync("a")
    revision = registry.dependencies.store.revision
    await NamespaceDefaults(registry, "PEM").sync("a")
    assert registry.dependencies.store.revision == revision


async def test_a_namespace_that_is_going_gets_nothing(registry):
    await make_namespace(registry, "a")
    await delete(registry, "namespaces", "", "a")
    await NamespaceDefaults(registry).sync("a")
    assert account(registry, "a") is None


async def test_namespaces_there_before_and_made_later_are_seen_to(registry, accounts):
    await make_namespace(registry, "a")
    await until(lambda: authority(registry, "a") is not None)
    assert account(registry, "a") is not None


async def test_what_is_deleted_comes_back(registry, accounts):
    await make_namespace(registry, "a")
    await until(lambda: authority(registry, "a") is not None)
    await delete(registry, "serviceaccounts", "a", "default")
    await delete(registry, "configmaps", "a", "kube-root-ca.crt")
    await until(lambda: account(registry, "a") is not None and authority(registry, "a") is not None)


async def test_an_authority_somebody_changed_is_corrected(registry, accounts):
    await make_namespace(registry, "a")
    await until(lambda: authority(registry, "a") is not None)

    def spoil(current):
        return {**current, "data": {"ca.crt": "other"}}

    call = RequestScope(USER, "a", "kube-root-ca.crt")
    await updating.update(registry.find_storage_resource("", "configmaps"), call, spoil, WriteOptions())
    await until(lambda: authority(registry, "a") == {"ca.crt": "PEM"})
