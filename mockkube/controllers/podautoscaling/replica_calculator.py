"""Numbers of replicas that follow from metrics: pure functions.

upstream 1.36: pkg/controller/podautoscaler/replica_calculator.go
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_quantities import add_quantities, calculate_pod_quantities, parse_resource_list
from mockkube.api.quantities.pod_requests import has_pod_level_requests
from mockkube.api.quantities.quantity import parse
from mockkube.api.times import parse_time
from mockkube.controllers.podautoscaling.pod_metrics import (
    MetricsError,
    PodMetric,
    UsageRatio,
    calculate_average_ratio,
    calculate_utilization_ratio,
)
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_ready

_INT32_MAX: Final = 2**31 - 1
_NO_PODS: Final = "no pods returned by selector while calculating replica count"
_NO_METRICS: Final = "did not receive metrics for targeted pods (pods might be unready)"


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Deviations of the usage from its target, down and up, that change nothing."""

    down: float
    up: float

    def contain(self, ratio: float) -> bool:
        """Return whether a ratio of usage to target is near enough to one."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed number of replicas, and the usage that it follows from, in thousandths."""

    replicas: int
    usage: int
    utilization: int | None = None


@dataclass(frozen=True, slots=True)
class PodRules:
    """Rules by which metrics of pods that start are left out; resource is empty for other metrics."""

    now: datetime
    cpu_initialization: timedelta
    initial_readiness_delay: timedelta
    resource: str = ""


@dataclass(frozen=True, slots=True)
class PodGroups:
    """Number of pods that count, and names of those that do not, by reason."""

    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def group_pods(pods: Sequence[ReadOnlyObject], metrics: Mapping[str, PodMetric], rules: PodRules) -> PodGroups:
    """Return which pods count: not those that fail, end, start or have no metric."""
    ready, unready, missing, ignored = 0, set[str](), set[str](), set[str]()
    for pod in pods:
        metadata, status = pod["metadata"], pod.get("status") or {}
        name = metadata["name"]
        if metadata.get("deletionTimestamp") or status.get("phase") == "Failed":
            ignored.add(name)
        elif status.get("phase", "Pending") == "Pending":
            unready.add(name)
        elif name not in metrics:
            missing.add(name)
        elif rules.resource == "cpu" and _is_starting(status, metrics[name], rules):
            unready.add(name)
        else:
            ready += 1
    return PodGroups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _is_starting(status: ReadOnlyObject, metric: PodMetric, rules: PodRules) -> bool:
    """Return whether the CPU usage of a pod is that of its start."""
    condition, started = find_condition(status.get("conditions") or (), "Ready"), status.get("startTime")
    if condition is None or not started:
        return True
    start, since = parse_time(started), parse_time(condition.get("lastTransitionTime") or started)
    is_unready = condition.get("status") == "False"
    if start + rules.cpu_initialization > rules.now:
        return is_unready or metric.timestamp < since + timedelta(seconds=metric.window_seconds)
    return is_unready and start + rules.initial_readiness_delay > since


@dataclass(frozen=True, slots=True)
class PodMetrics:
    """Metrics of the selected pods by name, with the pods themselves."""

    pods: Sequence[ReadOnlyObject]
    metrics: Mapping[str, PodMetric]
    rules: PodRules


def propose_by_utilization(
    measured: PodMetrics, current: int, target: int, requests: Callable[[], Mapping[str, int]], tolerances: Tolerances
) -> Proposal:
    """Return the replicas for a utilization of the requests, in percent."""
    groups, values = _select(measured)
    requested = requests()
    # On a scale-down, a pod without metrics counts as one that uses all of its request.
    fallback = max(100, target)
    return _propose(
        current,
        groups,
        values,
        lambda used: calculate_utilization_ratio(used, requested, target),
        lambda name: requested[name] * fallback // 100,
        tolerances,
    )


def propose_by_average(measured: PodMetrics, current: int, target: int, tolerances: Tolerances) -> Proposal:
    """Return the replicas for an average value, in thousandths."""
    groups, values = _select(measured)
    return _propose(
        current, groups, values, lambda used: calculate_average_ratio(used, target), lambda _: target, tolerances
    )


