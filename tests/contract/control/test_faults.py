"""Faults: requests that match go wrong over HTTP, as often as they are to; the control API never does."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import orjson
import pytest

from mockkube.apiserver.http2 import frames
from mockkube.apiserver.http2.errors import ErrorCode
from tests.unit.apiserver.http2.frame_client import GET, Client

CONTROL = "/apis/control.mockkube.dev/v1alpha1"
FAULTS = f"{CONTROL}/faults"
MAPS = "/api/v1/namespaces/default/configmaps"
Start = Callable[..., AbstractAsyncContextManager[Any]]


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


async def inject(control: Any, name: str = "f", *, match: dict[str, Any] | None = None, **spec: Any) -> None:
    """Create a fault and wait until it is in force."""
    await control.create(FAULTS, {"metadata": {"name": name}, "spec": {"match": match or {}, **spec}})
    async for obj in control.seen(name, "faults"):
        if obj["status"].get("phase"):
            return


async def injected(control: Any, count: int, name: str = "f") -> dict[str, Any]:
    """The fault once it has struck so often."""
    async for obj in control.seen(name, "faults"):
        if obj["status"].get("injected") == count:
            return dict(obj)
    raise AssertionError("the watch has ended")


async def codes(control: Any, path: str, count: int) -> list[int]:
    return [(await control.ask("GET", path)).status for _ in range(count)]


class TestStatus:
    async def test_it_is_answered_instead_as_often_as_it_is_to(self, control: Any) -> None:
        answer = {"code": 503, "message": "not today", "retryAfterSeconds": 7}
        await inject(control, match={"resources": ["configmaps"]}, inject={"status": answer}, count=2)
        async with control.session.get(control.url + MAPS) as response:
            assert (response.status, response.headers["Retry-After"]) == (503, "7")
            body = await response.json()
        assert (body["reason"], body["message"]) == ("ServiceUnavailable", "not today")
        assert body["details"] == {"retryAfterSeconds": 7}
        assert await codes(control, MAPS, 3) == [503, 200, 200]
        assert (await injected(control, 2))["status"]["phase"] == "Exhausted"

    async def test_raising_the_count_arms_it_again(self, control: Any) -> None:
        await inject(control, match={"resources": ["configmaps"]}, inject={"status": {"code": 500}}, count=1)
        assert await codes(control, MAPS, 2) == [500, 200]
        await injected(control, 1)
        await control.patch(f"{FAULTS}/f", {"spec": {"count": 2}})
        async for obj in control.seen("f", "faults"):
            if obj["status"]["phase"] == "Active":
                break
        assert await codes(control, MAPS, 2) == [500, 200]

    async def test_what_is_asked_is_not_done(self, control: Any) -> None:
        await inject(control, match={"verbs": ["create"], "namespace": "default"}, inject={"status": {"code": 409}})
        assert (await control.ask("POST", MAPS, config_map("a"))).body["reason"] == "Conflict"
        assert (await control.ask("GET", f"{MAPS}/a")).status == 404

    async def test_the_requests_of_one_user_can_be_meant(self, control: Any) -> None:
        await inject(control, match={"user": "alice", "resources": ["configmaps"]}, inject={"status": {"code": 500}})

        async def code_as(user: str) -> int:
            headers = {"Impersonate-User": user, "Impersonate-Group": "system:masters"}
            async with control.session.get(control.url + MAPS, headers=headers) as response:
                return int(response.status)

        assert [await code_as("alice"), await code_as("bob")] == [500, 200]
        assert await codes(control, MAPS, 1) == [200]

    async def test_the_same_seed_draws_the_same_requests(self, start: Start) -> None:
        drawn = []
        for _ in range(2):
            async with start() as control:
                await inject(control, inject={"status": {"code": 500}}, share=0.5, seed=7)
                drawn.append(await codes(control, MAPS, 20))
        assert drawn[0] == drawn[1]
        assert 3 < drawn[0].count(500) < 17

    async def test_one_server_of_several_can_be_meant(self, control: Any) -> None:
        await control.create(f"{CONTROL}/components", {"metadata": {"name": "kube-apiserver.1"}})
        replica = control.at((await control.settled("kube-apiserver.1"))["status"]["url"])
        await inject(control, match={"server": "kube-apiserver.1"}, inject={"status": {"code": 500}})
        assert (await codes(control, MAPS, 1), await codes(replica, MAPS, 1)) == ([200], [500])


async def test_the_control_api_is_spared(control: Any) -> None:
    await inject(control, inject={"status": {"code": 500}})
    assert await codes(control, MAPS, 1) == [500]
    assert (await control.ask("DELETE", f"{FAULTS}/f")).status == 200
    await inject(control, "g", match={"name": "none"}, inject={"status": {"code": 500}})  # the deletion is seen to
    assert await codes(control, MAPS, 1) == [200]


async def test_a_delay_holds_the_answer_back(control: Any) -> None:
    await inject(control, match={"resources": ["configmaps"]}, inject={"delaySeconds": 0.2}, count=1)
    before = asyncio.get_running_loop().time()
    assert await codes(control, MAPS, 1) == [200]
    assert asyncio.get_running_loop().time() - before >= 0.2


async def test_a_component_waits_for_its_answer_while_virtual_time_passes(start: Start) -> None:
    async with start(clock="Virtual", nodes=1, without=("scheduler", "controllers")) as control:
        await inject(control, match={"component": "kubelet", "verbs": ["patch", "update"], "resources": ["leases"]},
                     inject={"delaySeconds": 60.0}, count=1)  # fmt: skip
        answer = await control.patch(f"{CONTROL}/clocks/cluster", {"spec": {"advance": "5m"}})
        async for obj in control.seen("cluster", "clocks"):
            if obj["status"].get("observedGeneration") == answer.body["metadata"]["generation"]:
                break
        assert obj["status"]["now"] == "2030-01-01T00:05:00Z"
        await injected(control, 1)


class TestExpired:
    async def test_whoever_goes_on_must_list_again(self, control: Any) -> None:
        revision = (await control.get(MAPS))["metadata"]["resourceVersion"]
        await inject(control, inject={"expired": True}, count=1)
        assert await codes(control, MAPS, 1) == [200]
        answer = await control.ask("GET", f"{MAPS}?watch=true&resourceVersion={revision}&timeoutSeconds=1")
        assert (answer.status, answer.body["reason"]) == (410, "Expired")


class TestDroppedWatch:
    async def test_an_open_one_is_cut(self, control: Any) -> None:
        async with control.session.get(f"{control.url}{MAPS}?watch=true&resourceVersion=0") as response:
            await inject(control, match={"resources": ["configmaps"]}, inject={"dropWatch": True}, count=1)
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.content.read()
        await injected(control, 1)

    async def test_a_new_one_is_cut_and_the_next_is_not(self, control: Any) -> None:
        await inject(control, match={"resources": ["configmaps"]}, inject={"dropWatch": True}, count=1)
        host, _, port = control.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))  # aiohttp's client would ask again by itself
        writer.write(f"GET {MAPS}?watch=true HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        async with control.session.get(f"{control.url}{MAPS}?watch=true&fieldSelector=metadata.name=a") as response:
            await control.create(MAPS, config_map("a"))
            event = orjson.loads(await response.content.readline())
        assert event["object"]["metadata"]["name"] == "a"

    async def test_other_watches_of_the_connection_go_on(self, control: Any) -> None:
        host, _, port = control.url.removeprefix("http://").partition(":")
        client = Client(*await asyncio.open_connection(host, int(port)))
        client.greet()
        for stream_id, plural in ((1, "configmaps"), (3, "secrets")):
            path = f"/api/v1/namespaces/default/{plural}?watch=true&resourceVersion=0"
            client.send_headers(stream_id, {**GET, ":path": path})
            await client.wait_for(frames.HEADERS, stream_id)
        await inject(control, match={"resources": ["secrets"]}, inject={"dropWatch": True}, count=1)
        assert await client.reset_code(3) == ErrorCode.INTERNAL_ERROR
        await control.create(MAPS, config_map("a"))
        while b'"a"' not in (await client.wait_for(frames.DATA, 1)).payload:
            pass
        client.writer.close()

    async def test_other_watches_go_on(self, control: Any) -> None:
        async with control.session.get(f"{control.url}{MAPS}?watch=true&fieldSelector=metadata.name=a") as response:
            await inject(control, match={"resources": ["pods"]}, inject={"dropWatch": True})
            await control.create(MAPS, config_map("a"))
            assert orjson.loads(await response.content.readline())["type"] == "ADDED"


class TestStaleReads:
    @pytest.fixture(autouse=True)
    async def _stale(self, control: Any) -> None:
        await control.create(MAPS, config_map("gone"))
        await control.create(MAPS, config_map("changed", x="1"))
        await inject(control, match={"verbs": ["get", "list"]}, inject={"staleReads": True})
        await control.ask("DELETE", f"{MAPS}/gone")
        await control.patch(f"{MAPS}/changed", {"data": {"x": "2"}})
        await control.create(MAPS, config_map("new"))

    async def test_they_show_what_was(self, control: Any) -> None:
        assert (await control.get(f"{MAPS}/changed"))["data"] == {"x": "1"}
        assert (await control.get(f"{MAPS}/gone"))["metadata"]["name"] == "gone"
        assert (await control.ask("GET", f"{MAPS}/new")).body["message"] == 'configmaps "new" not found'
        listed = await control.get(f"{MAPS}?resourceVersion=0")
        assert [item["metadata"]["name"] for item in listed["items"]] == ["changed", "gone", "kube-root-ca.crt"]

    async def test_a_watch_from_there_catches_up(self, control: Any) -> None:
        revision = (await control.get(MAPS))["metadata"]["resourceVersion"]
        async with control.session.get(f"{control.url}{MAPS}?watch=true&resourceVersion={revision}") as response:
            seen = [orjson.loads(await response.content.readline()) for _ in range(3)]
        assert [(event["type"], event["object"]["metadata"]["name"]) for event in seen] == [
            ("DELETED", "gone"),
            ("MODIFIED", "changed"),
            ("ADDED", "new"),
        ]

    async def test_they_end_with_the_fault(self, control: Any) -> None:
        assert (await control.ask("DELETE", f"{FAULTS}/f")).status == 200
        await inject(control, "g", match={"name": "none"}, inject={"status": {"code": 500}})
        assert (await control.get(f"{MAPS}/changed"))["data"] == {"x": "2"}


async def test_a_component_is_struck_as_a_client_is(start: Start) -> None:
    async with start(nodes=1, without=("scheduler", "controllers")) as control:
        match = {"component": "kubelet", "resources": ["pods/status"]}
        await inject(control, match=match, inject={"status": {"code": 500}}, count=1)
        spec = {"nodeName": "node-1", "containers": [{"name": "c", "image": "i"}]}
        await control.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec})
        await injected(control, 1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({}, "spec.inject: Required value: give one of delaySeconds, status, dropWatch", id="nothing"),
        pytest.param(
            {"inject": {"status": {"code": 500}, "expired": True}},
            "spec.inject.expired: Forbidden: may not go with status",
            id="two answers",
        ),
        pytest.param(
            {"inject": {"status": {"code": 200}}},
            "spec.inject.status.code: Invalid value: 200: must be from 400 to 599",
            id="a success",
        ),
        pytest.param(
            {"inject": {"expired": True}, "share": 2},
            "spec.share: Invalid value: 2: must be more than 0 and at most 1",
            id="more than all",
        ),
        pytest.param(
            {"inject": {"expired": True}, "count": 0}, "spec.count: Invalid value: 0: must be 1 or more", id="no time"
        ),
        pytest.param(
            {"inject": {"expired": True}, "match": {"verbs": ["read"]}},
            'spec.match.verbs[0]: Unsupported value: "read": supported values: "create"',
            id="no verb",
        ),
        pytest.param(
            {"inject": {"expired": True}, "match": {"server": "kubelet"}},
            'spec.match.server: Invalid value: "kubelet": is no API server',
            id="no server",
        ),
        pytest.param(
            {"inject": {"expired": True}, "match": {"component": "etcd"}},
            "spec.match.component: Invalid value: \"etcd\": 'etcd' is not a component",
            id="no component",
        ),
        pytest.param(
            {"inject": {"delaySeconds": -1}},
            "spec.inject.delaySeconds: Invalid value: -1: must be from 0 to 3600",
            id="into the past",
        ),
    ],
)
async def test_what_cannot_be_meant_is_refused(control: Any, spec: dict[str, Any], message: str) -> None:
    answer = await control.ask("POST", FAULTS, {"metadata": {"name": "f"}, "spec": spec})
    assert answer.status == 422
    assert message in answer.message


async def test_kubectl_gets_a_table(control: Any) -> None:
    match = {"verbs": ["list"], "resources": ["pods"]}
    await inject(control, match=match, inject={"status": {"code": 429}, "delaySeconds": 0.5}, count=3)
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = (await control.ask("GET", FAULTS, accept=accept)).body
    shown = [column["name"] for column in table["columnDefinitions"]]
    assert shown == ["Name", "Match", "Inject", "Count", "Injected", "Phase", "Age"]
    assert table["rows"][0]["cells"][:6] == ["f", "list pods", "0.5s+429", "3", 0, "Active"]
