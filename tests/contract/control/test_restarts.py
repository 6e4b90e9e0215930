"""A change of version or gates restarts an API server: what it had in memory is lost, what it stored is not."""

import asyncio
from typing import Any

import aiohttp
import orjson
import pytest

COMPONENTS = "/apis/control.mockkube.dev/v1alpha1/components"
PODS = "/api/v1/namespaces/default/pods"
GT = "TaintTolerationComparisonOperators"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


TOLERANT = pod("p", tolerations=[{"key": "sla", "operator": "Gt", "value": "900"}])


async def version(control: Any) -> str:
    return str((await control.get("/version"))["gitVersion"])


async def test_the_same_address_answers_as_another_version(control: Any) -> None:
    assert await version(control) == "v1.36.4"
    await control.tell("kube-apiserver", version="1.34")
    assert await version(control) == "v1.34.11"


async def test_gates_decide_what_is_admitted(control: Any) -> None:
    assert (await control.ask("POST", PODS, TOLERANT)).status == 422
    await control.tell("kube-apiserver", featureGates={GT: True})
    assert (await control.ask("POST", PODS, TOLERANT)).status == 201


async def test_what_is_stored_stays(control: Any) -> None:
    before = await control.create(PODS, pod("p"))
    await control.tell("kube-apiserver", featureGates={GT: True})
    assert await control.get(f"{PODS}/p") == before


async def test_watches_come_to_a_clean_end(control: Any) -> None:
    async with control.session.get(f"{control.url}{PODS}?watch=true&resourceVersion=0") as response:
        await control.tell("kube-apiserver", featureGates={GT: True})
        assert await response.content.read() == b""


async def test_requests_that_come_meanwhile_are_answered(control: Any) -> None:
    async with asyncio.TaskGroup() as group:
        change = group.create_task(control.tell("kube-apiserver", version="1.35"))
        asked = [group.create_task(control.ask("GET", PODS)) for _ in range(50)]
    assert change.result()["status"]["version"] == "1.35"
    assert {task.result().status for task in asked} == {200}


async def test_a_change_that_changes_nothing_is_no_restart(control: Any) -> None:
    async with control.session.get(f"{control.url}{PODS}?watch=true&resourceVersion=0") as response:
        await control.patch(f"{COMPONENTS}/kube-apiserver", {"metadata": {"labels": {"a": "b"}}})
        await control.tell("kubelet", version="1.35")
        await control.create(PODS, pod("p"))
        event = orjson.loads(await response.content.readline())
    assert event["object"]["metadata"]["name"] == "p"


class TestAnOlderServer:
    """It decodes what a newer one stored as it knows it."""

    @pytest.fixture(autouse=True)
    async def _stored(self, control: Any) -> None:
        await control.create(PODS, pod("p", hostnameOverride="h"))
        await control.tell("kube-apiserver", version="1.33")

    async def test_does_not_show_what_it_does_not_know(self, control: Any) -> None:
        assert "hostnameOverride" not in (await control.get(f"{PODS}/p"))["spec"]

    async def test_takes_nothing_away_by_reading(self, control: Any) -> None:
        await control.get(f"{PODS}/p")
        await control.tell("kube-apiserver", version="1.36")
        assert (await control.get(f"{PODS}/p"))["spec"]["hostnameOverride"] == "h"

    @pytest.mark.parametrize("patch", [{"metadata": {"labels": {"a": "b"}}}, {}], ids=["a change", "no change"])
    async def test_loses_it_in_the_store_by_writing(self, control: Any, patch: dict[str, Any]) -> None:
        before = (await control.get(f"{PODS}/p"))["metadata"]["resourceVersion"]
        answer = await control.patch(f"{PODS}/p", patch)
        assert answer.body["metadata"]["resourceVersion"] != before
        await control.tell("kube-apiserver", version="1.36")
        assert "hostnameOverride" not in (await control.get(f"{PODS}/p"))["spec"]


class TestAServerThatIsNotToRun:
    async def test_answers_nothing_but_the_control_api(self, control: Any) -> None:
        stopped = await control.tell("kube-apiserver", running=False)
        assert (stopped["status"]["phase"], stopped["status"]["running"]) == ("Stopped", False)
        answer = await control.ask("GET", PODS)
        assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")
        await control.tell("kube-apiserver", running=True)
        assert (await control.ask("GET", PODS)).status == 200

    async def test_can_be_found_by_kubectl(self, control: Any) -> None:
        await control.tell("kube-apiserver", running=False)
        for path in ("/api", "/apis", "/apis/control.mockkube.dev/v1alpha1", "/openapi/v3"):
            assert (await control.ask("GET", path)).status == 200


class TestReplicas:
    """Several API servers on one store."""

    async def test_each_has_a_port_a_version_and_gates_of_its_own(self, control: Any) -> None:
        await control.create(COMPONENTS, {"metadata": {"name": "kube-apiserver.1"}, "spec": {"version": "1.35"}})
        replica = control.at((await control.settled("kube-apiserver.1"))["status"]["url"])
        assert (await version(control), await version(replica)) == ("v1.36.4", "v1.35.8")
        await control.create(PODS, pod("p"))
        assert (await replica.get(f"{PODS}/p"))["metadata"]["name"] == "p"
        await replica.tell("kube-apiserver.1", featureGates={GT: True})
        assert (await replica.ask("POST", PODS, {**TOLERANT, "metadata": {"name": "q"}})).status == 201
        assert (await control.ask("POST", PODS, {**TOLERANT, "metadata": {"name": "r"}})).status == 422

    async def test_a_watch_on_one_outlives_the_restart_of_another(self, control: Any) -> None:
        await control.create(COMPONENTS, {"metadata": {"name": "kube-apiserver.1"}})
        replica = control.at((await control.settled("kube-apiserver.1"))["status"]["url"])
        async with control.session.get(f"{replica.url}{PODS}?watch=true&resourceVersion=0") as response:
            await control.tell("kube-apiserver", version="1.35")
            await control.create(PODS, pod("p"))
            event = orjson.loads(await response.content.readline())
        assert event["object"]["metadata"]["name"] == "p"

    async def test_one_that_is_deleted_no_longer_listens(self, control: Any) -> None:
        await control.create(COMPONENTS, {"metadata": {"name": "kube-apiserver.1"}})
        replica = control.at((await control.settled("kube-apiserver.1"))["status"]["url"])
        async with control.session.get(f"{replica.url}{PODS}?watch=true&resourceVersion=0") as response:
            assert (await control.ask("DELETE", f"{COMPONENTS}/kube-apiserver.1")).status == 200
            assert await response.content.read() == b""
            await control.tell("kubelet", version="1.35")  # so the one before has been seen to
        with pytest.raises(aiohttp.ClientConnectionError):
            await replica.ask("GET", "/version")
