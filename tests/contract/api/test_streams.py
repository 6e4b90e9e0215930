"""Exec, attach, port-forward and followed logs over HTTP, as clients of every protocol see them."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
import pytest_asyncio

from mockkube.apiserver.http.streaming.spdy_frames import (
    ControlFrame,
    DataFrame,
    FrameDecoder,
    FrameEncoder,
    FrameType,
)
from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
PODS = "/api/v1/namespaces/default/pods"
V5 = "v5.channel.k8s.io"
V4 = "v4.channel.k8s.io"
COUNT = ["sh", "-c", "i=0; while true; do echo line $i; i=$((i+1)); sleep 1; done"]
SECONDS_MAX = 15.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    """The client of a cluster with kubelets, and pods that run on them."""
    directory = tmp_path_factory.mktemp("state")
    async with Api.of_new_cluster(directory, without=("scheduler", "controllers"), nodes=1) as client:
        nodes = await client.get("/api/v1/nodes")
        node = nodes["items"][0]["metadata"]["name"]
        await start_pod(client, node, "web", {"command": ["sleep", "1000"]})
        await start_pod(client, node, "count", {"command": COUNT})
        await start_pod(client, node, "shell", {"command": ["sh"], "stdin": True, "stdinOnce": True})
        await start_pod(client, node, "gone", {"command": ["true"]}, phase="Succeeded")
        pair = [{"name": name, "image": "image:1"} for name in ("a", "b")]
        await client.create(PODS, {"metadata": {"name": "pair"}, "spec": {"containers": pair, "nodeName": node}})
        one = [{"name": "main", "image": "image:1"}]
        await client.create(PODS, {"metadata": {"name": "pending"}, "spec": {"containers": one}})
        await client.create(PODS, {"metadata": {"name": "lost"}, "spec": {"containers": one, "nodeName": "nowhere"}})
        yield client


async def start_pod(api: Api, node: str, name: str, container: dict[str, Any], phase: str = "Running") -> None:
    """Create a pod of one container, and wait for its phase."""
    spec = {
        "containers": [{"name": "main", "image": "image:1", **container}],
        "nodeName": node,
        "restartPolicy": "Never",
    }
    async with api.watch(PODS, f"fieldSelector=metadata.name={name}") as watch:
        await api.create(PODS, {"metadata": {"name": name}, "spec": spec})
        while (await watch.next())[1].get("status", {}).get("phase") != phase:
            pass


def path(pod: str, sub: str, **query: Any) -> str:
    return f"{PODS}/{pod}/{sub}?{urlencode(query, doseq=True)}"


@asynccontextmanager
async def connect(api: Api, target: str, *protocols: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    async with asyncio.timeout(SECONDS_MAX):
        async with api.session.ws_connect(api.url + target, protocols=protocols) as websocket:
            yield websocket


class Session:
    """What a session of exec or attach said until it ended."""

    def __init__(self) -> None:
        self.channels: dict[int, bytes] = {}

    @property
    def status(self) -> Any:
        return json.loads(self.channels[3])

    def text(self, channel: int) -> str:
        return self.channels.get(channel, b"").decode()


async def run(api: Api, target: str, *protocols: str, sent: tuple[bytes, ...] = ()) -> Session:
    """Send messages, and read everything."""
    session = Session()
    async with connect(api, target, *protocols) as websocket:
        for message in sent:
            await websocket.send_bytes(message)
        async for message in websocket:
            data = message.data if isinstance(message.data, bytes) else message.data.encode()
            channel = data[0] - 48 if data[0] >= 48 else data[0]
            session.channels[channel] = session.channels.get(channel, b"") + data[1:]
    return session


def exec_path(pod: str, *command: str, **query: Any) -> str:
    return path(pod, "exec", command=command, stdout=1, stderr=1, **query)


SUCCESS = {"metadata": {}, "status": "Success"}


@pytest.mark.parametrize("protocol", [V5, V4])
async def test_a_command_has_output_errors_and_a_code(api, protocol):
    session = await run(api, exec_path("web", "sh", "-c", "echo out; echo err >&2; exit 3"), protocol)
    assert (session.text(1), session.text(2)) == ("out\n", "err\n")
    assert session.status["reason"] == "NonZeroExitCode"
    assert session.status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
    assert (await run(api, exec_path("web", "true"), protocol)).status == SUCCESS


async def test_base64_messages_are_text(api):
    session = await run(api, exec_path("web", "echo", "hi"), "v4.base64.channel.k8s.io")
    assert base64.b64decode(session.text(1)) == b"hi\n"


async def test_the_oldest_protocol_has_no_status(api):
    session = await run(api, exec_path("web", "false"), "channel.k8s.io")
    assert session.text(3).startswith("command terminated with non-zero exit code")
    assert 3 not in (await run(api, exec_path("web", "true"), "channel.k8s.io")).channels


async def test_the_first_common_protocol_is_chosen(api):
    async with connect(api, exec_path("web", "true"), "v9.channel.k8s.io", V4, "channel.k8s.io") as websocket:
        assert websocket.protocol == V4


async def test_a_session_begins_with_an_empty_message(api):
    async with connect(api, exec_path("web", "echo", "hi"), V4) as websocket:
        assert await websocket.receive_bytes() == b"\x01"


async def test_input_is_passed_and_closed(api):
    sent = (b"\x00one\n", b"\x00two\n", b'\x04{"Width":80,"Height":24}', b"\xff\x00")
    session = await run(api, exec_path("web", "cat", stdin=1), V5, sent=sent)
    assert (session.text(1), session.status) == ("one\ntwo\n", SUCCESS)


async def test_input_that_was_not_requested_is_dropped(api):
    session = await run(api, exec_path("web", "cat"), V5, sent=(b"\x00one\n",))
    assert (session.text(1), session.status) == ("", SUCCESS)


async def test_a_terminal_has_one_output_and_an_echo(api):
    sent = (b"\x00echo a >&2\r", b"\x00exit 4\r")
    session = await run(api, exec_path("web", "sh", stdin=1, tty=1), V5, sent=sent)
    assert "a\r\n" in session.text(1)
    assert "exit 4\r\n" in session.text(1)
    assert 2 not in session.channels
    assert session.status["details"]["causes"][0]["message"] == "4"


async def test_files_of_one_command_are_there_for_the_next(api):
    await run(api, exec_path("web", "sh", "-c", "echo text > /tmp/file"), V5)
    assert (await run(api, exec_path("web", "cat", "/tmp/file"), V4)).text(1) == "text\n"


@pytest.mark.parametrize("protocol", [V5, V4])
async def test_a_program_that_is_not_simulated_is_not_found(api, protocol):
    message = (await run(api, exec_path("web", "curl", "http://x"), protocol)).status["message"]
    assert message.startswith("Internal error occurred: ")
    assert 'exec: "curl": executable file not found in $PATH (mockkube does not simulate this program)' in message


async def test_what_is_not_simulated_is_said(api):
    session = await run(api, exec_path("web", "sh", "-c", "echo a; cat < /image/file"), V5)
    assert session.text(1) == "a\n"
    assert session.text(2).startswith("mockkube: not simulated: ")
    assert session.status["details"]["causes"][0]["message"] == "126"


async def test_too_much_input_is_refused(api):
    sent = tuple(b"\x00" + b"x" * 900_000 for _ in range(2))
    session = await run(api, exec_path("web", "tee", "/tmp/y", stdin=1), V5, sent=sent)
    assert "the standard input is too long" in session.text(2)


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        (exec_path("nothing", "ls"), 404, 'pods "nothing" not found'),
        (exec_path("web", "ls", container="other"), 400, "container other is not valid for pod web"),
        (exec_path("pair", "ls"), 400, "a container name must be specified for pod pair, choose one of: [a b]"),
        (exec_path("pending", "ls"), 400, "pod pending does not have a host assigned"),
        (exec_path("lost", "ls"), 404, 'nodes "nowhere" not found'),
        (exec_path("web", "ls"), 400, "Upgrade request required"),
        (exec_path("web", "ls", dryRun="All"), 400, "dryRun is not supported"),
        (path("web", "portforward"), 400, "Upgrade request required"),
        (path("web", "attach", container="other"), 400, "container other is not valid for pod web"),
    ],
)
async def test_the_api_server_refuses_in_upstreams_words(api, target, code, message):
    for method in ("GET", "POST"):
        answer = await api.ask(method, target)
        assert (answer.status, answer.message) == (code, message)


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        (exec_path("gone", "ls"), 500, 'container not found ("main")'),
        (path("gone", "attach", stdout=1), 500, "container main not found in pod gone_default"),
        (path("web", "exec", command="ls"), 400, "you must specify at least 1 of stdin, stdout, stderr"),
    ],
)
async def test_errors_of_the_kubelet_depend_on_the_protocol(api, target, code, message):
    headers = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": V4}
    answer = await api.ask("POST", target, headers=headers)
    assert (answer.status, answer.body.decode()) == (code, f"{message}\n")
    with pytest.raises(aiohttp.WSServerHandshakeError) as failure:
        await run(api, target, V4)
    assert failure.value.status == code
    session = await run(api, target, V5)
    assert session.status["message"] == f"Internal error occurred: unable to upgrade connection: {message}"


async def test_unknown_subprotocols_are_refused(api):
    with pytest.raises(aiohttp.WSServerHandshakeError) as failure:
        await run(api, exec_path("web", "ls"), "v9.channel.k8s.io")
    assert failure.value.status == 403


async def test_unknown_upgrades_are_refused(api):
    answer = await api.ask("POST", exec_path("web", "ls"), headers={"Connection": "Upgrade", "Upgrade": "h2c"})
    assert answer.status == 400
    assert b"unable to upgrade" in answer.body


async def test_attach_shows_what_is_written_from_now_on(api):
    async with connect(api, path("count", "attach", stdout=1), V5) as websocket:
        assert await websocket.receive_bytes() == b"\x01"
        first, second = [await websocket.receive_bytes() for _ in range(2)]
    number = int(first.removeprefix(b"\x01line "))
    assert second == b"\x01line %d\n" % (number + 1)


async def test_an_attached_client_types_into_the_container(api):
    async with connect(api, path("shell", "attach", stdin=1, stdout=1, stderr=1), V5) as websocket:
        assert await websocket.receive_bytes() == b"\x01"
        await websocket.send_bytes(b"\x00echo typed\n")
        assert await websocket.receive_bytes() == b"\x01typed\n"
        await websocket.send_bytes(b"\x00echo last; exit 4\n")
        assert await websocket.receive_bytes() == b"\x01last\n"
        assert json.loads((await websocket.receive_bytes())[1:]) == SUCCESS
    pod = await api.get(f"{PODS}/shell")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 4
    assert (await api.ask("GET", path("shell", "log"))).body == b"typed\nlast\n"


async def test_the_command_of_a_container_finds_files_of_exec(api):
    nodes = await api.get("/api/v1/nodes")
    command = ["sh", "-c", "while [ ! -f /tmp/go ]; do sleep 1; done; echo went"]
    await start_pod(api, nodes["items"][0]["metadata"]["name"], "waiting", {"command": command})
    async with api.watch(PODS, "fieldSelector=metadata.name=waiting") as events:
        await run(api, exec_path("waiting", "touch", "/tmp/go"), V5)
        while (await events.next())[1]["status"]["phase"] != "Succeeded":
            pass
    assert (await api.ask("GET", path("waiting", "log"))).body == b"went\n"


async def test_a_session_ends_with_its_container(api):
    nodes = await api.get("/api/v1/nodes")
    await start_pod(api, nodes["items"][0]["metadata"]["name"], "brief", {"command": ["sleep", "1000"]})
    async with connect(api, exec_path("brief", "sleep", "1000"), V5) as websocket:
        assert await websocket.receive_bytes() == b"\x01"
        await api.delete(f"{PODS}/brief", {"gracePeriodSeconds": 1})
        status = json.loads((await websocket.receive_bytes())[1:])
    assert status["details"]["causes"][0]["message"] == "137"


async def test_a_log_is_followed_until_the_container_ends(api):
    nodes = await api.get("/api/v1/nodes")
    command = ["sh", "-c", "echo a; sleep 1; printf b; sleep 1; echo c"]
    await start_pod(api, nodes["items"][0]["metadata"]["name"], "short", {"command": command})
    async with (
        asyncio.timeout(SECONDS_MAX),
        api.session.get(f"{api.url}{path('short', 'log', follow='true')}") as answer,
    ):
        assert answer.headers["Content-Type"] == "text/plain"
        assert await answer.content.readline() == b"a\n"
        assert await answer.content.readline() == b"bc\n"
        assert await answer.content.read() == b""


async def test_a_followed_log_ends_at_its_limit(api):
    answer = await api.ask("GET", path("count", "log", follow="true", limitBytes=6))
    assert answer.body == b"line 0"


@pytest.mark.parametrize("protocol", ["binary.k8s.io", "base64.binary.k8s.io", ""])
async def test_a_log_is_read_over_a_websocket(api, protocol):
    parts = []
    async with connect(api, path("count", "log", limitBytes=7), *filter(None, [protocol])) as websocket:
        async for message in websocket:
            is_text = message.type is aiohttp.WSMsgType.TEXT
            parts.append(base64.b64decode(message.data) if is_text else message.data)
            assert is_text == (protocol == "base64.binary.k8s.io")
    assert parts == [b"", b"line 0\n"]


class SpdyClient:
    """A client of SPDY/3.1, as kubectl before 1.31 is one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.encoder, self.decoder = FrameEncoder(), FrameDecoder()
        self.frames: list[DataFrame | ControlFrame] = []

    @classmethod
    @asynccontextmanager
    async def open(cls, api: Api, target: str, protocol: str) -> AsyncIterator["SpdyClient"]:
        host, _, port = api.url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {target} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        writer.write(f"{head}X-Stream-Protocol-Version: {protocol}\r\nContent-Length: 0\r\n\r\n".encode())
        try:
            answer = (await reader.readuntil(b"\r\n\r\n")).decode()
            assert answer.startswith("HTTP/1.1 101 ")
            assert f"X-Stream-Protocol-Version: {protocol}" in answer
            yield cls(reader, writer)
        finally:
            writer.close()

    def create(self, stream: int, **headers: str) -> None:
        self.writer.write(self.encoder.encode_headers(FrameType.SYN_STREAM, stream, headers))

    def send(self, stream: int, data: bytes, *, is_last: bool = False) -> None:
        self.writer.write(self.encoder.encode_data(stream, data, is_last=is_last))

    async def read_until(self, kind: FrameType) -> list[DataFrame | ControlFrame]:
        """Everything up to a control frame of this type."""
        seen: list[DataFrame | ControlFrame] = []
        async with asyncio.timeout(SECONDS_MAX):
            while True:
                while self.frames:
                    seen.append(self.frames.pop(0))
                    if isinstance(seen[-1], ControlFrame) and seen[-1].type == kind:
                        return seen
                data = await self.reader.read(4096)
                assert data, "the connection has ended"
                self.frames += self.decoder.feed(data)


