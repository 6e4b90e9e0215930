"""Metrics of an API server under upstream's names."""

import re
from collections.abc import Iterable, Iterator, Sequence
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
        self.watchers = Gauge(
            "apiserver_longrunning_requests",
            "Gauge of all active long-running requests.",
            ("verb", "group", "version", "resource"),
            registry=self.registry,
        )
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
