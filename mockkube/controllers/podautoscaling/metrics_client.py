"""Metrics of the resource metrics API, and simulated ones that annotations give.

upstream 1.36: pkg/controller/podautoscaler/metrics/client.go
differs: no adapter serves custom and external metrics, so annotations take its place.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import Quantity, parse
from mockkube.api.times import parse_time
from mockkube.client.protocol import Client, Key, Selection
from mockkube.controllers.podautoscaling.pod_metrics import MetricsError, PodMetric
from mockkube.matching.usage.load_curve import parse_load_curve

POD_METRICS: Final = "PodMetrics.metrics.k8s.io"
# Annotation of a pod or another object: a load curve of its metric after the slash, over the age of the object.
CUSTOM_METRIC: Final = "custom.metrics.mockkube.dev/"
# Annotation of a HorizontalPodAutoscaler: the load curves of an external metric, separated by commas.
EXTERNAL_METRIC: Final = "external.metrics.mockkube.dev/"
_RESOURCE_API: Final = "unable to fetch metrics from resource metrics API"
_CUSTOM_API: Final = "unable to fetch metrics from custom metrics API"
_EXTERNAL_API: Final = "unable to fetch metrics from external metrics API"
_NOT_SERVED: Final = "the server could not find the requested resource"
_NANOSECONDS: Final = 1e9


class MetricsClient:
    """Reads metrics as upstream's client does, with its error texts."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get_resource_metric(
        self, resource: str, namespace: str, selector: str, container: str = ""
    ) -> dict[str, PodMetric]:
        """Return the usage of a resource by name of the pod; MetricsError if there is none."""
        try:
            listed = await self._client.list(POD_METRICS, Selection(namespace=namespace, labels=selector))
        except NotFound as error:
            raise MetricsError(f"{_RESOURCE_API}: {_NOT_SERVED} (get pods.metrics.k8s.io)") from error
        except ApiError as error:
            raise MetricsError(f"{_RESOURCE_API}: {error.message}") from error
        if not listed.items:
            raise MetricsError("no metrics returned from resource metrics API")
        found = ((one["metadata"]["name"], _read_usage(one, resource, container)) for one in listed.items)
        return {name: metric for name, metric in found if metric is not None}

    def get_pods_metric(self, metric: str, pods: Iterable[ReadOnlyObject], now: datetime) -> dict[str, PodMetric]:
        """Return the values of a metric that pods have in an annotation; MetricsError if none has it."""
        values = {
            pod["metadata"]["name"]: PodMetric(_read_value(pod, text, now, _CUSTOM_API), now)
            for pod in pods
            if (text := _annotation(pod, CUSTOM_METRIC + metric))
        }
        if not values:
            raise MetricsError(f"{_CUSTOM_API}: no custom metrics API (custom.metrics.k8s.io) registered")
        return values

    async def get_object_metric(self, metric: str, namespace: str, described: ReadOnlyObject, now: datetime) -> int:
        """Return the value of a metric that an object has in an annotation, in thousandths."""
        group = described.get("apiVersion", "").rpartition("/")[0]
        kind = f"{described['kind']}.{group}" if group else described["kind"]
        name = described["name"]
        # As upstream: of a namespace, only the autoscaler's own can be described.
        key = Key("", namespace) if kind == "Namespace" else Key(namespace, name)
        try:
            found = await self._client.get(kind, key)
        except ApiError as error:
            raise MetricsError(f"{_CUSTOM_API}: {error.message}") from error
        text = _annotation(found, CUSTOM_METRIC + metric)
        if not text:
            raise MetricsError(f"{_CUSTOM_API}: no custom metrics API (custom.metrics.k8s.io) registered")
        return _read_value(found, text, now, _CUSTOM_API)

    def get_external_metric(self, metric: str, autoscaler: ReadOnlyObject, now: datetime) -> Sequence[int]:
        """Return the values of an external metric that the autoscaler has in an annotation, in thousandths."""
        text = _annotation(autoscaler, EXTERNAL_METRIC + metric)
        if not text:
            raise MetricsError(f"{_EXTERNAL_API}: {_NOT_SERVED} (get {metric}.external.metrics.k8s.io)")
        return [_read_value(autoscaler, one, now, _EXTERNAL_API) for one in text.split(",")]


def _read_usage(metrics: ReadOnlyObject, resource: str, container: str) -> PodMetric | None:
    """Return the usage of a pod or of one of its containers; None if it is not known."""
    containers = [one for one in metrics.get("containers") or () if not container or one["name"] == container]
    usages = [usage for one in containers if (usage := (one.get("usage") or {}).get(resource)) is not None]
    if not usages or len(usages) < len(containers):
        return None
    window = parse_duration(metrics.get("window", "0s"))
    seconds = window.nanos / _NANOSECONDS if window is not None else 0.0
    return PodMetric(sum(parse(one).milli() for one in usages), parse_time(metrics["timestamp"]), seconds)


def _annotation(obj: ReadOnlyObject, name: str) -> str:
    text: str = (obj["metadata"].get("annotations") or {}).get(name, "")
    return text


def _read_value(obj: ReadOnlyObject, text: str, now: datetime, api: str) -> int:
    """Return the value of a load curve at the age of an object, in thousandths."""
    try:
        curve = parse_load_curve(text)
    except ValueError as error:
        raise MetricsError(f"{api}: {error}") from error
    start = (obj.get("status") or {}).get("startTime") or obj["metadata"]["creationTimestamp"]
    return Quantity(curve.get_amount((now - parse_time(start)).total_seconds())).milli()
