"""The clock: real time passes by itself, virtual time when it is told to."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
import pytest_asyncio

CONTROL = "/apis/control.mockkube.dev/v1alpha1"
CLOCK = f"{CONTROL}/clocks/cluster"
START = "2030-01-01T00:00:00Z"
Start = Callable[..., AbstractAsyncContextManager[Any]]


@pytest_asyncio.fixture
async def virtual(start: Start) -> AsyncIterator[Any]:
    """A cluster in virtual time, with controllers and the kubelets of two nodes."""
    async with start(clock="Virtual", nodes=2, without=("scheduler",)) as control:
        yield control


async def moved(control: Any, **spec: str) -> dict[str, Any]:
    """Tell the clock something, which must succeed, and wait until it has done so."""
    answer = await control.patch(CLOCK, {"spec": spec})
    assert answer.status == 200, answer.body
    async for obj in control.seen("cluster", "clocks"):
        if obj.get("status", {}).get("observedGeneration", 0) >= answer.body["metadata"]["generation"]:
            return dict(obj)
    raise AssertionError("the watch has ended")


class TestReal:
    async def test_it_shows_the_mode_and_when_it_was_looked_at(self, control: Any) -> None:
        async for obj in control.seen("cluster", "clocks"):
            if obj["status"].get("now"):
                break
        assert (obj["spec"], obj["status"]["mode"]) == ({"mode": "Real"}, "Real")
        assert obj["status"]["now"] >= obj["metadata"]["creationTimestamp"]

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            pytest.param({"advance": "5m"}, "spec.advanceTo: Forbidden: real time passes by itself", id="advance"),
            pytest.param({"advanceTo": START}, "spec.advanceTo: Forbidden: real time passes by itself", id="a moment"),
            pytest.param(
                {"mode": "Virtual"},
                "spec.mode: Forbidden: the cluster runs in real time: start it with --clock virtual",
                id="another mode",
            ),
            pytest.param({"mode": "Fast"}, 'spec.mode: Unsupported value: "Fast"', id="no mode"),
        ],
    )
    async def test_nobody_else_moves_it(self, control: Any, spec: dict[str, str], message: str) -> None:
        answer = await control.patch(CLOCK, {"spec": spec})
        assert answer.status == 422
        assert message in answer.message


class TestVirtual:
    async def test_it_stands_still_until_it_is_moved(self, virtual: Any) -> None:
        assert (await virtual.get(CLOCK))["metadata"]["creationTimestamp"] == START
        assert (await moved(virtual, advance="1h30m"))["status"]["now"] == "2030-01-01T01:30:00Z"

    async def test_to_advance_is_not_kept_so_that_it_can_be_said_again(self, virtual: Any) -> None:
        await moved(virtual, advance="5m")
        told = await moved(virtual, advance="5m")
        assert told["spec"] == {"mode": "Virtual", "advanceTo": "2030-01-01T00:10:00Z"}
        assert told["status"]["now"] == "2030-01-01T00:10:00Z"

    async def test_it_tells_that_all_is_at_rest(self, virtual: Any) -> None:
        [condition] = (await moved(virtual, advance="5m"))["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("AtRest", "True", "Arrived")

    async def test_a_moment_may_have_a_fraction(self, virtual: Any) -> None:
        assert (await moved(virtual, advance="1500ms"))["status"]["now"] == "2030-01-01T00:00:01.500000Z"

    async def test_what_was_to_happen_until_then_has_happened(self, virtual: Any) -> None:
        tolerance = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        spec = {"nodeName": "node-1", "containers": [{"name": "c", "image": "i"}], "tolerations": [tolerance]}
        pods = "/api/v1/namespaces/default/pods"
        await virtual.create(pods, {"metadata": {"name": "p"}, "spec": spec})
        await moved(virtual, advance="1s")
        taints = [{"key": "broken", "value": "1", "effect": "NoExecute"}]
        assert (await virtual.patch("/api/v1/nodes/node-1", {"spec": {"taints": taints}})).status == 200
        await moved(virtual, advance="299s")
        assert (await virtual.get(f"{pods}/p"))["status"]["phase"] == "Running"
        await moved(virtual, advance="1m")
        assert (await virtual.ask("GET", f"{pods}/p")).status == 404

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            pytest.param(
                {"advanceTo": "2029-12-31T23:59:59Z"},
                f'spec.advanceTo: Invalid value: "2029-12-31T23:59:59Z": time does not go back: it is {START}',
                id="back",
            ),
            pytest.param({"advance": "-5m"}, "must be a duration that leads into the future", id="back by a span"),
            pytest.param({"advance": "soon"}, 'spec.advance: Invalid value: "soon"', id="no span"),
            pytest.param({"advanceTo": "soon"}, 'spec.advanceTo: Invalid value: "soon": parsing time', id="no moment"),
        ],
    )
    async def test_what_cannot_be_is_refused(self, virtual: Any, spec: dict[str, str], message: str) -> None:
        answer = await virtual.patch(CLOCK, {"spec": spec})
        assert answer.status == 422
        assert message in answer.message
        assert (await virtual.get(CLOCK))["spec"] == {"mode": "Virtual"}

    async def test_kubectl_gets_a_table(self, virtual: Any) -> None:
        await moved(virtual, advance="2m")
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        table = (await virtual.ask("GET", f"{CONTROL}/clocks", accept=accept)).body
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Mode", "Now", "Advance To", "Age"]
        moment = "2030-01-01T00:02:00Z"
        assert table["rows"][0]["cells"] == ["cluster", "Virtual", moment, moment, "2m"]

    async def test_time_goes_on_where_it_was_left(self, start: Start) -> None:
        async with start(clock="Virtual", db=None) as control:
            await moved(control, advance="1h")
        async with start(clock="Virtual", db=None) as control:
            assert (await moved(control, advance="1h"))["status"]["now"] == "2030-01-01T02:00:00Z"


async def test_there_is_one_and_it_stays(control: Any) -> None:
    answer = await control.ask("POST", f"{CONTROL}/clocks", {"metadata": {"name": "other"}})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert "the one clock is called 'cluster'" in answer.message
    assert (await control.ask("DELETE", CLOCK)).status == 403
