"""What scheduling takes: `python tests/bench/scheduling.py [--nodes N]... [--workload NAME]... [--api] [--rounds N]`.

Workloads of the kind of upstream's scheduler_perf, and what it lacks: taints against Gt, semver and CEL tolerations,
and gates that are on but of no use. In process, the processor time of a pod's decision and of its place in the picture
is measured; with `--api` also how many pods a second a client process gets created over TLS and bound, and the
processor time that each takes the server, which hardly depends on who else is busy. Of several rounds the best counts.
"""

import argparse
import asyncio
import json
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import run
from prometheus_client import CollectorRegistry
from real_control_plane import RealControlPlane

from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT
from mockkube.runtime.clock import RealClock
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.random import Random
from mockkube.scheduler.cycle.scheduling_algorithm import ScheduleResult
from mockkube.scheduler.framework.fit_error import FitError
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.scheduler import Scheduler, build

HERE = Path(__file__).resolve().parent
JSON = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
GATES = (
    "TaintTolerationComparisonOperators",
    "TaintTolerationNodeAffinitySemverComparisonOperators",
    "TaintTolerationCEL",
)
RELEASED_GATES = frozenset(GATES[:1])
DEFAULT_GATES = (
    "DynamicResourceAllocation",
    "InPlacePodVerticalScaling",
    "MatchLabelKeysInPodTopologySpread",
    "NodeDeclaredFeatures",
    "NodeInclusionPolicyInPodTopologySpread",
    "NominatedNodeNameForExpectation",
    "PodLevelResources",
    "SchedulerAsyncPreemption",
    "SchedulerPopFromBackoffQ",
    "SchedulerQueueingHints",
    "SidecarContainers",
)
STILL_SECONDS_MAX = 60.0
"""After so long without any pod bound, the round is given up."""
ADMISSION = "ServiceAccount,TaintNodesByCondition,Priority"
"""What would change nodes and pods after they were written."""
PODS_MEASURED = 1000
API_PODS_MEASURED = 3000
WARM = 50
THRESHOLDS = {"Basic": 270, "NodeAffinity": 220, "TopologySpreading": 85, "NodeInclusionPolicy": 68, "PodAffinity": 35,
              "Preemption": 160}  # fmt: skip
"""What upstream asks of its scheduler, in pods a second at 5,000 nodes."""
REAL = {("Basic", 1000): 555, ("Basic", 5000): 525, ("Gt and spread", 1000): 395}
"""What kube-apiserver and kube-scheduler make on two cores, in pods a second, through the API, without `--real`."""


def node(index: int, *, zones: int = 3, cpu: str = "4", taints: list[JSON] | None = None) -> JSON:
    name = f"node-{index:05}"
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: f"zone-{index % zones}"}},
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


def pod(name: str, *, cpu: str = "100m", memory: str = "500Mi", labels: JSON | None = None, **spec: Any) -> JSON:
    requests = {"cpu": cpu, "memory": memory}
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
        "spec": {"containers": [container], "schedulerName": "default-scheduler", **spec},
    }


def plain_nodes(total: int) -> Iterator[JSON]:
    return (node(index) for index in range(total))


@dataclass(frozen=True)
class Workload:
    name: str
    measured: Callable[[str], JSON]
    nodes: Callable[[int], Iterator[JSON]] = plain_nodes
    initial: Callable[[str], JSON] = pod
    initial_per_node: float = 0.2
    gates: tuple[str, ...] = field(default=())
    measured_per_node: float = 3.0
    """At most so many are measured."""

    def count(self, nodes: int, wanted: int) -> int:
        """Return how many pods are measured on so many nodes."""
        return min(wanted, int(nodes * self.measured_per_node))


def with_affinity(name: str) -> JSON:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-0", "zone-1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return pod(name, affinity={"nodeAffinity": required})


def spread(name: str, key: str = ZONE, skew: int = 5, **policies: str) -> JSON:
    constraint = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"color": "blue"}},
        **policies,
    }
    return pod(name, labels={"color": "blue"}, topologySpreadConstraints=[constraint])


def with_pod_affinity(name: str) -> JSON:
    term = {"labelSelector": {"matchLabels": {"color": "blue"}}, "topologyKey": ZONE}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod(name, labels={"color": "blue"}, affinity={"podAffinity": required})


def partly_tainted_nodes(total: int) -> Iterator[JSON]:
    taint = {"key": "foo", "value": "", "effect": "NoSchedule"}
    return (node(index, taints=[taint] if index % 5 == 4 else None) for index in range(total))


