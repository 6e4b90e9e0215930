"""Containers are reached through every API server, wherever the kubelet of their node runs."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from mockkube.apiserver.http.streaming.spdy_frames import FrameType
from mockkube.cluster.replication.process_leases import PREFIX, ProcessRecord
from tests.contract.api.test_streams import SpdyClient, texts
from tests.contract.replication.conftest import WITHOUT, Member, Start
from tests.contract.replication.test_several_servers import NAMESPACES, named, watch

PODS = f"{NAMESPACES}/default/pods"
V5 = "v5.channel.k8s.io"
SECONDS_MAX = 30.0
Members = tuple[Member, Member]


def path(pod: str, sub: str, **query: Any) -> str:
    return f"{PODS}/{pod}/{sub}?{urlencode(query, doseq=True)}"


async def execute(member: Member, pod: str, script: str, *, token: str = "") -> str:
    """Run a script in the container of a pod through a member, and return its output."""
    target = path(pod, "exec", command=["sh", "-c", script], stdout="true", stderr="true")
    headers = {"Authorization": f"Bearer {token or member.running.token}"}
    output = b""
    async with asyncio.timeout(SECONDS_MAX):
        url = member.running.url + target
        async with member.session.ws_connect(url, protocols=(V5,), headers=headers) as websocket:
            async for message in websocket:
                if message.data[:1] in (b"\1", b"\2"):
                    output += message.data[1:]
    return output.decode()


async def read_log(member: Member, pod: str, **query: Any) -> str:
    headers = {"Authorization": f"Bearer {member.running.token}"}
    async with asyncio.timeout(SECONDS_MAX):
        async with member.session.get(member.running.url + path(pod, "log", **query), headers=headers) as response:
            assert response.status == 200, await response.text()
            return await response.text()


async def start_pod(member: Member, name: str, *command: str) -> None:
    """Start a pod on the only node, and wait until it runs."""
    container = {"name": "main", "image": "image:1", "command": command}
    spec = {"containers": [container], "nodeName": "node-1", "restartPolicy": "Never"}
    await member.create(PODS, named(name, spec=spec))
    async with asyncio.timeout(SECONDS_MAX):
        async with watch(member, f"{PODS}?watch=true&fieldSelector=metadata.name={name}") as events:
            async for event in events:
                if event["object"].get("status", {}).get("phase") == "Running":
                    return


@pytest.fixture
async def pair(start: Start) -> AsyncIterator[Members]:
    """Two members, the second of which has no kubelets."""
    async with start("one", without=WITHOUT[:2], nodes=1) as one, start("two") as two:
        yield one, two


async def test_a_command_runs_in_the_process_of_the_kubelet(pair: Members) -> None:
    one, two = pair
    await start_pod(one, "web", "sleep", "1000")
    assert await execute(two, "web", "echo kept > /tmp/a; echo written") == "written\n"
    assert await execute(one, "web", "cat /tmp/a") == "kept\n"
    assert await execute(two, "web", "cat /tmp/a") == "kept\n"
    states = one.cluster.control_plane.api_server_dependencies.simulated_kubelets.container_states
    assert states.serves("node-1")


async def test_the_command_of_a_container_finds_what_a_client_of_another_server_has_written(pair: Members) -> None:
    one, two = pair
    await start_pod(one, "web", "sh", "-c", "until [ -e /tmp/a ]; do sleep 1; done; echo found; sleep 1000")
    await execute(two, "web", "touch /tmp/a")
    for member in pair:
        assert await read_log(member, "web", follow="true", limitBytes="6") == "found\n"


async def test_a_log_of_another_process_is_followed_to_its_end(pair: Members) -> None:
    _, two = pair
    await start_pod(two, "short", "sh", "-c", "echo begin; sleep 2; echo end")
    assert await read_log(two, "short", follow="true") == "begin\nend\n"


async def test_errors_of_another_process_arrive_as_they_are(pair: Members) -> None:
    _, two = pair
    await start_pod(two, "web", "sleep", "1000")
    status, body = await two.request("GET", path("web", "log", container="other"))
    assert status == 400
    assert body["message"] == "container other is not valid for pod web"
    status, body = await two.request("GET", path("web", "exec", command="true", stdout="true"))
    assert (status, body["message"]) == (400, "Upgrade request required")


async def test_another_process_acts_as_the_user_of_the_request(pair: Members) -> None:
    one, two = pair
    await start_pod(one, "web", "sleep", "1000")
    accounts, rbac = f"{NAMESPACES}/default/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    await one.create(accounts, named("robot"))
    _, body = await one.request("POST", f"{accounts}/robot/token", {"spec": {"audiences": []}})
    token = body["status"]["token"]
    status, _ = await two.request("GET", path("web", "log"), token=token)
    assert status == 403
    rules = [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]}]
    await one.create(f"{rbac}/roles", named("exec", rules=rules))
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "exec"}
    await one.create(f"{rbac}/rolebindings", named("exec", subjects=[subject], roleRef=role))
    assert await execute(two, "web", "echo allowed", token=token) == "allowed\n"


async def test_a_spdy_connection_reaches_another_process(start: Start) -> None:
    async with start("one", without=WITHOUT[:2], nodes=1, tls=False) as one, start("two", tls=False) as two:
        await start_pod(one, "web", "sleep", "1000")
        target = path("web", "exec", command=["sh", "-c", "cat; echo done"], stdin="true", stdout="true")

        class Api:
            url = two.running.url

        async with SpdyClient.open(Api, target, "v4.channel.k8s.io") as client:  # type: ignore[arg-type]
            for stream, kind in ((1, "error"), (3, "stdin"), (5, "stdout")):
                client.create(stream, streamType=kind)
            client.send(3, b"typed\n", is_last=True)
            frames = await client.read_until(FrameType.GOAWAY)
            assert await client.reader.read() == b""
        assert texts(frames)[5] == "typed\ndone\n"


async def test_servers_without_kubelets_agree_on_one_that_answers(start: Start) -> None:
    async with start("one", nodes=1) as one, start("two") as two, start("three") as three:
        # As a kubelet elsewhere reports it.
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
        lease = {"holderIdentity": "node-1", "leaseDurationSeconds": 40, "renewTime": f"{now}.000000Z"}
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        status, body = await one.request("POST", leases, named("node-1", spec=lease))
        assert status in (201, 409), body
        spec = {
            "containers": [{"name": "main", "image": "image:1", "command": ["sleep", "1000"]}],
            "nodeName": "node-1",
        }
        await one.create(PODS, named("web", spec=spec))
        running = {"name": "main", "state": {"running": {"startedAt": f"{now}Z"}}, "ready": True, "restartCount": 0}
        running |= {"image": "image:1", "imageID": ""}
        await one.patch(f"{PODS}/web/status", {"status": {"phase": "Running", "containerStatuses": [running]}})
        await execute(one, "web", "echo kept > /tmp/a")
        for member in (one, two, three):
            assert await execute(member, "web", "cat /tmp/a") == "kept\n"


async def test_a_node_that_nobody_simulates_refuses_connections(start: Start) -> None:
    async with start("one", nodes=1) as one, start("two") as two:
        spec = {
            "containers": [{"name": "main", "image": "image:1", "command": ["sleep", "1000"]}],
            "nodeName": "node-1",
        }
        await one.create(PODS, named("web", spec=spec))
        for member in (one, two):
            target = member.running.url + path("web", "exec", command="true", stdout="true")
            headers = {"Authorization": f"Bearer {member.running.token}"}
            async with member.session.ws_connect(target, protocols=(V5,), headers=headers) as websocket:
                messages = b"".join([message.data async for message in websocket])
            assert b"error dialing backend: dial tcp" in messages


async def test_the_token_goes_only_to_servers_that_prove_who_they_are(start: Start) -> None:
    """Who can write to the database, and does not know its key, must not learn the token."""
    asked: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(1000))
        writer.close()

    async with start("one", nodes=1) as one, await asyncio.start_server(take, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        store = one.cluster.control_plane.api_server_dependencies.store
        record = ProcessRecord.for_this_process("false", f"http://127.0.0.1:{port}", joins=True)
        for scheme in ("http", "https"):
            false = replace(record, url=f"{scheme}://127.0.0.1:{port}")
            await store.create(f"{PREFIX}{scheme}", false.encode(datetime.now(UTC)))
        container = {"name": "main", "image": "image:1", "command": ["sleep", "1000"]}
        await one.create(PODS, named("web", spec={"containers": [container], "nodeName": "node-1"}))
        headers = {"Authorization": f"Bearer {one.running.token}"}
        async with one.session.get(one.running.url + path("web", "log"), headers=headers) as response:
            await response.read()
        # One connection for each of the two rounds, which does not get past the handshake.
        assert asked
        assert not any(one.running.token.encode() in data or b"HTTP" in data for data in asked)


async def test_the_stop_of_a_server_ends_what_it_forwards(start: Start) -> None:
    async with start("one", without=WITHOUT[:2], nodes=1) as one, AsyncExitStack() as stack:
        two = await stack.enter_async_context(start("two"))
        await start_pod(one, "web", "sleep", "1000")
        headers = {"Authorization": f"Bearer {two.running.token}"}
        target = two.running.url + path("web", "log", follow="true")
        async with aiohttp.ClientSession() as session:
            trust = ssl.create_default_context(cafile=two.running.ca_file)
            async with session.get(target, headers=headers, ssl=trust) as response:
                assert response.status == 200
                # Longer than a stop may take, and shorter than the gate waits for requests.
                async with asyncio.timeout(4):
                    await stack.aclose()
