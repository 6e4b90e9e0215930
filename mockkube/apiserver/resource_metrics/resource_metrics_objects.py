"""Objects of metrics.k8s.io/v1beta1: NodeMetrics and PodMetrics, computed from nodes and pods."""

# upstream metrics-server 0.8: pkg/api/{node,pod,table}.go, pkg/storage
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import Format, Quantity
from mockkube.api.quantities.resources import parse_amounts
from mockkube.api.times import parse_time, render_time
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import ListOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.resource_metrics.resource_metrics_api import API_VERSION, GROUP, PODS
from mockkube.apiserver.resource_metrics.scrapes import get_last_scrape, get_window_seconds
from mockkube.apiserver.resource_metrics.usage_reader import RunningPod, Usage, UsageReader
from mockkube.matching.usage.annotations import RESOURCES, USAGE_PREFIX, parse_curves

_FORMATS: Final = {"cpu": Format.DECIMAL_SI, "memory": Format.BINARY_SI}


class ResourceMetricsObjects:
    """Reads the usage of pods and nodes as objects."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._reader = UsageReader(registry)

    def get_object(self, plural: str, namespace: str, name: str) -> Object:
        """Return the usage of a pod or node; raise NotFound while it has none."""
        found = self._list(plural, namespace, lambda cached: cached.name == name)
        if found:
            return found[0]
        home = self._reader.pods if plural == PODS else self._reader.nodes
        if home.get_cached(namespace, name) is None:
            raise NotFound.for_object("", plural, name)
        kind, shown = ("podmetrics", f"{namespace}/{name}") if plural == PODS else ("nodemetrics", name)
        raise NotFound.for_object(GROUP, kind, shown)

    def list_objects(self, plural: str, namespace: str, options: ListOptions) -> list[Object]:
        """Return the usage of the selected pods or nodes."""
        labels, fields = options.labels, options.fields

        def is_selected(cached: CachedObject) -> bool:
            own = {"metadata.name": cached.name, "metadata.namespace": cached.namespace}
            return labels.matches(cached.labels) and fields.matches(own)

        return self._list(plural, namespace, is_selected)

    def _list(self, plural: str, namespace: str, is_selected: Callable[[CachedObject], bool]) -> list[Object]:
        now = self._registry.dependencies.clock.now()
        if plural == PODS:
            return list(self._list_pods(namespace, is_selected, now))
        return list(self._list_nodes(is_selected, now))

    def _list_pods(
        self, namespace: str, is_selected: Callable[[CachedObject], bool], now: datetime
    ) -> Iterable[Object]:
        scrape = get_last_scrape(now)
        chosen = [one for one in self._reader.list_pods(namespace) if is_selected(one.cached)]
        measured = [(one, window) for one in chosen if (window := _get_pod_window(one, scrape)) is not None]
        usage = self._reader.calculate([one for one, _ in measured], scrape)
        for (one, window), (_, by_container) in zip(measured, usage, strict=True):
            containers = [
                {"name": container.name, "usage": _render_usage(amounts)}
                for container, amounts in zip(one.pod.containers, by_container, strict=True)
            ]
            yield {**_make_object("PodMetrics", one.cached, now, scrape, window), "containers": containers}

    def _list_nodes(self, is_selected: Callable[[CachedObject], bool], now: datetime) -> Iterable[Object]:
        scrape, reader = get_last_scrape(now), self._reader
        chosen = [cached for cached in reader.nodes.collection.objects.values() if is_selected(cached)]
        running = reader.list_pods()
        names = {cached.name for cached in chosen}
        totals: dict[str, Usage] = {}
        for one, by_container in reader.calculate([one for one in running if one.node in names], scrape):
            total = totals.setdefault(one.node, dict.fromkeys(RESOURCES, Decimal(0)))
            for amounts in by_container:
                for resource, amount in amounts.items():
                    total[resource] += amount
        for cached in sorted(chosen, key=lambda one: one.name):
            node = cached.load()
            window = get_window_seconds(parse_time(node["metadata"]["creationTimestamp"]), scrape)
            if window is not None and reader.answers(cached.name):
                usage = calculate_node_usage(node, totals.get(cached.name) or {}, scrape)
                made = _make_object("NodeMetrics", cached, now, scrape, window)
                yield {**made, "usage": _render_usage(usage)}

    def make_table(self, plural: str, objects: Sequence[ReadOnlyObject]) -> Object:
        """Return column definitions and cells as metrics-server has them: none without objects."""
        if not objects:
            return {"columnDefinitions": None, "rows": []}
        columns = [
            {"name": "Name", "type": "string", "format": "name", "description": "Name of the resource", "priority": 0},
            *(_make_column(resource, "quantity") for resource in RESOURCES),
            _make_column("Window", "duration"),
        ]
        return {"columnDefinitions": columns, "rows": [_make_cells(plural, obj) for obj in objects]}


def calculate_node_usage(node: ReadOnlyObject, pods: Usage, now: datetime) -> Usage:
    """Return the usage of a node: what its annotations say, else that of its pods, at most its capacity."""
    capacity = parse_amounts((node.get("status") or {}).get("capacity"))
    curves = parse_curves(node, USAGE_PREFIX)
    age = (now - parse_time(node["metadata"]["creationTimestamp"])).total_seconds()
    usage = {}
    for resource in RESOURCES:
        amount = pods.get(resource, Decimal(0))
        if resource in curves:
            amount = curves[resource].get_amount(age)
        usage[resource] = min(amount, capacity.get(resource, amount))
    return usage


def _get_pod_window(one: RunningPod, scrape: datetime) -> int | None:
    """Return the time over which a pod was measured; None if one of its containers is too young."""
    windows = [get_window_seconds(container.started_at, scrape) for container in one.pod.containers]
    known = [window for window in windows if window is not None]
    return min(known) if len(known) == len(windows) else None


def _make_object(kind: str, cached: CachedObject, now: datetime, scrape: datetime, window: int) -> Object:
    metadata: Object = {"name": cached.name}
    if cached.namespace:
        metadata["namespace"] = cached.namespace
    # upstream: the time of the request, as the object has just been made.
    metadata["creationTimestamp"] = render_time(now)
    if cached.labels:
        metadata["labels"] = dict(cached.labels)
    return {
        "kind": kind,
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "timestamp": render_time(scrape),
        "window": f"{window}s",
    }


def _render_usage(usage: Usage) -> Object:
    return {resource: _render_amount(resource, usage[resource]) for resource in RESOURCES}


def _render_amount(resource: str, amount: Decimal) -> str:
    return str(Quantity(amount, _FORMATS[resource]))


def _make_column(name: str, style: str) -> Object:
    return {"name": name, "type": "string", "format": style, "description": "", "priority": 0}


def _make_cells(plural: str, obj: ReadOnlyObject) -> list[str]:
    parts = [one["usage"] for one in obj["containers"]] if plural == PODS else [obj["usage"]]
    sums = []
    for resource in RESOURCES:
        amounts = [parse_amounts(usage)[resource] for usage in parts]
        sums.append(_render_amount(resource, sum(amounts, Decimal(0))))
    return [obj["metadata"]["name"], *sums, obj["window"]]