def graded_nodes(total: int) -> Iterator[JSON]:
    for index in range(total):
        taints = [
            {"key": "example.com/reliability", "value": str(900 + index % 100), "effect": "NoSchedule"},
            {"key": "example.com/kernel", "value": f"5.{index % 20}.0", "effect": "NoSchedule"},
            {"key": f"env.example.com/{'dev' if index % 4 else 'prod'}", "value": "", "effect": "NoSchedule"},
        ]
        yield node(index, taints=taints)


def tolerant(name: str) -> JSON:
    tolerations = [
        {"key": "example.com/reliability", "operator": "Gt", "value": "929", "effect": "NoSchedule"},
        {"key": "example.com/kernel", "operator": "SemverGt", "value": "5.4.0", "effect": "NoSchedule"},
        {"expression": "taint.key.startsWith('env.example.com/d')"},
    ]
    return pod(name, tolerations=tolerations)


def discerning(name: str) -> JSON:
    toleration = {"key": "example.com/reliability", "operator": "Gt", "value": "929", "effect": "NoSchedule"}
    return {**spread(name), "spec": {**spread(name)["spec"], "tolerations": [toleration]}}


def rated_nodes(total: int) -> Iterator[JSON]:
    for index in range(total):
        taint = {"key": "example.com/reliability", "value": str(900 + index % 100), "effect": "NoSchedule"}
        yield node(index, taints=[taint])


def filler(name: str) -> JSON:
    return pod(name, cpu="900m", priority=0, terminationGracePeriodSeconds=0)


def preemptor(name: str) -> JSON:
    return pod(name, cpu="3", priority=10)


def spread_preemptor(name: str) -> JSON:
    spec = {**spread(name, HOST, 1)["spec"], "containers": preemptor(name)["spec"]["containers"], "priority": 10}
    return {**spread(name), "spec": spec}


WORKLOADS = (
    Workload("Basic", pod),
    Workload("Basic, gates on", pod, gates=GATES),
    Workload("NodeAffinity", with_affinity),
    Workload("TopologySpreading", spread),
    Workload(
        "NodeInclusionPolicy",
        lambda name: spread(name, HOST, 1, nodeTaintsPolicy="Honor"),
        nodes=partly_tainted_nodes,
        initial_per_node=0.0,
    ),
    Workload("PodAffinity", with_pod_affinity, initial=lambda name: pod(name, labels={"color": "blue"})),
    Workload("Preemption", preemptor, initial=filler, initial_per_node=4.0, measured_per_node=0.5),
    Workload("Preemption and spread", spread_preemptor, initial=filler, initial_per_node=4.0, measured_per_node=0.5),
    Workload("Gt and spread", discerning, nodes=rated_nodes, initial_per_node=0.0, gates=GATES[:1]),
    Workload("Gt x semver x CEL", tolerant, nodes=graded_nodes, initial_per_node=0.0, gates=GATES),
)


# In process


class Nowhere:
    """A client that nobody asks."""


def scheduler(gates: tuple[str, ...]) -> Scheduler:
    caps = Capabilities(DEFAULT, frozenset((*DEFAULT_GATES, *gates)))
    chance, registry = Random.from_seed(1, "bench"), CollectorRegistry()
    client: Any = Nowhere()
    return build(
        ComponentDependencies("kube-scheduler", client, caps, RealClock(), chance, registry, lambda name: True)
    )


def stored(under_test: Scheduler, obj: JSON, serial: int) -> PodInfo:
    metadata = {**obj["metadata"], "uid": f"uid-{serial}", "resourceVersion": str(serial)}
    return PodInfo({**obj, "metadata": metadata, "status": {"phase": "Pending"}}, under_test.cache.spec_values)


def in_process(workload: Workload, nodes: int, measured: int) -> float:
    """Return the milliseconds that a pod takes."""
    under_test, serial = scheduler(workload.gates), count(1)
    for obj in workload.nodes(nodes):
        under_test.cache.set_node(obj)
    for index in range(int(nodes * workload.initial_per_node)):
        info = stored(under_test, workload.initial(f"initial-{index}"), next(serial))
        under_test.cache.assume_pod(info, f"node-{index % nodes:05}")
    for index in range(100):
        decide(under_test, stored(under_test, workload.measured(f"warm-{index}"), next(serial)))
    pods = [stored(under_test, workload.measured(f"pod-{index}"), next(serial)) for index in range(measured)]
    start = time.process_time()
    for info in pods:
        decide(under_test, info)
    return 1000 * (time.process_time() - start) / measured


