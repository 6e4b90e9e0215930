"""A day of a cluster in virtual time: memory, tasks, handles and threads at its end are those of its morning.

Every hour workloads are created, rolled out and deleted, a node fails and returns, and namespaces and definitions come
and go. At the end of each hour, when the store is compacted and the garbage collected, the figures of the process are
taken. In the first hours events fill up, which are kept for an hour, and caches that are bounded by their entries.
"""

import argparse
import asyncio
import json
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

from figures import count_handles, read_memory_kib, trim_memory

from mockkube.api.errors import NotFound
from mockkube.client.protocol import DeleteOptions, Key, Propagation
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

Object = dict[str, Any]
NAMESPACE: Final = "default"
NODES: Final = 10
STANDING_PODS: Final = 200
STANDING_OBJECTS: Final = 1000
DEPLOYMENTS: Final = 5
REPLICAS: Final = 8
JOBS: Final = 5
HOURS: Final = 24
HOUR_SECONDS: Final = 3600.0
WARM_UP_HOURS: Final = 8
MEMORY_SPREAD_MAX: Final = 1.05
"""By which factor the largest and the smallest figure may differ."""
TRACED_STEPS: Final = 1000
OUTAGE_SECONDS: Final = 600.0
BACKGROUND: Final = DeleteOptions(propagation=Propagation.BACKGROUND)


@dataclass(slots=True)
class Sample:
    """Figures of the process at the end of an hour."""

    rss_kib: int
    tasks: int
    handles: int
    threads: int
    live_objects: int


