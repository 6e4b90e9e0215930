"""Metrics of the APIs for resources, custom and external metrics.

upstream 1.36: pkg/controller/podautoscaler/metrics/client.go
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final
from urllib.parse import quote

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api.catalogue import KINDS
from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.api.times import parse_time
from mockkube.client.protocol import Client, Selection
from mockkube.controllers.podautoscaling.pod_metrics import MetricsError, PodMetric

POD_METRICS: Final = "PodMetrics.metrics.k8s.io"
_CUSTOM: Final = "/apis/custom.metrics.k8s.io/v1beta2"
_EXTERNAL: Final = "/apis/external.metrics.k8s.io/v1beta1"
# Window of values that tell none.
_DEFAULT_WINDOW_SECONDS: Final = 60
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

    async def get_pods_metric(
        self, metric: str, namespace: str, selector: str, metric_selector: str
    ) -> dict[str, PodMetric]:
        """Return the values of a metric by name of the selected pods; MetricsError if there is none."""
        path = f"{_CUSTOM}/namespaces/{quote(namespace)}/pods/*/{quote(metric)}"
        items = await self._get_custom(path, {"labelSelector": selector, "metricLabelSelector": metric_selector})
        if not items:
            raise MetricsError("no metrics returned from custom metrics API")
        return {one["describedObject"]["name"]: _read_pod_value(one) for one in items}

    async def get_object_metric(
        self, metric: str, namespace: str, described: ReadOnlyObject, metric_selector: str
    ) -> int:
        """Return the value of a metric of an object, in thousandths; MetricsError if it has none."""
        group, kind = described.get("apiVersion", "").rpartition("/")[0], described["kind"]
        # As upstream: of a namespace, only the autoscaler's own can be described.
        path = (
            f"metrics/{quote(metric)}"
            if (group, kind) == ("", "Namespace")
            else f"{_guess_resource(group, kind)}/{quote(described['name'])}/{quote(metric)}"
        )
        items = await self._get_custom(
            f"{_CUSTOM}/namespaces/{quote(namespace)}/{path}", {"metricLabelSelector": metric_selector}
        )
        if len(items) != 1:
            text = f"the custom metrics API server returned {len(items)} results when we asked for exactly one"
            raise MetricsError(f"{_CUSTOM_API}: {text}")
        return parse(items[0]["value"]).milli()

    async def _get_custom(self, path: str, query: Mapping[str, str]) -> Sequence[ReadOnlyObject]:
        try:
            answer = await self._client.get_path(path, {name: text for name, text in query.items() if text})
        except ApiError as error:
            is_served = error.message != _NOT_SERVED
            cause = error.message if is_served else "no custom metrics API (custom.metrics.k8s.io) registered"
            raise MetricsError(f"{_CUSTOM_API}: {cause}") from error
        items: Sequence[ReadOnlyObject] = answer["items"]
        return items

    async def get_external_metric(self, metric: str, namespace: str, selector: str) -> Sequence[int]:
        """Return the selected values of an external metric, in thousandths; MetricsError if there is none."""
        path = f"{_EXTERNAL}/namespaces/{quote(namespace)}/{quote(metric)}"
        try:
            answer = await self._client.get_path(path, {"labelSelector": selector} if selector else {})
        except ApiError as error:
            about = f" (get {metric}.external.metrics.k8s.io)" if error.message == _NOT_SERVED else ""
            raise MetricsError(f"{_EXTERNAL_API}: {error.message}{about}") from error
        if not answer["items"]:
            raise MetricsError("no metrics returned from external metrics API")
        return [parse(one["value"]).milli() for one in answer["items"]]


def _read_pod_value(item: ReadOnlyObject) -> PodMetric:
    seconds = item.get("windowSeconds", _DEFAULT_WINDOW_SECONDS)
    return PodMetric(parse(item["value"]).milli(), parse_time(item["timestamp"]), seconds)


@cache
def _guess_resource(group: str, kind: str) -> str:
    """Return plural and group of a kind, for a path; kinds that are not built in have a regular plural."""
    known = next((one.plural for one in KINDS if (one.group, one.kind) == (group, kind)), "")
    plural = known or _make_plural(kind.lower())
    return f"{plural}.{group}" if group else plural


def _make_plural(singular: str) -> str:
    # upstream 1.36: apimachinery/pkg/api/meta/restmapper.go, UnsafeGuessKindToResource
    if singular.endswith("s"):
        return f"{singular}es"
    return f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"


def _read_usage(metrics: ReadOnlyObject, resource: str, container: str) -> PodMetric | None:
    """Return the usage of a pod or of one of its containers; None if it is not known."""
    containers = [one for one in metrics.get("containers") or () if not container or one["name"] == container]
    usages = [usage for one in containers if (usage := (one.get("usage") or {}).get(resource)) is not None]
    if not usages or len(usages) < len(containers):
        return None
    window = parse_duration(metrics.get("window", "0s"))
    seconds = window.nanos / _NANOSECONDS if window is not None else 0.0
    return PodMetric(sum(parse(one).milli() for one in usages), parse_time(metrics["timestamp"]), seconds)