def decide(under_test: Scheduler, info: PodInfo) -> None:
    """Decide for a pod and put it where it goes; victims go first."""
    decider = under_test.algorithms["default-scheduler"]
    decision = decider.schedule_pod(decider.new_cycle_state(), info)
    if isinstance(decision, FitError):
        assert decision.post_filter_result is not None, decision.message
        assert decision.post_filter_result.node_name, decision.message
        for victim in decision.post_filter_result.victims:
            under_test.cache.remove_pod(victim.uid)
        under_test.cache.assume_pod(info, decision.post_filter_result.node_name)
        return
    assert isinstance(decision, ScheduleResult), decision
    under_test.cache.assume_pod(info, decision.node_name)


# Through the API


class StandstillError(Exception):
    """Pods wait, and none is bound any more."""


@dataclass(frozen=True)
class Rate:
    """What was measured through the API."""

    pods_per_second: float
    milliseconds: float
    """Processor time of the server for each pod."""


class Api:
    """A few keep-alive connections to a server."""

    def __init__(self, url: str, token: str) -> None:
        self.parts, self.context = urlsplit(url), ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.head = f"Host: {self.parts.netloc}\r\nAuthorization: Bearer {token}\r\n"

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.parts.hostname, self.parts.port, ssl=self.context, limit=1 << 24)

    async def post(self, path: str, objects: list[JSON], connections: int = 16) -> None:
        waiting = iter(objects)

        async def work() -> None:
            reader, writer = await self.open()
            for obj in waiting:
                body = json.dumps(obj).encode()
                head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"POST {path} HTTP/1.1\r\n{self.head}{head}\r\n".encode() + body)
                answer = await reader.readuntil(b"\r\n\r\n")
                size = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                content = await reader.readexactly(size)
                assert answer.startswith(b"HTTP/1.1 201"), content
            writer.close()

        async with asyncio.TaskGroup() as group:
            for _ in range(connections):
                group.create_task(work())

    async def revision(self) -> str:
        """Return the resourceVersion of the pods."""
        reader, writer = await self.open()
        writer.write(f"GET {PODS}?limit=1 HTTP/1.1\r\n{self.head}\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        version: str = json.loads(await reader.readexactly(size))["metadata"]["resourceVersion"]
        writer.close()
        return version

    async def until_bound(self, total: int, after: str) -> None:
        """Return when so many pods have got a node after a resourceVersion."""
        seen = 0
        while seen < total:
            async with aclosing(self.watch_bound_pods(after)) as lines:
                while seen < total:
                    try:
                        async with asyncio.timeout(STILL_SECONDS_MAX):
                            line = await anext(lines, b"")
                    except TimeoutError as error:
                        raise StandstillError(f"{seen} of {total} pods are bound") from error
                    if not line:  # the real API server ends a watch whose client reads too slowly
                        break
                    if line.startswith(b'{"type":"ADDED"'):
                        seen += 1
                        after = line.partition(b'"resourceVersion":"')[2].partition(b'"')[0].decode()

    async def watch_bound_pods(self, after: str) -> AsyncGenerator[bytes]:
        """Yield the events of pods with a node, each a line of JSON, until the server ends the watch."""
        reader, writer = await self.open()
        path = f"{PODS}?watch=1&fieldSelector=spec.nodeName!=&resourceVersion={after}"
        writer.write(f"GET {path} HTTP/1.1\r\n{self.head}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        rest = b""
        try:
            while size := int(await reader.readline(), 16):
                chunk = await reader.readexactly(size + 2)
                *lines, rest = (rest + chunk[:-2]).split(b"\n")
                for line in lines:
                    yield line
        finally:
            writer.close()

    async def schedule(self, pods: list[JSON]) -> None:
        """Create pods and return when all are bound."""
        after = await self.revision()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.post(PODS, pods))
            group.create_task(self.until_bound(len(pods), after))


async def through_api(workload: Workload, server: Any, nodes: int, measured: int) -> Rate:
    """Return how many pods a second are created and bound, and what that takes the server."""
    api = Api(server.url, server.token)
    await api.post("/api/v1/nodes", list(workload.nodes(nodes)))
    initial = [workload.initial(f"initial-{index}") for index in range(int(nodes * workload.initial_per_node))]
    for index, obj in enumerate(initial):
        obj["spec"]["nodeName"] = f"node-{index % nodes:05}"
    await api.post(PODS, initial)
    await api.schedule([workload.measured(f"warm-{index}") for index in range(WARM)])
    pods = [workload.measured(f"pod-{index}") for index in range(measured)]
    start, before = time.perf_counter(), server.cpu_seconds()
    await api.schedule(pods)
    seconds, busy = time.perf_counter() - start, server.cpu_seconds() - before
    return Rate(measured / seconds, 1000 * busy / measured)


def api_rate(workload: Workload, nodes: int, measured: int) -> Rate:
    """Start a server with a scheduler and measure it."""
    flags: tuple[str, ...] = ("--without", "controllers,kubelets", "--disable-admission-plugins", ADMISSION)
    flags += gate_flags(workload)
    with tempfile.TemporaryDirectory() as folder:
        server = run.Server(Path(folder), "memory", flags)
        try:
            return asyncio.run(through_api(workload, server, nodes, measured))
        finally:
            server.stop()


def gate_flags(workload: Workload) -> tuple[str, ...]:
    gates = ",".join(f"{gate}=true" for gate in workload.gates)
    return ("--feature-gates", gates) if gates else ()


def real_rate(programs: Path, workload: Workload, nodes: int, measured: int) -> Rate:
    """Start the real control plane and measure it."""
    flags = ("--disable-admission-plugins", ADMISSION, *gate_flags(workload))
    real = RealControlPlane(programs, scheduler=True, flags=flags, scheduler_flags=gate_flags(workload))
    try:
        return asyncio.run(through_api(workload, real, nodes, measured))
    finally:
        real.stop()


# The table


class Table:
    """Prints a row per workload and size; what grows, grows from the first size of the workload."""

    def __init__(self, *, api: bool) -> None:
        self._api = api
        self._first: dict[tuple[str, str], float] = {}
        head = f"{'':22}{'nodes':>6} │{'ms/pod':>8}{'growth':>7}{'pods/s':>8}"
        if api:
            head += f" │{'API pods/s':>11}{'real':>6}{'ms/pod':>8}{'growth':>7}"
        print(f"{head} │ threshold upstream", flush=True)

    def row(self, workload: Workload, nodes: int, milliseconds: float, rate: Rate | None, real: Rate | None) -> None:
        """Print a row; `rate` None: the cluster came to a standstill; `real` None: it was not measured."""
        name = workload.name
        line = (
            f"{name:22}{nodes:6} │{milliseconds:8.3f}{self._growth(name, '', milliseconds)}{1000 / milliseconds:8.0f}"
        )
        if self._api:
            beside = REAL.get((name, nodes), "") if real is None else round(real.pods_per_second)
            figures = f"{'standstill':>11}{beside:>6}{'':15}"
            if rate is not None:
                growth = self._growth(name, "API", rate.milliseconds)
                figures = f"{rate.pods_per_second:11.0f}{beside:>6}{rate.milliseconds:8.3f}{growth}"
            line += f" │{figures}"
        print(f"{line} │ {THRESHOLDS.get(name, '') if nodes == 5000 else ''}".rstrip(), flush=True)

    def _growth(self, name: str, what: str, milliseconds: float) -> str:
        first = self._first.setdefault((name, what), milliseconds)
        return f"{milliseconds / first:7.2f}"


def best_rate(workload: Workload, rounds: int, measure: Callable[[], Rate]) -> Rate | None:
    """Return the best figures of several rounds; None if in none of them all pods were bound."""
    rates = []
    for _ in range(rounds):
        try:
            rates.append(measure())
        except* StandstillError as group:
            print(f"{workload.name}: {group.exceptions[0]}", file=sys.stderr)
    if not rates:
        return None
    return Rate(max(rate.pods_per_second for rate in rates), min(rate.milliseconds for rate in rates))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, action="append", help="sizes of the cluster [1000, 5000]")
    parser.add_argument("--workload", action="append", choices=[one.name for one in WORKLOADS], help="which [all]")
    parser.add_argument("--pods", type=int, default=PODS_MEASURED, help="how many are measured in process")
    parser.add_argument("--api", action="store_true", help="measure through the API too")
    parser.add_argument("--api-pods", type=int, default=API_PODS_MEASURED, help="how many are measured there")
    parser.add_argument(
        "--real", type=Path, metavar="DIR", help="through the API, also measure the real programs there"
    )
    parser.add_argument("--rounds", type=int, default=1, help="how often each is measured")
    options = parser.parse_args()
    table = Table(api=options.api)
    for workload in WORKLOADS:
        if options.workload and workload.name not in options.workload:
            continue
        for nodes in options.nodes or (1000, 5000):
            pods = workload.count(nodes, options.pods)
            milliseconds = min(in_process(workload, nodes, pods) for _ in range(options.rounds))
            rate = real = None
            api_pods = workload.count(nodes, options.api_pods)
            if options.api:
                rate = best_rate(workload, options.rounds, partial(api_rate, workload, nodes, api_pods))
            # Gates of proposals are unknown to it.
            if options.real is not None and not set(workload.gates) - RELEASED_GATES:
                real = best_rate(workload, options.rounds, partial(real_rate, options.real, workload, nodes, api_pods))
            table.row(workload, nodes, milliseconds, rate, real)


if __name__ == "__main__":
    main()
