"""Components in processes of their own: one of each kind works, kubelets share the nodes, and kills change nothing."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client import kubeconfig
from mockkube.client.http import HttpClient
from mockkube.client.protocol import Client, Key, Selection, WatchEnded
from tests.clients.conftest import RunningCluster, run_cluster

SECONDS_MAX: Final = 60
# As upstream's proportions, five times as fast.
ELECTION: Final = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=400ms",
)
LEASES: Final = Selection("kube-system")
PODS: Final = Selection("default")
MEMBERS: Final = Selection("kube-system", "mockkube.dev/member-of=kubelets")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """An API server alone."""
    with run_cluster(tmp_path_factory.mktemp("home"), "standalone", "scheduler,controllers,kubelets") as running:
        yield running


@pytest.fixture
async def client(cluster: RunningCluster) -> AsyncIterator[HttpClient]:
    """A client of a cluster whose processes of earlier tests have left no Lease."""
    async with HttpClient(kubeconfig.load(Path(cluster.kubeconfig)), "tests") as client:
        await client.delete_collection("Lease", LEASES)
        yield client


class Processes:
    """Processes of components, which end with the test."""

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, kind: str, *more: str) -> subprocess.Popen[bytes]:
        """Start a component."""
        command = [sys.executable, "-m", "mockkube.cli", kind, "--kubeconfig", self._cluster.kubeconfig, *more]
        process = subprocess.Popen(command, env=self._cluster.environment)
        self.running.append(process)
        return process

    def end(self) -> None:
        """Kill what still runs."""
        for process in self.running:
            process.kill()
            process.wait()


@contextmanager
def _run(cluster: RunningCluster) -> Iterator[Processes]:
    processes = Processes(cluster)
    try:
        yield processes
    finally:
        processes.end()


@pytest.fixture
def processes(cluster: RunningCluster) -> Iterator[Processes]:
    with _run(cluster) as processes:
        yield processes


Objects = dict[str, ReadOnlyObject]


async def wait_until(client: Client, kind: str, selection: Selection, holds: Callable[[Objects], bool]) -> Objects:
    """Watch objects by name until a condition holds; return them."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            listed = await client.list(kind, selection)
            objects = {obj["metadata"]["name"]: obj for obj in listed.items}
            watch = await client.watch(kind, selection, listed.resource_version)
            try:
                while not holds(objects):
                    await watch.signal.wait()
                    for event in watch.take() if watch.is_ready() else ():
                        objects[event.object["metadata"]["name"]] = event.object
                        if event.type == "DELETED":
                            del objects[event.object["metadata"]["name"]]
                return objects
            except WatchEnded:
                continue
            finally:
                await watch.close()


def find_holder(leases: Objects, name: str) -> str:
    """Return who holds a Lease; empty if nobody does."""
    return str((leases.get(name) or {}).get("spec", {}).get("holderIdentity") or "")


