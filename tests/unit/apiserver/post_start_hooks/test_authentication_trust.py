import asyncio
import contextlib

from mockkube.apiserver.identity.user import User
from mockkube.apiserver.post_start_hooks.authentication_trust import (
    NAME,
    NAMESPACE,
    AuthenticationTrustController,
    front_proxy_data,
)
from mockkube.apiserver.registry import deletion, updating
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

DATA = {"client-ca-file": "PEM", **front_proxy_data("PROXY", "front-proxy-client")}
CALL = RequestScope(User("somebody"), NAMESPACE, NAME)


@contextlib.asynccontextmanager
async def running(registry, data):
    made = AuthenticationTrustController(registry, data)
    await made.start()
    task = asyncio.create_task(made.queue.run())
    yield made
    made.stop()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def rest(made):
    for _ in range(100):
        await asyncio.sleep(0)
        if not made.queue.is_busy:
            return
    raise AssertionError("it does not come to rest")


def stored(registry):
    record = registry.find_storage_resource("", "configmaps").get_cached(NAMESPACE, NAME)
    return None if record is None else record.load()["data"]


def test_a_front_proxy_is_told_of_as_servers_read_it():
    assert DATA["requestheader-allowed-names"] == '["front-proxy-client"]'
    assert DATA["requestheader-username-headers"] == '["X-Remote-User"]'
    assert DATA["requestheader-client-ca-file"] == "PROXY"


async def test_it_is_there_and_comes_back(registry):
    async with running(registry, DATA) as made:
        assert stored(registry) == DATA
        await deletion.delete(registry.find_storage_resource("", "configmaps"), CALL, DeleteOptions())
        await rest(made)
        assert stored(registry) == DATA


async def test_it_is_mended_and_other_keys_stay(registry):
    async with running(registry, DATA) as made:
        change = {"client-ca-file": "other", "mine": "too"}
        home = registry.find_storage_resource("", "configmaps")
        await updating.update(home, CALL, lambda now: {**now, "data": change}, WriteOptions())
        await rest(made)
        assert stored(registry) == {**DATA, "mine": "too"}


async def test_without_anything_to_tell_there_is_nothing(registry):
    async with running(registry, {}):
        assert stored(registry) is None
