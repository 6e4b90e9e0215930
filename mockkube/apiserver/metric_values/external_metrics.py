"""Values of external metrics: metrics of nothing in the cluster, from annotations."""

# upstream custom-metrics-apiserver 1.30: pkg/apiserver/installer, prometheus-adapter 0.12: pkg/external-provider
from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.api.errors import BadRequest, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.selectors.labels import EVERYTHING
from mockkube.api.times import render_time
from mockkube.apiserver.metric_values.annotated_objects import AnnotatedObjects
from mockkube.apiserver.metric_values.custom_metrics import render_value
from mockkube.apiserver.metric_values.errors import make_metric_not_found
from mockkube.apiserver.metric_values.metric_values_apis import EXTERNAL_METRICS_VERSION
from mockkube.apiserver.registry.aggregated_api import MetricValuesRequest
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource
from mockkube.matching.usage.metric_annotations import (
    EXTERNAL_METRIC,
    find_metric,
    get_amount,
    parse_external_values,
)

# Label of a value that an autoscaler has in an annotation: the name of the autoscaler.
AUTOSCALER_LABEL: Final = "horizontalpodautoscaler"


class ExternalMetrics:
    """External metrics of one server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._objects = AnnotatedObjects(registry, EXTERNAL_METRIC)

    def list_resources(self) -> Sequence[Object]:
        """One resource for each metric."""
        names = {metric for resource in self._list_sources() for metric in self._objects.list_names_of(resource)}
        return [
            {
                "name": metric,
                "singularName": "",
                "namespaced": True,
                "kind": "ExternalMetricValueList",
                "verbs": ["get"],
            }
            for metric in sorted(names)
        ]

    def _list_sources(self) -> Iterator[Resource]:
        for name in ("namespaces", "horizontalpodautoscalers.autoscaling"):
            if (resource := self._objects.find_resource(name)) is not None:
                yield resource

    def read_values(self, request: MetricValuesRequest) -> Object:
        """Return an ExternalMetricValueList; raise NotFound for a metric that no object has."""
        metric, namespace = request.resource, request.namespace
        if not namespace or request.name:
            raise NotFound.for_path()
        items = [one for one in self._read_items(metric, namespace) if request.labels.matches(one["metricLabels"])]
        if not items and all(metric not in self._objects.list_names_of(one) for one in self._list_sources()):
            raise make_metric_not_found(metric, "namespaces")
        return {
            "kind": "ExternalMetricValueList", "apiVersion": EXTERNAL_METRICS_VERSION, "metadata": {}, "items": items
        }  # fmt: skip

    def _read_items(self, metric: str, namespace: str) -> Iterator[Object]:
        now = self._registry.dependencies.clock.now()
        for obj, common in self._list_objects(namespace):
            if not (text := find_metric(obj, EXTERNAL_METRIC, metric)):
                continue
            try:
                values = parse_external_values(text)
            except ValueError as error:
                raise BadRequest(str(error)) from error
            for one in values:
                yield {
                    "metricName": metric,
                    "metricLabels": {**common, **one.labels},
                    "timestamp": render_time(now),
                    "value": render_value(get_amount(obj, one.curve, now)),
                }

    def _list_objects(self, namespace: str) -> Iterator[tuple[ReadOnlyObject, dict[str, str]]]:
        """Yield the namespace and its autoscalers, with the labels of their values."""
        for resource in self._list_sources():
            if not resource.kind.namespaced:
                if (found := self._objects.get(resource, "", namespace)) is not None:
                    yield found, {}
                continue
            for obj in self._objects.select(resource, namespace, EVERYTHING):
                yield obj, {AUTOSCALER_LABEL: obj["metadata"]["name"]}
