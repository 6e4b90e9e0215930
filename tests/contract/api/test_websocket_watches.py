"""Watches over WebSockets, as web pages such as Headlamp open them."""

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from aiohttp import WSMsgType

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
PAGE = "https://dashboard.example"


def connect(api: "Api", path: str, *protocols: str, **options: Any) -> Any:
    url = api.url.replace("http", "ws", 1) + path
    return api.session.ws_connect(url, protocols=protocols, origin=options.pop("origin", api.url), **options)


async def receive(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    async with asyncio.timeout(10):
        message = await socket.receive()
    assert message.type is WSMsgType.TEXT
    assert message.data.endswith("\n")
    return dict(json.loads(message.data))


@pytest.mark.parametrize("protocols", [(), ("base64.binary.k8s.io",)], ids=["no subprotocol", "one subprotocol"])
async def test_each_event_is_a_message(api: "Api", lab: str, protocols: tuple[str, ...]) -> None:
    await api.create(f"{lab}/secrets", {"metadata": {"name": "before"}})
    async with connect(api, f"{lab}/secrets?watch=1&resourceVersion=0", *protocols) as socket:
        assert socket.protocol == (protocols[0] if protocols else None)
        for name in ("one", "two"):
            await api.create(f"{lab}/secrets", {"metadata": {"name": name}})
        events = [await receive(socket) for _ in range(3)]
    assert sorted((one["type"], one["object"]["metadata"]["name"]) for one in events) == [
        ("ADDED", "before"),
        ("ADDED", "one"),
        ("ADDED", "two"),
    ]


async def test_the_server_ends_it_after_its_timeout(api: "Api", lab: str) -> None:
    async with connect(api, f"{lab}/secrets?watch=1&timeoutSeconds=1") as socket:
        async with asyncio.timeout(10):
            assert (await socket.receive()).type is WSMsgType.CLOSE


async def test_what_a_client_sends_is_ignored_until_it_leaves(api: "Api", lab: str) -> None:
    async with connect(api, f"{lab}/secrets?watch=1&resourceVersion=0") as socket:
        await socket.send_str("hello")
        await api.create(f"{lab}/secrets", {"metadata": {"name": "one"}})
        assert (await receive(socket))["object"]["metadata"]["name"] == "one"


async def test_an_error_before_the_first_event_is_a_response(api: "Api", lab: str) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await connect(api, f"{lab}/secrets?watch=1&fieldSelector=spec.a%3Db")
    assert caught.value.status == 400


async def test_two_subprotocols_are_refused(api: "Api", lab: str) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await connect(api, f"{lab}/secrets?watch=1", "a", "b")
    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("token", "others", "code"),
    [
        pytest.param("wrong", ("binary.k8s.io",), 401, id="unknown token"),
        pytest.param("wrong", (), 401, id="no other subprotocol"),
    ],
)
async def test_a_token_may_be_a_subprotocol(
    api: "Api", lab: str, token: str, others: tuple[str, ...], code: int
) -> None:
    encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    protocol = f"base64url.bearer.authorization.k8s.io.{encoded}"
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await connect(api, f"{lab}/secrets?watch=1", protocol, *others)
    assert caught.value.status == code


async def test_a_known_token_is_not_echoed(api: "Api", lab: str) -> None:
    account = await api.create(f"{lab}/serviceaccounts", {"metadata": {"name": "page"}})
    asked = {"spec": {"expirationSeconds": 3600}}
    granted = await api.create(f"{lab}/serviceaccounts/{account['metadata']['name']}/token", asked)
    encoded = base64.urlsafe_b64encode(granted["status"]["token"].encode()).decode().rstrip("=")
    namespace = lab.rpartition("/")[2]
    rbac = lab.replace("/api/v1", "/apis/rbac.authorization.k8s.io/v1")
    subject = {"kind": "ServiceAccount", "name": "page", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    await api.create(f"{rbac}/rolebindings", {"metadata": {"name": "page"}, "subjects": [subject], "roleRef": role})
    protocol = f"base64url.bearer.authorization.k8s.io.{encoded}"
    async with connect(api, f"{lab}/secrets?watch=1&resourceVersion=0", protocol, "binary.k8s.io") as socket:
        assert socket.protocol == "binary.k8s.io"
        await api.create(f"{lab}/secrets", {"metadata": {"name": "one"}})
        assert (await receive(socket))["type"] == "ADDED"