def texts(frames: list[DataFrame | ControlFrame]) -> dict[int, str]:
    found: dict[int, str] = {}
    for frame in frames:
        if isinstance(frame, DataFrame):
            found[frame.stream] = found.get(frame.stream, "") + frame.data.decode()
    return found


async def test_a_spdy_client_runs_a_command(api):
    command = exec_path("web", "sh", "-c", "cat; echo err >&2; exit 3", stdin=1)
    async with SpdyClient.open(api, command, V4) as client:
        for number, kind in enumerate(("error", "stdin", "stdout", "stderr")):
            client.create(2 * number + 1, streamType=kind)
        client.send(3, b"input\n")
        client.send(3, b"", is_last=True)
        client.writer.write(client.encoder.encode_control(FrameType.PING, 1))
        frames = await client.read_until(FrameType.GOAWAY)
        assert await client.reader.read() == b""
    said = texts(frames)
    assert (said[5], said[7]) == ("input\n", "err\n")
    assert json.loads(said[1])["details"]["causes"][0]["message"] == "3"
    kinds = [frame.type for frame in frames if isinstance(frame, ControlFrame)]
    assert kinds.count(FrameType.SYN_REPLY) == 4
    assert FrameType.PING in kinds
    assert {frame.stream for frame in frames if isinstance(frame, DataFrame) and frame.is_last} == {1, 5, 7}