def _select(measured: PodMetrics) -> tuple[PodGroups, dict[str, int]]:
    """Return the groups of the pods, and the values of those that count."""
    if not measured.pods:
        raise MetricsError(_NO_PODS)
    groups = group_pods(measured.pods, measured.metrics, measured.rules)
    skipped = groups.ignored | groups.unready
    values = {name: metric.value for name, metric in measured.metrics.items() if name not in skipped}
    if not values:
        raise MetricsError(_NO_METRICS)
    return groups, values


def _propose(
    current: int,
    groups: PodGroups,
    values: dict[str, int],
    calculate_ratio: Callable[[Mapping[str, int]], UsageRatio],
    missing_value: Callable[[str], int],
    tolerances: Tolerances,
) -> Proposal:
    """Return the replicas that bring the ratio to one, carefully if pods are unready or have no metrics."""
    first = calculate_ratio(values)
    unchanged = Proposal(current, first.average, first.utilization)
    rises = first.ratio > 1.0
    counts_unready = bool(groups.unready) and rises
    if not counts_unready and not groups.missing:
        if tolerances.contain(first.ratio):
            return unchanged
        return Proposal(ceil(first.ratio * groups.ready), first.average, first.utilization)
    # Whatever is unknown dampens the change: it counts as unused when usage is high, as used when it is low.
    guessed = dict(values)
    if first.ratio < 1.0:
        guessed |= {name: missing_value(name) for name in groups.missing}
    elif rises:
        guessed |= dict.fromkeys(groups.missing, 0)
    if counts_unready:
        guessed |= dict.fromkeys(groups.unready, 0)
    ratio = calculate_ratio(guessed).ratio
    if tolerances.contain(ratio) or (first.ratio < 1.0 < ratio) or (ratio < 1.0 < first.ratio):
        return unchanged
    replicas = ceil(ratio * len(guessed))
    if (ratio < 1.0 and replicas > current) or (ratio > 1.0 and replicas < current):
        return unchanged
    return Proposal(replicas, first.average, first.utilization)


def propose_by_value(
    usage: int, target: int, current: int, pods: Sequence[ReadOnlyObject], tolerances: Tolerances
) -> Proposal:
    """Return the replicas that bring a value of the whole workload to its target; ready pods count."""
    ratio = usage / target
    if not current:
        return Proposal(ceil(ratio), usage)
    if tolerances.contain(ratio):
        return Proposal(current, usage)
    if not pods:
        raise MetricsError(f"unable to calculate ready pods: {_NO_PODS}")
    ready = sum((pod.get("status") or {}).get("phase") == "Running" and is_ready(pod) for pod in pods)
    return Proposal(min(ceil(ratio * ready), _INT32_MAX), usage)


def propose_by_value_per_pod(usage: int, target: int, replicas: int, tolerances: Tolerances) -> Proposal:
    """Return the replicas that bring a value, divided by the replicas, to its target."""
    # differs: without a replica, upstream divides by zero and reports what the processor makes of it.
    average = ceil(usage / replicas) if replicas else usage
    if replicas and tolerances.contain(usage / (target * replicas)):
        return Proposal(replicas, average)
    return Proposal(min(ceil(usage / target), _INT32_MAX), average)


def calculate_requests(
    pods: Sequence[ReadOnlyObject], resource: str, container: str, *, pod_level: bool
) -> dict[str, int]:
    """Return the requests by name of the pod, in thousandths; MetricsError if a container has none."""
    return {pod["metadata"]["name"]: _request_of(pod, resource, container, pod_level=pod_level) for pod in pods}


def _request_of(pod: ReadOnlyObject, resource: str, container: str, *, pod_level: bool) -> int:
    spec, name = pod["spec"], pod["metadata"]["name"]
    if pod_level and not container and has_pod_level_requests(spec):
        requests = calculate_pod_quantities(spec, "requests", pod_level=True)
        add_quantities(requests, parse_resource_list(spec.get("overhead")))
        if resource not in requests:
            raise MetricsError(f"missing pod-level request for {resource} in Pod {name}")
        return requests[resource].milli()
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    total = 0
    for one in (*spec["containers"], *sidecars):
        if container and one["name"] != container:
            continue
        request = ((one.get("resources") or {}).get("requests") or {}).get(resource)
        if request is None:
            raise MetricsError(f"missing request for {resource} in container {one['name']} of Pod {name}")
        total += parse(request).milli()
        if container:
            return total
    if container:
        raise MetricsError(f"container {container} not found in Pod {name}")
    return total
