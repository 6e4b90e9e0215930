"""Pages of a simulated kubelet about usage: `/stats/summary` and `/metrics/resource`."""

# upstream 1.36: pkg/kubelet/metrics/collectors/resource_metrics.go, pkg/kubelet/server/stats/summary.go
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final

import orjson

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.api.times import render_time
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.resource_metrics.resource_metrics_objects import calculate_node_usage
from mockkube.apiserver.resource_metrics.usage_reader import Usage, UsageReader
from mockkube.lazy_dataclasses import dataclass

_NANO: Final = Decimal(10) ** 9
_GAUGE: Final = "gauge"
_METRICS: Final[Mapping[str, tuple[str, str]]] = {
    "container_cpu_usage_seconds_total": (
        "counter", "Cumulative cpu time consumed by the container in core-seconds",
    ),
    "container_memory_working_set_bytes": (_GAUGE, "Current working set of the container in bytes"),
    "container_start_time_seconds": (_GAUGE, "Start time of the container since unix epoch in seconds"),
    "node_cpu_usage_seconds_total": ("counter", "Cumulative cpu time consumed by the node in core-seconds"),
    "node_memory_working_set_bytes": (_GAUGE, "Current working set of the node in bytes"),
    "pod_cpu_usage_seconds_total": ("counter", "Cumulative cpu time consumed by the pod in core-seconds"),
    "pod_memory_working_set_bytes": (_GAUGE, "Current working set of the pod in bytes"),
    "resource_scrape_error": (_GAUGE, "1 if there was an error while getting container metrics, 0 otherwise"),
}  # fmt: skip
# Samples of these carry no time, as upstream.
_WITHOUT_TIME: Final = ("container_start_time_seconds", "resource_scrape_error")


@dataclass(frozen=True, slots=True)
class Measurement:
    """Usage at a time: cores, core-seconds since the start, and bytes of memory."""

    cores: Decimal
    core_seconds: Decimal
    memory: Decimal


@dataclass(frozen=True, slots=True)
class MeasuredContainer:
    """Running container and its usage."""

    name: str
    started_at: datetime
    usage: Measurement


@dataclass(frozen=True, slots=True)
class MeasuredPod:
    """Running pod, its containers and their usage together."""

    name: str
    namespace: str
    uid: str
    started_at: datetime
    containers: tuple[MeasuredContainer, ...]

    @property
    def usage(self) -> Measurement:
        """Usage of all containers."""
        parts = [one.usage for one in self.containers]
        return Measurement(
            sum((one.cores for one in parts), Decimal(0)),
            sum((one.core_seconds for one in parts), Decimal(0)),
            sum((one.memory for one in parts), Decimal(0)),
        )


@dataclass(frozen=True, slots=True)
class MeasuredNode:
    """Node with its usage and its running pods."""

    node: ReadOnlyObject
    now: datetime
    usage: Measurement
    pods: tuple[MeasuredPod, ...]


def measure_node(registry: Registry, node: ReadOnlyObject) -> MeasuredNode:
    """Return the usage of a node and of its pods, as its kubelet measures them now."""
    now, name = registry.dependencies.clock.now(), node["metadata"]["name"]
    counters = registry.dependencies.simulated_kubelets.cpu_counters
    reader = UsageReader(registry)
    pods = []
    for one, usage in reader.calculate([one for one in reader.list_pods() if one.node == name], now):
        metadata = one.cached.load()["metadata"]
        containers = []
        for container, amounts in zip(one.pod.containers, usage, strict=True):
            seconds = counters.count((metadata["uid"], container.name), container.started_at, now, amounts["cpu"])
            measured = Measurement(amounts["cpu"], seconds, amounts["memory"])
            containers.append(MeasuredContainer(container.name, container.started_at, measured))
        pods.append(
            MeasuredPod(metadata["name"], metadata["namespace"], metadata["uid"], one.pod.started_at, tuple(containers))
        )
    total = _measure_total(registry, node, pods, now)
    return MeasuredNode(node, now, total, tuple(pods))


