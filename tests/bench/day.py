"""A day of a busy cluster in virtual time: how long it takes, what is written, and that it is the same every time.

`python tests/bench/day.py [--nodes N] [--hours N] [--pods N] [--runs N]` plays a cluster with all components: Jobs
whose pods run for ten minutes and are deleted a minute after they finish, a Deployment with a rollout every hour, and
nodes whose kubelets fail for twenty minutes, so that their pods are evicted. The pods are those of a whole day. With
several runs, exits with 1 unless all traces are equal: each step, its time and all bytes that it writes.
"""

import argparse
import asyncio
import gc
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from mockkube_storage.watch import Watch

from mockkube.apiserver.local.client import LocalClient
from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.execution.step_trace import TraceWrite
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

PERIOD_SECONDS: Final = 300
PERIODS_PER_HOUR: Final = 3600 // PERIOD_SECONDS
REPLICAS: Final = 100
# Periods after the start of an hour in which nodes fail, and recover.
FAILURE, RECOVERY = 3, 7
# One in so many nodes fails every hour.
FAILING: Final = 200
STEPS_KEPT: Final = 1000
# Writes within a period that wait to be counted.
EVENTS_MAX: Final = 10_000_000


def pod_template(labels: dict[str, str], annotations: dict[str, str], **spec: Any) -> dict[str, Any]:
    """A pod of one container with requests."""
    container = {"name": "c", "image": "example.com/app:1", "resources": {"requests": {"cpu": "10m"}}}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": {"containers": [container], **spec}}


def job(number: int, pods: int) -> dict[str, Any]:
    """A Job that runs its pods for ten minutes, all at once, and is deleted a minute after."""
    template = pod_template({}, {"mockkube.dev/exit": "0@600s"}, restartPolicy="Never")
    spec = {"completions": pods, "parallelism": pods, "ttlSecondsAfterFinished": 60, "template": template}
    metadata = {"name": f"job-{number}", "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def deployment() -> dict[str, Any]:
    """A Deployment that is rolled out every hour."""
    labels = {"app": "web"}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": pod_template(labels, {})}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


def node(number: int, lease_seconds: int) -> dict[str, Any]:
    """A node that leaves everything to its kubelet but the duration of its lease."""
    annotations = {"mockkube.dev/lease-duration-seconds": str(lease_seconds)} if lease_seconds else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}", "annotations": annotations}}


def count_writes(watch: Watch, counts: Counter[str]) -> None:
    """Count the writes since the last call by verb and resource."""
    while (events := watch.take()) is not None:
        # A commit has several events only where leases are renewed together.
        first = TraceWrite(events[0])
        counts[f"{first.verb} {first.resource}"] += len(events)


async def play_period(cluster: SimulatedCluster, client: LocalClient, number: int, pods: int, nodes: int) -> None:
    """Play five minutes: a Job, and what the hour has at this time."""
    hour, period = divmod(number, PERIODS_PER_HOUR)
    await client.create("Job", job(number, pods))
    if period == 0 and hour:
        image = {"name": "c", "image": f"example.com/app:{hour + 1}"}
        await client.patch(
            "Deployment", Key("default", "web"), {"spec": {"template": {"spec": {"containers": [image]}}}}
        )
    if period in (FAILURE, RECOVERY):
        kubelet = "none" if period == FAILURE else None
        for index in range(hour % FAILING, nodes, FAILING):
            annotations = {"mockkube.dev/kubelet": kubelet}
            await client.patch("Node", Key("", f"node-{index}"), {"metadata": {"annotations": annotations}})
    await cluster.advance(PERIOD_SECONDS)


async def play(given: argparse.Namespace) -> str:
    """Play the hours of one cluster, print figures, return the digest of its trace."""
    started, used = time.perf_counter(), time.process_time()
    per_job = max(1, round((given.pods - 24 * REPLICAS) / (24 * PERIODS_PER_HOUR)))
    flags = {"kube-controller-manager": {"node-monitor-grace-period": given.grace}} if given.grace else {}
    config = SimulatedClusterConfig(
        ClusterConfiguration(), flags, seed=1, steps_max=1_000_000, trace_steps_max=STEPS_KEPT
    )
    counts: Counter[str] = Counter()
    async with (
        SimulatedCluster(config) as cluster,
        cluster.store.watch("", after=cluster.store.revision, events_max=EVENTS_MAX) as watch,
    ):
        client = cluster.client()
        for number in range(given.nodes):
            await client.create("Node", node(number, given.lease_seconds))
        await cluster.advance(60)  # or all pods would wait for the nodes, with an event for each that becomes Ready
        await client.create("Deployment", deployment())
        before = time.process_time()
        for number in range(given.periods or given.hours * PERIODS_PER_HOUR):
            await play_period(cluster, client, number, per_job, given.nodes)
            count_writes(watch, counts)
            await cluster.store.compact(cluster.store.revision)
            if (number + 1) % PERIODS_PER_HOUR == 0:
                used_now, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                hour = (number + 1) // PERIODS_PER_HOUR
                print(f"hour {hour}: {used_now - before:.1f} s of processor time, {memory} MB", flush=True)
                before = used_now
        digest = cluster.trace.compute_digest()
    used, taken = time.process_time() - used, time.perf_counter() - started
    print(
        f"{given.nodes} nodes: {used:.0f} s of processor time in {taken:.0f} s, "
        f"{counts.total()} writes, trace {digest[:16]}"
    )
    print(", ".join(f"{count} {name}" for name, count in counts.most_common(10)), flush=True)
    return digest


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--pods", type=int, default=20_000, help="pods of a whole day")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--lease-seconds", type=int, default=0, help="duration of the leases of nodes, instead of 40")
    parser.add_argument("--grace", help="--node-monitor-grace-period, as 400s for leases of 320 seconds")
    parser.add_argument("--periods", type=int, help="periods of five minutes to play, instead of hours")
    return parser.parse_args(arguments)


def main() -> None:
    """Play and compare."""
    given = parse(sys.argv[1:])
    gc.set_threshold(50_000, 5, 400)  # as `mockkube test` has it
    digests = {asyncio.run(play(given)) for _ in range(given.runs)}
    if len(digests) > 1:
        sys.exit("the traces differ")


if __name__ == "__main__":
    main()