async def create_pods(client: Client, names: Sequence[str]) -> None:
    for name in names:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        await client.create("Pod", {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


def are_running(*names: str) -> Callable[[Objects], bool]:
    return lambda pods: all((pods.get(name) or {}).get("status", {}).get("phase") == "Running" for name in names)


async def test_a_standby_takes_over_from_a_killed_scheduler(client: HttpClient, processes: Processes) -> None:
    first = processes.start("scheduler", *ELECTION)
    leases = await wait_until(client, "Lease", LEASES, lambda found: bool(find_holder(found, "kube-scheduler")))
    leader = find_holder(leases, "kube-scheduler")
    processes.start("scheduler", *ELECTION)
    processes.start("kubelets", "--nodes", "2")
    await create_pods(client, ["before"])
    await wait_until(client, "Pod", PODS, are_running("before"))
    first.kill()
    await create_pods(client, ["after"])
    await wait_until(client, "Pod", PODS, are_running("after"))
    lease = await client.get("Lease", Key("kube-system", "kube-scheduler"))
    assert find_holder({"kube-scheduler": lease}, "kube-scheduler") not in ("", leader)
    assert lease["spec"]["leaseTransitions"] == 1


@pytest.mark.parametrize("kind", ["scheduler", "controllers"])
async def test_sigterm_releases_the_lease(client: HttpClient, processes: Processes, kind: str) -> None:
    name = {"scheduler": "kube-scheduler", "controllers": "kube-controller-manager"}[kind]
    process = processes.start(kind, *ELECTION)
    await wait_until(client, "Lease", LEASES, lambda found: bool(find_holder(found, name)))
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, SECONDS_MAX) == 0
    lease = await client.get("Lease", Key("kube-system", name))
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("", 1)


async def test_a_suspended_leader_does_not_go_on(client: HttpClient, processes: Processes) -> None:
    suspended = processes.start("controllers", *ELECTION)
    name = "kube-controller-manager"
    leases = await wait_until(client, "Lease", LEASES, lambda found: bool(find_holder(found, name)))
    leader = find_holder(leases, name)
    processes.start("controllers", *ELECTION)
    os.kill(suspended.pid, signal.SIGSTOP)
    try:
        await wait_until(client, "Lease", LEASES, lambda found: find_holder(found, name) not in ("", leader))
    finally:
        os.kill(suspended.pid, signal.SIGCONT)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 5, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await client.create("ReplicaSet", {"metadata": {"name": "r", "namespace": "default"}, "spec": spec})
    found = await wait_until(client, "ReplicaSet", PODS, lambda sets: sets["r"].get("status", {}).get("replicas") == 5)
    assert find_holder(await wait_until(client, "Lease", LEASES, lambda _: True), name) != leader
    assert found["r"]["status"]["replicas"] == 5
    pods = (await client.list("Pod", Selection("default", "a=b"))).items
    assert len(pods) == 5
    assert suspended.poll() is None


async def test_nodes_of_a_stopped_process_move_and_containers_go_on(client: HttpClient, processes: Processes) -> None:
    processes.start("scheduler", *ELECTION)
    first = processes.start("kubelets", "--nodes", "6")
    processes.start("kubelets", "--nodes", "6")
    await wait_until(client, "Lease", MEMBERS, lambda found: len(found) == 2)
    names = [f"shared-{number}" for number in range(12)]
    await create_pods(client, names)
    before = await wait_until(client, "Pod", PODS, are_running(*names))
    first.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(first.wait, SECONDS_MAX) == 0
    await wait_until(client, "Lease", MEMBERS, lambda found: len(found) == 1)
    more = [f"more-{number}" for number in range(12)]
    await create_pods(client, more)
    after = await wait_until(client, "Pod", PODS, are_running(*names, *more))
    assert {name: after[name]["status"] for name in names} == {name: before[name]["status"] for name in names}


async def test_two_processes_register_the_same_nodes_ready_and_without_taints(
    client: HttpClient, processes: Processes
) -> None:
    names = [f"node-{number}" for number in range(1, 31)]
    processes.start("kubelets", "--nodes", "30")
    processes.start("kubelets", "--nodes", "30")

    def are_registered(nodes: Objects) -> bool:
        return all(_is_ready(nodes.get(name)) and not nodes[name]["spec"].get("taints") for name in names)

    nodes = await wait_until(client, "Node", Selection(), are_registered)
    addresses = [nodes[name]["status"]["addresses"][0]["address"] for name in names]
    assert addresses == [f"172.18.0.{number}" for number in range(2, 32)]


async def test_kubelets_of_named_nodes_leave_all_others_alone(client: HttpClient, processes: Processes) -> None:
    processes.start("kubelets", "--node", "edge-1", "--node", "edge-2")
    nodes = await wait_until(
        client, "Node", Selection(), lambda found: all(_is_ready(found.get(name)) for name in ("edge-1", "edge-2"))
    )
    assert nodes["edge-1"]["metadata"]["labels"]["kubernetes.io/hostname"] == "edge-1"
    [lease] = [
        lease
        for lease in (await client.list("Lease", MEMBERS)).items
        if lease["metadata"].get("annotations", {}).get("mockkube.dev/nodes")
    ]
    assert lease["metadata"]["annotations"]["mockkube.dev/nodes"] == "edge-1,edge-2"


def _is_ready(node: Any) -> bool:
    conditions = ((node or {}).get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


async def test_a_port_that_is_taken_is_named(cluster: RunningCluster) -> None:
    port = cluster.url.rpartition(":")[2]
    command = [sys.executable, "-m", "mockkube.cli", "scheduler", "--kubeconfig", cluster.kubeconfig]
    command += ["--metrics-bind-address", f"127.0.0.1:{port}"]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False, env=cluster.environment
    )
    assert done.returncode == 3
    assert f"--metrics-bind-address: 127.0.0.1:{port}: " in done.stderr
