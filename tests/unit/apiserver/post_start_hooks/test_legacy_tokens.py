import asyncio
import base64
import contextlib

import pytest

from mockkube.apiserver.authentication.legacy_tokens import INVALID_SINCE_LABEL
from mockkube.apiserver.authentication.service_account_authenticator import ServiceAccountTokenAuthenticator
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.apiserver.identity.user import DEFAULT_AUDIENCE, InvalidCredentials, User
from mockkube.apiserver.post_start_hooks.legacy_tokens import LAST_USED_LABEL, TOKEN_SECRET_TYPE, LegacyTokenController
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

USER = User("somebody")


async def create(registry, plural, obj, namespace="ns"):
    home, call = registry.find_storage_resource("", plural), RequestScope(USER, namespace)
    return (await creation.create(home, call, home.decode(obj, call, "Strict"), WriteOptions())).load()


async def make_account(registry, name="robot"):
    return await create(registry, "serviceaccounts", {"metadata": {"name": name}})


async def make_secret(registry, account="robot", **data):
    metadata = {"name": "kept", "annotations": {"kubernetes.io/service-account.name": account}}
    return await create(registry, "secrets", {"metadata": metadata, "type": TOKEN_SECRET_TYPE, "data": data})


async def change(registry, plural, name, **changed):
    call = RequestScope(USER, "ns", name)
    await updating.update(
        registry.find_storage_resource("", plural), call, lambda now: {**now, **changed}, WriteOptions()
    )


async def delete(registry, plural, name):
    await deletion.delete(registry.find_storage_resource("", plural), RequestScope(USER, "ns", name), DeleteOptions())


def stored(registry, plural, name):
    record = registry.find_storage_resource("", plural).get_cached("ns", name)
    return record.load() if record is not None else None


def decoded(secret, key):
    return base64.b64decode(secret["data"][key]).decode()


@contextlib.asynccontextmanager
async def running(registry):
    made = LegacyTokenController(registry, "PEM")
    made.start()
    rounds = (made.secret_queue, made.reference_queue, made.use_queue)
    tasks = [asyncio.create_task(one.run()) for one in rounds]
    yield made
    made.stop()
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def rest(tokens):
    for _ in range(100):
        await asyncio.sleep(0)
        if not any(one.is_busy for one in (tokens.secret_queue, tokens.reference_queue, tokens.use_queue)):
            return
    raise AssertionError("it does not come to rest")


async def test_a_secret_gets_token_certificate_and_namespace(registry):
    async with running(registry) as tokens:
        account = await make_account(registry)
        await make_secret(registry)
        await rest(tokens)
        secret = stored(registry, "secrets", "kept")
        assert decoded(secret, "ca.crt") == "PEM"
        assert decoded(secret, "namespace") == "ns"
        assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == account["metadata"]["uid"]
        reviewed = ServiceAccountTokenAuthenticator(registry)(decoded(secret, "token"), (DEFAULT_AUDIENCE,))
        assert reviewed is not None
        assert reviewed.user.name == "system:serviceaccount:ns:robot"
        assert reviewed.user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns")


async def test_what_is_there_is_left_alone(registry):
    async with running(registry) as tokens:
        await make_account(registry)
        await make_secret(registry)
        await rest(tokens)
        revision = registry.dependencies.store.revision
    async with running(registry) as tokens:
        await rest(tokens)
        assert registry.dependencies.store.revision == revision


async def test_a_token_of_a_key_that_is_lost_is_replaced(registry):
    account = await make_account(registry)
    lost = TokenIssuer().issue_legacy(account, "kept")
    await make_secret(registry, token=base64.b64encode(lost.encode()).decode())
    async with running(registry) as tokens:
        await rest(tokens)
        assert decoded(stored(registry, "secrets", "kept"), "token") != lost


async def test_a_secret_of_nobody_is_deleted(registry):
    async with running(registry) as tokens:
        await make_secret(registry, "nobody")
        await rest(tokens)
        assert stored(registry, "secrets", "kept") is None


async def test_a_secret_may_say_what_no_account_can_be_called(registry):
    async with running(registry) as tokens:
        await make_secret(registry, "a/b")
        await rest(tokens)
        assert stored(registry, "secrets", "kept") is None


async def test_a_secret_goes_with_its_account(registry):
    async with running(registry) as tokens:
        await make_account(registry)
        await make_secret(registry)
        await rest(tokens)
        await delete(registry, "serviceaccounts", "robot")
        await rest(tokens)
        assert stored(registry, "secrets", "kept") is None


async def test_an_account_forgets_a_secret_that_is_gone(registry):
    async with running(registry) as tokens:
        await make_account(registry)
        await make_secret(registry)
        await change(registry, "serviceaccounts", "robot", secrets=[{"name": "kept"}, {"name": "other"}])
        await rest(tokens)
        await delete(registry, "secrets", "kept")
        await rest(tokens)
        assert stored(registry, "serviceaccounts", "robot")["secrets"] == [{"name": "other"}]


async def test_the_day_of_use_is_noted(registry):
    async with running(registry) as tokens:
        await make_account(registry)
        await make_secret(registry)
        await rest(tokens)
        review = ServiceAccountTokenAuthenticator(registry, tokens.record_use)
        review(decoded(stored(registry, "secrets", "kept"), "token"), (DEFAULT_AUDIENCE,))
        await rest(tokens)
        today = f"{registry.dependencies.clock.now():%Y-%m-%d}"
        assert stored(registry, "secrets", "kept")["metadata"]["labels"] == {LAST_USED_LABEL: today}


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        pytest.param(
            lambda registry: delete(registry, "secrets", "kept"), "Token has been invalidated", id="the secret is gone"
        ),
        pytest.param(
            lambda registry: change(registry, "secrets", "kept", data={"token": "AAAA"}),
            "Token does not match server's copy",
            id="the secret keeps another",
        ),
    ],
)
async def test_a_token_is_good_as_long_as_its_secret_keeps_it(registry, spoil, why):
    async with running(registry) as tokens:
        await make_account(registry)
        await make_secret(registry)
        await rest(tokens)
        token = decoded(stored(registry, "secrets", "kept"), "token")
    await spoil(registry)
    with pytest.raises(InvalidCredentials, match=why):
        ServiceAccountTokenAuthenticator(registry)(token, (DEFAULT_AUDIENCE,))


async def test_a_token_marked_invalid_is_refused(registry):
    async with running(registry) as tokens:
        await make_account(registry)
        await make_secret(registry)
        await rest(tokens)
        secret = stored(registry, "secrets", "kept")
        labelled = {**secret["metadata"], "labels": {INVALID_SINCE_LABEL: "2026-01-01"}}
        await change(registry, "secrets", "kept", metadata=labelled)
        with pytest.raises(InvalidCredentials, match=r"the token in secret ns/kept for service account ns/robot"):
            ServiceAccountTokenAuthenticator(registry)(decoded(secret, "token"), (DEFAULT_AUDIENCE,))
