"""Metrics of an API server under upstream's names."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mockkube.apiserver.http.request_metrics import RequestMetrics
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import GateState
from mockkube.features.versions import binary_version

# Python writes a whole number as `1.0`, Go as `1`.
_WHOLE_NUMBER: Final = re.compile(rb'(^[^#].* \d+|le="\d+)\.0(?=$|")', re.MULTILINE)
_METHOD_LABELS: Final = {"create": "POST", "update": "PUT"}


def verb_label(verb: str) -> str:
    """Return the `verb` label of a request."""
    # upstream 1.36: staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go
    return _METHOD_LABELS.get(verb, verb.upper())


def dry_run_label(given: Sequence[str]) -> str:
    """Return the `dry_run` label of a request's dryRun parameters."""
    # upstream 1.36: cleanDryRun
    return "invalid" if any(one != "All" for one in given) else "All" if given else ""


def scope_label(verb: str, namespace: str, name: str) -> str:
    """Return the `scope` label of a request."""
    if name or verb == "create":
        return "resource"
    return "namespace" if namespace else "cluster"


class ApiServerMetrics:
    """Metrics of one API server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = RequestMetrics()
        self.observe = self._requests.observe
        self.forget_resource = self._requests.forget_resource

    def render(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return self._requests.render() + render(self.registry)


def register_version_and_gates(
    registry: CollectorRegistry, effective_version: EffectiveVersion, gates: Iterable[GateState]
) -> None:
    """Register the metrics of the compatibility version and the feature gates."""
    # upstream 1.36: staging/src/k8s.io/component-base/metrics/prometheus/{compatversion,feature}/metrics.go
    versions = Gauge(
        "version_info",
        "[ALPHA] Provides the compatibility version info of the component. The component label is the name of the "
        "component, usually kube, but is relevant for aggregated-apiservers.",
        ("binary", "component", "emulation", "min_compat"),
        registry=registry,
    )
    versions.labels(
        binary_version(effective_version.binary),
        "kube",
        str(effective_version.emulated),
        str(effective_version.min_compatibility),
    ).set(1)
    registry.register(_FeatureGateCollector(tuple(gates)))


class OpenWatchesCollector(Collector):
    """Collector of apiserver_longrunning_requests: the open watches of clients outside of the process."""

    def __init__(self, count_watches: Callable[[], Iterable[tuple[tuple[str, str, str, str], int]]]) -> None:
        """Take a function that returns the counts by group, version, resource and scope."""
        self._count_watches = count_watches

    def collect(self) -> Iterator[Metric]:
        """Yield one sample for each resource that is watched."""
        # upstream 1.36: staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go
        labels = ("verb", "group", "version", "resource", "subresource", "scope", "component")
        text = "[STABLE] Gauge of all active long-running apiserver requests."
        family = GaugeMetricFamily("apiserver_longrunning_requests", text, labels=labels)
        for (group, version, resource, scope), count in sorted(self._count_watches()):
            family.add_metric(("WATCH", group, version, resource, "", scope, "apiserver"), count)
        yield family


class StoredObjectsCollector(Collector):
    """Collector of apiserver_resource_objects."""

    def __init__(self, count_objects: Callable[[], Iterable[tuple[str, str, int]]]) -> None:
        """Take a function that returns group, resource and number of objects."""
        self._count_objects = count_objects

    def describe(self) -> Iterator[Metric]:
        """Return nothing: there are no objects when it is registered."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield one sample for each stored resource."""
        # upstream 1.36: staging/src/k8s.io/apiserver/pkg/storage/etcd3/metrics/metrics.go
        text = "[ALPHA] Number of stored objects at the time of last check split by kind."
        family = GaugeMetricFamily("apiserver_resource_objects", text, labels=("group", "resource"))
        for group, resource, count in self._count_objects():
            family.add_metric((group, resource), count)
        yield family


class _FeatureGateCollector(Collector):
    """Collector of kubernetes_feature_enabled; it builds the hundreds of gates only when it is scraped."""

    def __init__(self, gates: Sequence[GateState]) -> None:
        self._gates = gates

    def describe(self) -> Iterator[Metric]:
        """Return nothing, so that registering the collector does not collect the gates."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield 1 for each enabled gate and 0 for the others."""
        text = "[BETA] This metric records the data about the stage and enablement of a k8s feature."
        family = GaugeMetricFamily("kubernetes_feature_enabled", text, labels=["name", "stage"])
        for gate in self._gates:
            family.add_metric([gate.name, gate.stage], float(gate.enabled))
        yield family


def render(registry: CollectorRegistry) -> bytes:
    """Return the metrics of a registry in Prometheus' text format."""
    return _WHOLE_NUMBER.sub(rb"\1", generate_latest(registry))