@pytest.mark.parametrize("port", ["80", "0", "http"])
async def test_a_port_answers_that_nothing_listens(api, port):
    async with SpdyClient.open(api, path("web", "portforward"), "portforward.k8s.io") as client:
        for stream, kind in ((1, "error"), (3, "data")):
            client.create(stream, streamType=kind, port=port, requestID="0")
        frames = await client.read_until(FrameType.RST_STREAM)
    said = texts(frames).get(1, "")
    assert said.startswith("error forwarding port 80 to pod web, uid ") == (port == "80")
    assert ("mockkube simulates no network traffic" in said) == (port == "80")


async def test_a_tunnel_carries_spdy(api):
    encoder, decoder = FrameEncoder(), FrameDecoder()
    async with connect(api, path("web", "portforward"), "SPDY/3.1+portforward.k8s.io") as websocket:
        for stream, kind in ((1, "error"), (3, "data")):
            headers = {"streamtype": kind, "port": "80", "requestid": "0"}
            await websocket.send_bytes(encoder.encode_headers(FrameType.SYN_STREAM, stream, headers))
        frames: list[DataFrame | ControlFrame] = []
        while not any(isinstance(frame, DataFrame) for frame in frames):
            frames += decoder.feed(await websocket.receive_bytes())
    assert "mockkube simulates no network traffic" in texts(frames)[1]


