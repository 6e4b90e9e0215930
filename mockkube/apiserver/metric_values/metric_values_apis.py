"""API groups custom.metrics.k8s.io and external.metrics.k8s.io: their registration, and access to their values."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry.aggregated_api import MetricValuesApi, MetricValuesRequest
from mockkube.apiserver.registry.registry import Registry

if TYPE_CHECKING:
    from mockkube.apiserver.metric_values.custom_metrics import CustomMetrics
    from mockkube.apiserver.metric_values.external_metrics import ExternalMetrics

CUSTOM_METRICS: Final = "custom.metrics.k8s.io"
_EXTERNAL_METRICS: Final = "external.metrics.k8s.io"
EXTERNAL_METRICS_VERSION: Final = f"{_EXTERNAL_METRICS}/v1beta1"
# Priorities as prometheus-adapter registers them.
_GROUP_PRIORITY: Final = 100
_CUSTOM_PRIORITIES: Final = {"v1beta2": 200, "v1beta1": 100}


class CustomMetricsApi(MetricValuesApi):
    """One version of the custom metrics API of one server."""

    def __init__(self, registry: Registry, version: str) -> None:
        self._registry, self._version = registry, version

    @property
    def spec(self) -> ReadOnlyObject:
        """Spec of its APIService."""
        return _make_spec(CUSTOM_METRICS, self._version, _CUSTOM_PRIORITIES[self._version])

    @cached_property
    def _metrics(self) -> "CustomMetrics":
        from mockkube.apiserver.metric_values.custom_metrics import CustomMetrics  # many servers are never asked

        return CustomMetrics(self._registry, self._version)

    @property
    def resources(self) -> Sequence[Object]:
        """One resource for each metric of each kind of objects, `pods/METRIC`."""
        return self._metrics.list_resources()

    def read_values(self, request: MetricValuesRequest) -> Object:
        """Return a MetricValueList; raise NotFound for a metric that no object has."""
        return self._metrics.read_values(request)


class ExternalMetricsApi(MetricValuesApi):
    """The external metrics API of one server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @property
    def spec(self) -> ReadOnlyObject:
        """Spec of its APIService."""
        return _make_spec(_EXTERNAL_METRICS, "v1beta1", 100)

    @cached_property
    def _metrics(self) -> "ExternalMetrics":
        from mockkube.apiserver.metric_values.external_metrics import ExternalMetrics  # many servers are never asked

        return ExternalMetrics(self._registry)

    @property
    def resources(self) -> Sequence[Object]:
        """One resource for each metric."""
        return self._metrics.list_resources()

    def read_values(self, request: MetricValuesRequest) -> Object:
        """Return an ExternalMetricValueList; raise NotFound for a metric that no object has."""
        return self._metrics.read_values(request)


def make_metric_values_apis(registry: Registry) -> list[MetricValuesApi]:
    """Return the APIs of custom and external metrics."""
    return [*(CustomMetricsApi(registry, version) for version in _CUSTOM_PRIORITIES), ExternalMetricsApi(registry)]


def _make_spec(group: str, version: str, priority: int) -> ReadOnlyObject:
    return {"group": group, "version": version, "groupPriorityMinimum": _GROUP_PRIORITY, "versionPriority": priority}
