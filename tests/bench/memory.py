"""Memory of one process: nodes and running pods, with all components or with the API server alone.

`python tests/bench/memory.py [--nodes N] [--alone | --virtual] PODS...` runs a cluster in this process, its store in
memory, creates pods up to each count in turn, and prints the resident memory once all are Running and old revisions
are compacted. `--virtual` does so in virtual time.
"""

import argparse
import asyncio
import ctypes
import gc
import time
from collections.abc import Callable, Iterable
from typing import Any

from scale import node, pod

from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.registry.registry import Registry
from mockkube.client.identity import AUTHENTICATED, MASTERS, ClientIdentity
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster

CONCURRENT = 16
VIRTUAL_SECONDS = 30


def memory_kb() -> int:
    """Resident memory of this process."""
    with open("/proc/self/status") as file:
        return int(file.read().partition("VmRSS:")[2].split()[0])


async def settle(registry: Registry) -> int:
    """Compact what a server compacts within ten minutes; return the memory that is left."""
    await asyncio.sleep(2)
    store = registry.dependencies.store
    await store.compact(store.revision)
    registry.dependencies.watch_cache.forget_history(store.revision)
    gc.collect()
    # What is free goes back to the system, or the figures would depend on what came before.
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return memory_kb()


async def create(client: LocalClient, kind: str, make: Callable[[int], dict[str, Any]], numbers: Iterable[int]) -> None:
    """Create objects, a few at a time."""
    left = iter(numbers)

    async def create_some() -> None:
        for number in left:
            await client.create(kind, make(number))

    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENT):
            group.create_task(create_some())


async def wait_for(registry: Registry, plural: str, text: bytes, count: int) -> None:
    """Return once a resource has so many objects, which all contain a text."""
    (resource,) = (one for one in registry.resources.values() if (one.group, one.plural) == ("", plural))
    objects = resource.collection.objects
    # The last ones first: looking at all of them again and again would take longer than what is measured.
    while len(objects) < count or not all(text in one.tail for one in reversed(list(objects.values()))):  # noqa: ASYNC110
        await asyncio.sleep(0.5)


async def measure(nodes: int, counts: list[int], *, alone: bool) -> None:
    """Print a line for the nodes and one for each count of pods."""
    settings: dict[str, Any] = {"tls": False, "disable_admission_plugins": "ServiceAccount"}
    if alone:
        settings["without"] = "scheduler,controllers,kubelets"
    async with open_temporary_cluster(make_temporary_configuration(settings)) as cluster, cluster:
        endpoint = cluster.control_plane.component_controller.local_clients.get_endpoint("kube-apiserver")
        client = LocalClient(endpoint, ClientIdentity("admin", (MASTERS, AUTHENTICATED), "bench"))
        registry = endpoint.get_server().registry
        empty = await settle(registry)
        await create(client, "Node", node, range(nodes))
        if not alone:
            await wait_for(registry, "nodes", b'"reason":"KubeletReady"', nodes)
        before = last = await settle(registry)
        print(f"empty: {empty // 1024} MB; {nodes} nodes: {before // 1024} MB", flush=True)
        present = 0
        for count in counts:
            used = time.process_time()
            await create(
                client,
                "Pod",
                lambda number: {**pod(number), "metadata": {"name": f"pod-{number}", "namespace": "default"}},
                range(present, count),
            )
            if not alone:
                await wait_for(registry, "pods", b'"phase":"Running"', count)
            used = time.process_time() - used
            memory = await settle(registry)
            print(
                f"{count} pods: {memory // 1024} MB, {(memory - before) / count:.1f} KB per pod, "
                f"{(memory - last) / (count - present):.1f} KB per pod since the last line, "
                f"{used / (count - present) * 1000:.2f} ms of processor time per pod",
                flush=True,
            )
            present, last = count, memory


async def measure_in_virtual_time(nodes: int, counts: list[int]) -> None:
    """Print a line for the nodes and one for each count of pods of a simulated cluster."""
    config = SimulatedClusterConfig(ClusterConfiguration(), {}, seed=1, steps_max=10_000_000, trace_steps_max=1_000)
    async with SimulatedCluster(config) as cluster:
        client = cluster.client()
        used = time.process_time()
        await create(client, "Node", node, range(nodes))
        await cluster.advance(VIRTUAL_SECONDS)
        print(f"{nodes} nodes: {time.process_time() - used:.1f} s of processor time, {_collect()} MB", flush=True)
        present = 0
        for count in counts:
            used, began = time.process_time(), cluster.clock.monotonic()
            await create(
                client,
                "Pod",
                lambda number: {**pod(number), "metadata": {"name": f"pod-{number}", "namespace": "default"}},
                range(present, count),
            )
            while not await _all_run(client, count):
                await cluster.advance(VIRTUAL_SECONDS)
            used = time.process_time() - used
            await cluster.store.compact(cluster.store.revision)
            print(
                f"{count} pods: {_collect()} MB, all Running after {cluster.clock.monotonic() - began:.0f} virtual "
                f"seconds, {used / (count - present) * 1000:.2f} ms of processor time per pod",
                flush=True,
            )
            present = count


async def _all_run(client: LocalClient, count: int) -> bool:
    pods = (await client.list("Pod")).items
    return len(pods) == count and all(one["status"].get("phase") == "Running" for one in pods)


def _collect() -> int:
    """Return the memory in MB after garbage was collected."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return memory_kb() // 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--virtual", action="store_true", help="in virtual time")
    parser.add_argument("--alone", action="store_true", help="run the API server without other components")
    parser.add_argument("pods", type=int, nargs="*", default=[1_000, 10_000])
    given = parser.parse_args()
    gc.set_threshold(50_000, 5, 400)  # as `mockkube up` has it
    if given.virtual:
        asyncio.run(measure_in_virtual_time(given.nodes, given.pods))
    else:
        asyncio.run(measure(given.nodes, given.pods, alone=given.alone))


if __name__ == "__main__":
    main()