async def test_ports_of_the_older_websocket_protocol(api):
    session = await run(api, path("web", "portforward", ports="80,81"), V4)
    assert session.channels[0] == (80).to_bytes(2, "little")
    assert session.channels[3].startswith((81).to_bytes(2, "little") + b"error forwarding port 81")


@pytest.mark.parametrize("sent", [b"\xff", b"\xff\x07"])
async def test_a_bad_close_signal_ends_the_session(api, sent):
    session = await run(api, exec_path("web", "cat", stdin=1), V5, sent=(sent,))
    assert 3 not in session.channels


async def test_bytes_that_are_no_frame_end_a_spdy_session(api):
    async with asyncio.timeout(SECONDS_MAX), SpdyClient.open(api, exec_path("web", "cat", stdin=1), V4) as client:
        client.writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await client.reader.read() == b""


async def test_a_websocket_needs_the_permission_to_create(api):
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rule = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]}
    await api.create(f"{rbac}/roles", {"metadata": {"name": "execute"}, "rules": [rule]})
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "execute", "apiGroup": "rbac.authorization.k8s.io"}
    await api.create(
        f"{rbac}/rolebindings", {"metadata": {"name": "jane"}, "subjects": [subject], "roleRef": reference}
    )
    jane = {"Impersonate-User": "jane"}
    answer = await api.ask("GET", exec_path("web", "true"), headers=jane)
    assert (answer.status, answer.message) == (403, 'pods "web" is forbidden: ')
    await api.patch(f"{rbac}/roles/execute", {"rules": [{**rule, "verbs": ["get", "create"]}]})
    async with api.session.ws_connect(api.url + exec_path("web", "true"), protocols=[V5], headers=jane) as websocket:
        assert await websocket.receive_bytes() == b"\x01"


