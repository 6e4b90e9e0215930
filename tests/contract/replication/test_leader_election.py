"""Processes of one control plane: one scheduler and one controller manager work, and the kubelets share the nodes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest

from tests.contract.replication.conftest import Member, Start

SECONDS_MAX: Final = 60
TIMING: Final = {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "300ms"}
SCHEDULER_CONFIG: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": TIMING,
}
FLAGS: Final = {
    "leader-elect-lease-duration": "3s",
    "leader-elect-renew-deadline": "2s",
    "leader-elect-retry-period": "300ms",
}
ELECTED: Final = ("kube-scheduler", "kube-controller-manager")
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
KUBELETS: Final = "labelSelector=mockkube.dev/member-of%3Dkubelets"


@pytest.fixture
async def processes(start: Start) -> AsyncIterator[dict[str, tuple[Member, AsyncExitStack]]]:
    """Two whole processes, each with a stack that ends it."""
    running: dict[str, tuple[Member, AsyncExitStack]] = {}
    async with AsyncExitStack() as everything:
        for name in ("one", "two"):
            stack = await everything.enter_async_context(AsyncExitStack())
            member = await stack.enter_async_context(
                start(name, without=(), nodes=4, scheduler_config=SCHEDULER_CONFIG, controller_manager=FLAGS)
            )
            running[name] = (member, stack)
        yield running


def get_status(member: Member, component: str) -> Any:
    return member.cluster.control_plane.control_api.load_objects("components")[component].get("status", {})


def get_phase(member: Member, component: str) -> str:
    return str(get_status(member, component).get("phase", ""))


def get_message(member: Member, component: str) -> str:
    conditions = get_status(member, component)["conditions"]
    return str(next(one["message"] for one in conditions if one["type"] == "Running"))


async def wait_until(members: list[Member], holds: Callable[[], bool]) -> None:
    """Return when a condition about components holds; it is evaluated after each report of them."""
    reported = asyncio.Event()
    for member in members:
        controller = member.cluster.control_plane.component_controller

        def report(before: Callable[[], None] = controller.on_reported) -> None:
            before()
            reported.set()

        controller.on_reported = report
    async with asyncio.timeout(SECONDS_MAX):
        while not holds():
            reported.clear()
            await reported.wait()


async def test_one_process_leads_and_the_other_takes_over(
    processes: dict[str, tuple[Member, AsyncExitStack]],
) -> None:
    members = [member for member, _ in processes.values()]
    for component in ELECTED:
        await wait_until(
            members,
            lambda component=component: {get_phase(one, component) for one in members} == {"Running", "Standby"},
        )
    [leader] = [name for name, (member, _) in processes.items() if get_phase(member, "kube-scheduler") == "Running"]
    [other] = [member for name, (member, _) in processes.items() if name != leader]
    lease = await other.get(f"{LEASES}/kube-scheduler")
    message = f"the lease kube-system/kube-scheduler is held by {lease['spec']['holderIdentity']}"
    await wait_until([other], lambda: get_message(other, "kube-scheduler") == message)
    await wait_for_kubelets(other, 2)
    await processes[leader][1].aclose()
    for component in ELECTED:
        await wait_until([other], lambda component=component: get_phase(other, component) == "Running")
    template: dict[str, Any] = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    await other.create(
        "/apis/apps/v1/namespaces/default/deployments",
        {
            "metadata": {"name": "d"},
            "spec": {"replicas": 8, "selector": {"matchLabels": {"a": "b"}}, "template": template},
        },
    )
    await wait_until_running(other, 8)
    assert len((await other.get(f"{LEASES}?{KUBELETS}"))["items"]) == 1


async def wait_for_kubelets(member: Member, count: int) -> None:
    """Return when there are the leases of so many processes with kubelets."""
    names: set[str] = set()

    def are_there(line: bytes) -> bool:
        names.add(json.loads(line)["object"]["metadata"]["name"])
        return len(names) == count

    await watch_until(member, f"{LEASES}?watch=1&{KUBELETS}", are_there)


async def wait_until_running(member: Member, count: int) -> None:
    """Return when all pods of the Deployment are ready."""
    ready = f'"readyReplicas":{count}'.encode()
    await watch_until(member, "/apis/apps/v1/namespaces/default/deployments?watch=1", lambda line: ready in line)


async def watch_until(member: Member, path: str, holds: Callable[[bytes], bool]) -> None:
    """Watch a path until a condition about an event holds."""
    headers = {"Authorization": f"Bearer {member.running.token}"}
    async with asyncio.timeout(SECONDS_MAX), member.session.get(member.running.url + path, headers=headers) as answer:
        async for line in answer.content:
            if holds(line):
                return
