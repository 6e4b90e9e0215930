"""What a component would serve on a port of its own is served below it: flagz, statusz, metrics."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
import pytest_asyncio

COMPONENTS = "/apis/control.mockkube.dev/v1alpha1/components"
GT = "TaintTolerationComparisonOperators"
Start = Callable[..., AbstractAsyncContextManager[Any]]


@pytest_asyncio.fixture
async def running(start: Start) -> AsyncIterator[Any]:
    """A cluster whose kubelet runs."""
    async with start(without=("scheduler", "controllers")) as control:
        await control.tell("kubelet", featureGates={GT: True})
        yield control


async def text(control: Any, path: str) -> str:
    async with control.session.get(control.url + path, headers={"Accept": "text/plain"}) as response:
        assert response.status == 200, await response.text()
        return str(await response.text())


async def test_flags_say_what_it_was_told(running: Any) -> None:
    assert (await text(running, f"{COMPONENTS}/kubelet/flagz")).splitlines()[-2:] == [
        f"feature-gates={GT}=true",
        "hostname-override=",
    ]
    await running.tell("kube-apiserver", featureGates={GT: True})
    assert f"feature-gates=:{GT}=true" in await text(running, "/flagz")
    assert f"feature-gates=:{GT}=true" in await text(running, f"{COMPONENTS}/kube-apiserver/flagz")


async def test_status_names_the_component_and_its_version(running: Any) -> None:
    await running.tell("kubelet", version="1.37")
    page = await text(running, f"{COMPONENTS}/kubelet/statusz")
    assert page.startswith("\nkubelet statusz\n")
    assert "Emulation version: 1.37\n" in page


@pytest.mark.parametrize("name", ["kubelet", "kube-apiserver"])
async def test_metrics_tell_every_gate(running: Any, name: str) -> None:
    await running.tell(name, featureGates={GT: True})
    page = await text(running, f"{COMPONENTS}/{name}/metrics")
    assert f'kubernetes_feature_enabled{{name="{GT}",stage="ALPHA"}} 1\n' in page
    assert 'version_info{binary="1.36.4",component="kube",emulation="1.36",min_compat="1.35"} 1\n' in page


async def test_a_page_is_not_there_without_its_gate(running: Any) -> None:
    await running.tell("kubelet", version="1.35", featureGates={GT: None})
    assert (await running.ask("GET", f"{COMPONENTS}/kubelet/statusz")).status == 404


async def test_one_that_does_not_run_serves_nothing(running: Any) -> None:
    answer = await running.ask("GET", f"{COMPONENTS}/kube-scheduler/metrics")
    assert (answer.status, answer.message) == (503, "kube-scheduler does not run: spec.running is false")


async def test_there_must_be_one(running: Any) -> None:
    assert (await running.ask("GET", f"{COMPONENTS}/kube-apiserver.9/metrics")).status == 404