def _measure_total(registry: Registry, node: ReadOnlyObject, pods: list[MeasuredPod], now: datetime) -> Measurement:
    of_pods: Usage = {
        "cpu": sum((one.usage.cores for one in pods), Decimal(0)),
        "memory": sum((one.usage.memory for one in pods), Decimal(0)),
    }
    usage = calculate_node_usage(node, of_pods, now)
    metadata, counters = node["metadata"], registry.dependencies.simulated_kubelets.cpu_counters
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    # A node counts on when a pod of it is gone, so its time is not the sum of its pods.
    return Measurement(usage["cpu"], counters.count((metadata["uid"], ""), created, now, usage["cpu"]), usage["memory"])


def render_resource_metrics(measured: MeasuredNode) -> bytes:
    """Return `/metrics/resource`."""
    samples: dict[str, list[str]] = {name: [] for name in _METRICS}

    def add(name: str, labels: Mapping[str, str], value: Decimal) -> None:
        shown = ",".join(f'{key}="{text}"' for key, text in labels.items())
        at = "" if name in _WITHOUT_TIME else f" {int(measured.now.timestamp() * 1000)}"
        samples[name].append(f"{name}{f'{{{shown}}}' if shown else ''} {_render_value(value)}{at}")

    def add_usage(prefix: str, labels: Mapping[str, str], usage: Measurement) -> None:
        add(f"{prefix}_cpu_usage_seconds_total", labels, usage.core_seconds)
        add(f"{prefix}_memory_working_set_bytes", labels, usage.memory)

    add_usage("node", {}, measured.usage)
    for pod in measured.pods:
        labels = {"namespace": pod.namespace, "pod": pod.name}
        for container in pod.containers:
            own = {"container": container.name, **labels}
            add("container_start_time_seconds", own, Decimal(int(container.started_at.timestamp())))
            add_usage("container", own, container.usage)
        add_usage("pod", labels, pod.usage)
    add("resource_scrape_error", {}, Decimal(0))
    return "".join(f"{line}\n" for line in _render_families(samples)).encode()


def _render_families(samples: Mapping[str, list[str]]) -> Iterator[str]:
    for name, (kind, text) in _METRICS.items():
        if samples[name]:
            yield f"# HELP {name} [STABLE] {text}"
            yield f"# TYPE {name} {kind}"
            yield from samples[name]


def _render_value(value: Decimal) -> str:
    """Return a sample as a decimal without a needless point: `0.25`, `67108864`."""
    return f"{value:f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def render_summary(measured: MeasuredNode) -> bytes:
    """Return `/stats/summary`."""
    time, metadata = render_time(measured.now), measured.node["metadata"]
    capacity = (measured.node.get("status") or {}).get("capacity") or {}
    node = {
        "nodeName": metadata["name"],
        "startTime": metadata["creationTimestamp"],
        **_make_usage(time, measured.usage, _read_bytes(capacity, "memory")),
        "fs": _make_file_system(time, _read_bytes(capacity, "ephemeral-storage")),
    }
    return orjson.dumps({"node": node, "pods": [_make_pod_summary(pod, time) for pod in measured.pods]})


def _make_pod_summary(pod: MeasuredPod, time: str) -> Object:
    containers = [
        {"name": one.name, "startTime": render_time(one.started_at), **_make_usage(time, one.usage)}
        for one in pod.containers
    ]
    return {
        "podRef": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "startTime": render_time(pod.started_at),
        "containers": containers,
        **_make_usage(time, pod.usage),
    }


def _make_usage(time: str, usage: Measurement, capacity: int | None = None) -> Object:
    used = int(usage.memory)
    memory: Object = {"time": time, "usageBytes": used, "workingSetBytes": used, "rssBytes": used}
    if capacity is not None:
        memory["availableBytes"] = max(0, capacity - used)
    cores = {"usageNanoCores": int(usage.cores * _NANO), "usageCoreNanoSeconds": int(usage.core_seconds * _NANO)}
    return {"cpu": {"time": time, **cores}, "memory": memory}


def _make_file_system(time: str, capacity: int) -> Object:
    return {"time": time, "availableBytes": capacity, "capacityBytes": capacity, "usedBytes": 0}


def _read_bytes(capacity: Mapping[str, str], name: str) -> int:
    return parse(capacity.get(name, "0")).value()