async def test_policies_see_the_options_of_a_connection(api):
    group = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/exec"]}
    validation = {
        "expression": "!object.command.exists(word, word == 'forbidden')",
        "messageExpression": "request.operation + ' of ' + request.kind.kind + ' to ' + object.container",
    }
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    await api.create(f"{group}/validatingadmissionpolicies", {"metadata": {"name": "exec"}, "spec": spec})
    binding = {"policyName": "exec", "validationActions": ["Deny"]}
    await api.create(f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "exec"}, "spec": binding})
    answer = await api.ask("POST", exec_path("web", "echo", "forbidden", container="main"))
    assert answer.status == 422
    assert answer.message.endswith("denied request: CONNECT of PodExecOptions to main")
    assert (await run(api, exec_path("web", "echo", "allowed"), V5)).text(1) == "allowed\n"
    await api.delete(f"{group}/validatingadmissionpolicybindings/exec")


async def test_the_end_of_the_server_ends_sessions(tmp_path):
    async with aiohttp.ClientSession() as session:
        async with Api.of_new_cluster(tmp_path, without=("scheduler", "controllers"), nodes=1) as client:
            nodes = await client.get("/api/v1/nodes")
            await start_pod(client, nodes["items"][0]["metadata"]["name"], "web", {"command": ["sleep", "1000"]})
            target = client.url + exec_path("web", "sleep", "1000")
            async with asyncio.timeout(SECONDS_MAX):
                websocket = await session.ws_connect(target, protocols=[V5])
                assert await websocket.receive_bytes() == b"\x01"
                following = await session.get(f"{client.url}{path('web', 'log', follow='true')}")
        async with asyncio.timeout(SECONDS_MAX):
            assert (await websocket.receive()).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSE)
            with suppress(aiohttp.ClientError):
                assert await following.content.read() == b""
        following.close()


async def test_a_node_without_a_kubelet_refuses_the_connection(tmp_path):
    async with Api.of_new_cluster(tmp_path, without=("scheduler", "controllers", "kubelets"), nodes=1) as client:
        nodes = await client.get("/api/v1/nodes")
        containers = [{"name": "main", "image": "image:1"}]
        spec = {"containers": containers, "nodeName": nodes["items"][0]["metadata"]["name"]}
        await client.create(PODS, {"metadata": {"name": "web"}, "spec": spec})
        session = await run(client, exec_path("web", "ls"), V5)
    assert session.status["message"].startswith("Internal error occurred: unable to upgrade connection: error dialing")
    assert session.status["message"].endswith(":10250: connect: connection refused")
