"""What the server measures of itself, under upstream's names."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import State
from mockkube.features.versions import binary_text

_BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)  # fmt: skip
_WHOLE: Final = re.compile(rb'(^[^#].* \d+|le="\d+)\.0(?=$|")', re.MULTILINE)
"""A whole number as Python writes it; Go leaves the fraction out."""
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "dry_run")


WAITING_MAX: Final = 1024
"""How many requests of the same labels wait to be counted; nobody may ever look."""
_METHODS: Final = {"create": "POST", "update": "PUT"}


def verb_label(verb: str) -> str:
    """Return what metrics call a verb: mostly itself, sometimes the method it came with."""
    # upstream 1.36: staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go
    return _METHODS.get(verb, verb.upper())


def dry_run_label(given: Sequence[str]) -> str:
    """Return what metrics call the `dryRun` parameters of a request, of which there is one that means something."""
    # upstream 1.36: cleanDryRun
    return "invalid" if any(one != "All" for one in given) else "All" if given else ""


def scope_label(verb: str, namespace: str, name: str) -> str:
    """Return what metrics call the reach of a request."""
    if name or verb == "create":
        return "resource"
    return "namespace" if namespace else "cluster"


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "apiserver_request",
            "Counter of apiserver requests broken out for each verb, resource, scope and HTTP response code.",
            (*_LABELS, "code"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "apiserver_request_duration_seconds",
            "Response latency distribution in seconds for each verb, resource and scope.",
            _LABELS,
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.watchers = Gauge(
            "apiserver_longrunning_requests",
            "Gauge of all active long-running requests.",
            ("verb", "group", "version", "resource"),
            registry=self.registry,
        )
        self._waiting: dict[tuple[tuple[str, ...], int], list[float]] = {}
        """The seconds of requests not yet counted, by labels and code: to make a series is dear, few are looked at."""

    def observe(self, labels: tuple[str, ...], code: int, seconds: float) -> None:  # hot: per request
        """Count a finished request."""
        waiting = self._waiting.get((labels, code))
        if waiting is None:
            waiting = self._waiting[labels, code] = []
        waiting.append(seconds)
        if len(waiting) >= WAITING_MAX:
            self._count(labels, code, waiting)

    def _count(self, labels: tuple[str, ...], code: int, waiting: list[float]) -> None:
        if not waiting:
            return
        self._requests.labels(*labels, str(code)).inc(len(waiting))
        histogram = self._seconds.labels(*labels)
        for seconds in waiting:
            histogram.observe(seconds)
        waiting.clear()

    def render(self) -> bytes:
        """Return the text Prometheus scrapes."""
        self._count_all()
        return render(self.registry)

    async def render_in_thread(self) -> bytes:
        """Return the same without holding the event loop: many series take a second to write."""
        self._count_all()
        return await asyncio.to_thread(render, self.registry)

    def _count_all(self) -> None:
        for (labels, code), waiting in self._waiting.items():
            self._count(labels, code, waiting)


def describe(registry: CollectorRegistry, standing: EffectiveVersion, gates: Iterable[State]) -> None:
    """Tell the versions and every gate, once, when the server starts."""
    # upstream 1.36: staging/src/k8s.io/component-base/metrics/prometheus/{compatversion,feature}/metrics.go
    versions = Gauge(
        "version_info",
        "[ALPHA] Provides the compatibility version info of the component. The component label is the name of the "
        "component, usually kube, but is relevant for aggregated-apiservers.",
        ("binary", "component", "emulation", "min_compat"),
        registry=registry,
    )
    versions.labels(binary_text(standing.binary), "kube", str(standing.emulated), str(standing.minimum)).set(1)
    registry.register(_Gates(tuple(gates)))


class _Gates(Collector):
    """Tells of every gate when somebody asks: there are hundreds, and most servers are never asked."""

    def __init__(self, gates: Sequence[State]) -> None:
        self._gates = gates

    def describe(self) -> Iterator[Metric]:
        """Return nothing: what there is never changes."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Return 1 for each gate that is on, 0 for the others."""
        text = "[BETA] This metric records the data about the stage and enablement of a k8s feature."
        family = GaugeMetricFamily("kubernetes_feature_enabled", text, labels=["name", "stage"])
        for gate in self._gates:
            family.add_metric([gate.name, gate.stage], float(gate.enabled))
        yield family


def render(registry: CollectorRegistry) -> bytes:
    """The text Prometheus scrapes."""
    return _WHOLE.sub(rb"\1", generate_latest(registry))
