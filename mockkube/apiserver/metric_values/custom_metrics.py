"""Values of custom metrics: metrics of objects, from annotations."""

# upstream custom-metrics-apiserver 1.30: pkg/apiserver/installer, prometheus-adapter 0.12: pkg/custom-provider
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from mockkube.api.errors import BadRequest, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import Format, Quantity
from mockkube.api.selectors.label_selector_objects import to_label_selector
from mockkube.api.selectors.labels import EVERYTHING, LabelSelector
from mockkube.api.times import render_time
from mockkube.apiserver.metric_values.annotated_objects import AnnotatedObjects
from mockkube.apiserver.metric_values.errors import make_metric_not_found
from mockkube.apiserver.metric_values.metric_values_apis import CUSTOM_METRICS
from mockkube.apiserver.registry.aggregated_api import MetricValuesRequest
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.resource_metrics.usage_reader import UsageReader
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.usage.load_curve import LoadCurve, parse_load_curve
from mockkube.matching.usage.metric_annotations import CUSTOM_LOAD, CUSTOM_METRIC, find_metric, get_amount, parse_loads

_ALL_OBJECTS: Final = "*"
_NAMESPACES: Final = "namespaces"
# Path segment of metrics of a namespace: `namespaces/NAME/metrics/METRIC`.
_OF_NAMESPACE: Final = "metrics"
_PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class _MeasuredObject:
    """Object with the value of a metric."""

    obj: ReadOnlyObject
    value: Decimal


class CustomMetrics:
    """Custom metrics of one server, as one version of their API shows them."""

    def __init__(self, registry: Registry, version: str) -> None:
        self._registry, self._version = registry, version
        self._objects = AnnotatedObjects(registry, CUSTOM_METRIC)
        self._workloads = AnnotatedObjects(registry, CUSTOM_LOAD)
        self._usage = UsageReader(registry)

    def list_resources(self) -> Sequence[Object]:
        """One resource for each metric of each kind of objects, `pods/METRIC`."""
        names = {resource: set(metrics) for resource, metrics in self._objects.list_names().items()}
        names.setdefault(_PODS, set()).update(*self._workloads.list_names().values())
        return [
            {
                "name": f"{resource}/{metric}",
                "singularName": "",
                "namespaced": self._is_namespaced(resource),
                "kind": "MetricValueList",
                "verbs": ["get"],
            }
            for resource, metrics in sorted(names.items())
            for metric in sorted(metrics)
        ]

    def _is_namespaced(self, name: str) -> bool:
        resource = self._objects.find_resource(name)
        return resource is not None and resource.kind.namespaced

    def read_values(self, request: MetricValuesRequest) -> Object:
        """Return a MetricValueList; raise NotFound for a metric that no object has."""
        name, resource_name, metric, namespace = request.name, request.resource, request.subresource, request.namespace
        if resource_name == _OF_NAMESPACE and namespace and not metric:
            name, resource_name, metric, namespace = namespace, _NAMESPACES, request.name, ""
        resource = self._objects.find_resource(resource_name)
        if not name or not metric or (resource is not None and resource.kind.namespaced != bool(namespace)):
            raise NotFound.for_path()
        if resource is None:
            raise make_metric_not_found(metric, resource_name)
        wanted = request.labels if name == _ALL_OBJECTS else EVERYTHING
        found = list(self._measure(resource, namespace, "" if name == _ALL_OBJECTS else name, metric, wanted))
        if not found:
            self._check_known(resource, resource_name, metric, "" if name == _ALL_OBJECTS else name)
        items = [self._render(one, resource, metric, request.metric_labels) for one in found]
        version = f"{CUSTOM_METRICS}/{self._version}"
        return {"kind": "MetricValueList", "apiVersion": version, "metadata": {}, "items": items}

    def _measure(
        self, resource: Resource, namespace: str, name: str, metric: str, labels: LabelSelector
    ) -> Iterator[_MeasuredObject]:
        """Yield the selected objects that have a metric, those with an annotation of their own first."""
        now = self._registry.dependencies.clock.now()
        named = self._objects.get(resource, namespace, name) if name else None
        own = self._objects.select(resource, namespace, labels) if not name else [named] if named is not None else []
        measured = set()
        for obj in own:
            if text := find_metric(obj, CUSTOM_METRIC, metric):
                measured.add(obj["metadata"]["name"])
                yield _MeasuredObject(obj, get_amount(obj, _parse_curve(text), now))
        if resource.plural != _PODS or not self._workloads.list_names():
            return
        shares = self._usage.make_shares(now, parse_loads)
        for one in self._usage.list_pods(namespace):
            is_named = one.cached.name == name if name else labels.matches(one.cached.labels)
            share = shares.get_share(one) if is_named and one.cached.name not in measured else {}
            if metric in share:
                yield _MeasuredObject(one.cached.load(), share[metric])

    def _check_known(self, resource: Resource, shown: str, metric: str, name: str) -> None:
        """Raise NotFound if no object has the metric, or if one is asked for."""
        is_known = metric in self._objects.list_names_of(resource) or (
            resource.plural == _PODS and any(metric in names for names in self._workloads.list_names().values())
        )
        if name or not is_known:
            raise make_metric_not_found(metric, shown, name if is_known else "")

    def _render(
        self, measured: _MeasuredObject, resource: Resource, metric: str, metric_labels: LabelSelector
    ) -> Object:
        metadata = measured.obj["metadata"]
        described: Object = {"kind": resource.kind.kind}
        if resource.kind.namespaced:
            described["namespace"] = metadata["namespace"]
        # As the adapter writes it: with a slash also where the group is empty.
        described |= {"name": metadata["name"], "apiVersion": f"{resource.group}/{resource.version}"}
        selector = None if metric_labels.is_empty else to_label_selector(metric_labels)
        now = self._registry.dependencies.clock.now()
        value = {"timestamp": render_time(now), "value": render_value(measured.value)}
        if self._version == "v1beta1":
            return {"describedObject": described, "metricName": metric, **value, "selector": selector}
        return {"describedObject": described, "metric": {"name": metric, "selector": selector}, **value}


def render_value(amount: Decimal) -> str:
    """Return the amount of a metric as a quantity, in thousandths."""
    return str(Quantity(round(amount, 3), Format.DECIMAL_SI))


def _parse_curve(text: str) -> LoadCurve:
    try:
        return parse_load_curve(text)
    except ValueError as error:
        raise BadRequest(str(error)) from error