@dataclass(slots=True)
class VirtualDay:
    """The hours of one cluster."""

    cluster: SimulatedCluster
    samples: list[Sample] = field(default_factory=list)

    async def prepare(self) -> None:
        """Create what is to stay."""
        client = self.cluster.client()
        for number in range(STANDING_OBJECTS):
            metadata = {"name": f"standing-{number}", "namespace": NAMESPACE}
            await client.create("ConfigMap", {"metadata": metadata, "data": {"a": "b" * 500}})
        await client.create("Deployment", make_deployment("standing", STANDING_PODS))
        await self._wait_for_replicas("standing", STANDING_PODS)

    async def play(self, hours: int) -> None:
        """Let so many hours pass."""
        for number in range(hours):
            began, start = time.monotonic(), self.cluster.clock.monotonic()
            await self._roll_out(number)
            await self._run_jobs(number)
            await self._use_namespace(number)
            await self._use_definition(number)
            await self._lose_node(number)
            await self.cluster.advance(HOUR_SECONDS - (self.cluster.clock.monotonic() - start))
            self.samples.append(await self._measure())
            print(f"hour {number + 1}: {self.samples[-1]}, {time.monotonic() - began:.1f} s", flush=True)

    async def _roll_out(self, hour: int) -> None:
        client = self.cluster.client()
        names = [f"web-{hour}-{number}" for number in range(DEPLOYMENTS)]
        for name in names:
            await client.create("Deployment", make_deployment(name, REPLICAS))
        for name in names:
            await self._wait_for_replicas(name, REPLICAS)
            image = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
            await client.patch("Deployment", Key(NAMESPACE, name), {"spec": {"template": image}})
        for name in names:
            await self._wait_for_replicas(name, REPLICAS)
            await client.delete("Deployment", Key(NAMESPACE, name), BACKGROUND)
        await self.cluster.advance(60)

    async def _run_jobs(self, hour: int) -> None:
        client = self.cluster.client()
        for number in range(JOBS):
            template = make_template({})
            template["spec"]["restartPolicy"] = "Never"
            spec = {"completions": 4, "parallelism": 2, "template": template}
            metadata = {"name": f"work-{hour}-{number}", "namespace": NAMESPACE}
            await client.create("Job", {"metadata": metadata, "spec": spec})
        await self.cluster.advance(300)
        for number in range(JOBS):
            await client.delete("Job", Key(NAMESPACE, f"work-{hour}-{number}"), BACKGROUND)

    async def _use_namespace(self, hour: int) -> None:
        client, name = self.cluster.client(), f"space-{hour}"
        await client.create("Namespace", {"metadata": {"name": name}})
        for number in range(20):
            metadata = {"name": f"o-{number}", "namespace": name}
            await client.create("Secret", {"metadata": metadata, "stringData": {"a": "b"}})
            await client.create("Pod", {"metadata": metadata, "spec": make_template({})["spec"]})
        await self.cluster.advance(60)
        await client.delete("Namespace", Key("", name))
        assert await self.cluster.advance_until(lambda: self._is_gone("Namespace", Key("", name)), 600)

    async def _use_definition(self, hour: int) -> None:
        client, kind = self.cluster.client(), f"Thing{hour}"
        plural, group = f"{kind.lower()}s", "soak.example"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"plural": plural, "singular": kind.lower(), "kind": kind}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
        await client.create("CustomResourceDefinition", {"metadata": {"name": f"{plural}.{group}"}, "spec": spec})
        await self.cluster.advance(60)
        for number in range(10):
            metadata = {"name": f"o-{number}", "namespace": NAMESPACE}
            obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": {"n": number}}
            await client.create(f"{kind}.{group}", obj)
        await client.delete("CustomResourceDefinition", Key("", f"{plural}.{group}"))
        await self.cluster.advance(60)

    async def _lose_node(self, hour: int) -> None:
        """Stop the kubelet of a node until its pods were evicted; replace the node."""
        name = f"node-{hour % NODES}"
        await self.cluster.change_component(f"kubelet.{name}", running=False)
        await self.cluster.advance(OUTAGE_SECONDS)
        await self.cluster.remove_component(f"kubelet.{name}")
        await self.cluster.advance(60)
        await self._wait_for_replicas("standing", STANDING_PODS)

    async def _wait_for_replicas(self, name: str, replicas: int) -> None:
        async def is_rolled_out() -> bool:
            obj = await self.cluster.client().get("Deployment", Key(NAMESPACE, name))
            status = obj.get("status", {})
            counts = [status.get(one) for one in ("replicas", "updatedReplicas", "readyReplicas")]
            return counts == [replicas] * 3 and status["observedGeneration"] == obj["metadata"]["generation"]

        assert await self.cluster.advance_until(is_rolled_out, HOUR_SECONDS / 2), f"{name} is not rolled out"

    async def _is_gone(self, kind: str, key: Key) -> bool:
        try:
            await self.cluster.client().get(kind, key)
        except NotFound:
            return True
        return False

    async def _measure(self) -> Sample:
        await self.cluster.store.compact(self.cluster.store.revision)
        live = len((await self.cluster.store.list("/")).entries)
        trim_memory()
        return Sample(read_memory_kib(), len(asyncio.all_tasks()), count_handles(), threading.active_count(), live)

    def judge(self) -> list[str]:
        """Return what has grown."""
        judged = self.samples[min(WARM_UP_HOURS, len(self.samples) // 2) :]
        smallest, largest = (choose(sample.rss_kib for sample in judged) for choose in (min, max))
        print(
            f"after the warm-up: {smallest / 1024:.1f} to {largest / 1024:.1f} MiB in {len(judged)} hours of virtual "
            f"time, {100 * (largest / smallest - 1):.1f} % apart; {self.cluster.steps} steps"
        )
        first, last = judged[0], judged[-1]
        wrong = [
            f"{what}: {getattr(first, what)} became {getattr(last, what)}"
            for what in ("tasks", "handles", "threads")
            if getattr(last, what) > getattr(first, what)
        ]
        if len(self.samples) >= HOURS and largest > smallest * MEMORY_SPREAD_MAX:
            wrong.append(f"memory differs by more than {100 * (MEMORY_SPREAD_MAX - 1):.0f} % between hours of one day")
        return wrong


def make_template(labels: Object, image: str = "i:1") -> Object:
    """Return the template of a pod that ends quickly."""
    spec = {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 0}
    return {"metadata": {"labels": labels}, "spec": spec}


def make_deployment(name: str, replicas: int) -> Object:
    """Return a deployment."""
    labels = {"app": name}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": make_template(labels)}
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


async def play_day(hours: int, seed: int) -> list[str]:
    """Play hours on a new cluster; return what has grown, and what its end leaves behind."""
    configuration = resolve_configuration({"name": "soak", "nodes": NODES}, {})
    config = SimulatedClusterConfig(configuration, seed=seed, trace_steps_max=TRACED_STEPS)
    before = {"tasks": len(asyncio.all_tasks()), "handles": count_handles()}
    async with SimulatedCluster(config) as cluster:
        day = VirtualDay(cluster)
        await day.prepare()
        await day.play(hours)
        wrong = day.judge()
    after = {"tasks": len(asyncio.all_tasks()), "handles": count_handles()}
    if after != before:
        wrong.append(f"left behind by the cluster: {json.dumps(before)} became {json.dumps(after)}")
    return wrong


def main() -> int:
    """Run from the command line; 1 if something has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=HOURS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wrong = asyncio.run(play_day(given.hours, given.seed))
    for one in wrong:
        print(f"FOUND {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
