"""What components are told outlives the process; the next start says only what it names."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from mockkube.cluster.configuration.values import ComponentConfiguration
from mockkube.features.versions import Version

COMPONENTS = "/apis/control.mockkube.dev/v1alpha1/components"
FAULTS = "/apis/control.mockkube.dev/v1alpha1/faults"
GT = "TaintTolerationComparisonOperators"
HOST = "HostnameOverride"
Start = Callable[..., AbstractAsyncContextManager[Any]]


async def spec(control: Any, name: str) -> dict[str, Any]:
    told = (await control.settled(name))["spec"]
    return {field: told[field] for field in ("version", "featureGates", "running") if field in told}


@pytest.fixture(autouse=True)
async def _before(start: Start) -> None:
    async with start(db=None) as control:
        await control.tell("kube-scheduler", version="1.35", featureGates={GT: True, HOST: False}, running=False)
        await control.create(COMPONENTS, {"metadata": {"name": "kube-apiserver.1"}, "spec": {"version": "1.35"}})


async def test_what_nobody_speaks_of_is_as_it_was(start: Start) -> None:
    async with start(db=None) as control:
        kept = {"version": "1.35", "featureGates": {GT: True, HOST: False}, "running": False}
        assert await spec(control, "kube-scheduler") == kept
        replica = control.at((await control.settled("kube-apiserver.1"))["status"]["url"])
        assert (await replica.get("/version"))["gitVersion"] == "v1.35.8"


async def test_a_version_that_is_said_counts_more_and_the_gates_stay(start: Start) -> None:
    own = {"kube-scheduler": ComponentConfiguration(Version(1, 36), {})}
    async with start(db=None, components=own) as control:
        told = await spec(control, "kube-scheduler")
        assert (told["version"], told["featureGates"]) == ("1.36", {GT: True, HOST: False})


async def test_the_version_of_the_cluster_counts_for_all(start: Start) -> None:
    async with start(db=None, version=Version(1, 37), given_settings=frozenset({"version"})) as control:
        assert {name: (await spec(control, name))["version"] for name in ("kube-scheduler", "kube-apiserver.1")} == {
            "kube-scheduler": "1.37",
            "kube-apiserver.1": "1.37",
        }


async def test_a_gate_that_is_said_counts_more_and_the_others_stay(start: Start) -> None:
    async with start(db=None, feature_gates={GT: False}) as control:
        assert (await spec(control, "kube-scheduler"))["featureGates"] == {GT: False, HOST: False}


async def test_who_is_left_out_counts_when_it_is_said(start: Start) -> None:
    async with start(db=None, without=(), given_settings=frozenset({"without"})) as control:
        assert (await spec(control, "kube-scheduler"))["running"]


async def test_what_no_longer_goes_together_is_dropped(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    async with start(db=None, version=Version(1, 34), given_settings=frozenset({"version"})) as control:
        assert await spec(control, "kube-scheduler") == {"version": "1.34", "running": False}
    assert "kube-scheduler: what was kept of it does not go with this start" in caplog.text


async def test_one_that_keeps_nothing_keeps_nothing(start: Start) -> None:
    async with start() as control:
        assert (await spec(control, "kube-scheduler"))["version"] == "1.36"


async def test_a_fault_goes_on_counting(start: Start) -> None:
    match, answer = {"resources": ["pods"]}, {"status": {"code": 500}}
    async with start(db=None) as control:
        body = {"metadata": {"name": "f"}, "spec": {"match": match, "inject": answer, "count": 2}}
        await control.create(FAULTS, body)
        async for obj in control.seen("f", "faults"):
            if obj["status"].get("phase"):
                break
        assert (await control.ask("GET", "/api/v1/pods")).status == 500
        async for obj in control.seen("f", "faults"):
            if obj["status"]["injected"] == 1:
                break
    async with start(db=None) as control:
        assert [(await control.ask("GET", "/api/v1/pods")).status for _ in range(2)] == [500, 200]
