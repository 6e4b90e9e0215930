"""Metrics of the scheduler, with upstream's names.

Counting happens several times per pod, so it is a plain addition; samples are built only when a scrape collects them.

upstream 1.36: pkg/scheduler/metrics/metrics.go
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

Labels = tuple[str, ...]
# Percentage of cycles in which plugins are timed. upstream: pluginMetricsSamplePercent
PLUGIN_SAMPLE_PERCENT: Final = 10


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return bucket bounds that grow by a factor."""
    return tuple(start * factor**power for power in range(count))


class Counter:
    """Counts by labels."""

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        self._name, self._help, self._labels = name, help_text, labels
        self.values: dict[Labels, int] = {} if labels else {(): 0}

    def add(self, *labels: str, amount: int = 1) -> None:  # hot: several times per pod
        """Increase the count of some labels."""
        self.values[labels] = self.values.get(labels, 0) + amount

    def to_family(self) -> Metric:
        """Return the samples for a scrape."""
        family = CounterMetricFamily(self._name, self._help, labels=self._labels)
        for labels, value in self.values.items():
            family.add_metric(labels, value)
        return family


class _Series:
    """Values with the same labels: how many are in each bucket, and their sum."""

    __slots__ = ("counts", "total")

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts
        self.total = 0.0


class Histogram:
    """Distribution of durations or sizes, by labels."""

    def __init__(self, name: str, help_text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        self._name, self._help, self._bounds, self._labels = name, help_text, bounds, labels
        self._series: dict[Labels, _Series] = {}

    def observe(self, value: float, *labels: str) -> None:  # hot: several times per pod
        """Add one value."""
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = _Series([0] * (len(self._bounds) + 1))
        series.counts[bisect_left(self._bounds, value)] += 1
        series.total += value

    def count(self, *labels: str) -> int:
        """Return the number of values."""
        series = self._series.get(labels)
        return 0 if series is None else sum(series.counts)

    def to_family(self) -> Metric:
        """Return the samples for a scrape."""
        family = HistogramMetricFamily(self._name, self._help, labels=self._labels)
        for labels, series in self._series.items():
            family.add_metric(labels, list(self._buckets(series.counts)), series.total)
        return family

    def _buckets(self, counts: Sequence[int]) -> Iterator[tuple[str, float]]:
        # Prometheus buckets are cumulative.
        total = 0
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            total += count
            yield ("+Inf" if bound == float("inf") else str(bound)), total


GaugeReader = Callable[[], Mapping[Labels, float]]
"""Reads the present values of a gauge."""


class SchedulerMetrics:
    """All metrics of one scheduler, and the collector that a registry scrapes."""

    def __init__(self) -> None:
        self.attempts = Counter(
            "scheduler_schedule_attempts",
            "Attempts to schedule pods by result; 'error' is a failure of the scheduler itself.",
            ("result", "profile"),
        )
        self.attempt_seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Time of an attempt, deciding and binding.",
            exponential_buckets(0.001, 2, 15),
            ("result", "profile"),
        )
        self.algorithm_seconds = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Time of deciding alone.",
            exponential_buckets(0.001, 2, 15),
        )
        self.extension_point_seconds = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "Time all plugins of an extension point take.",
            exponential_buckets(0.0001, 2, 12),
            ("extension_point", "status", "profile"),
        )
        self.plugin_seconds = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "Time of one plugin at an extension point, in a sample of the cycles.",
            exponential_buckets(0.00001, 1.5, 20),
            ("plugin", "extension_point", "status"),
        )
        self.plugin_evaluations = Counter(
            "scheduler_plugin_evaluation",
            "Calls of plugins at PreFilter, Filter, PreScore and Score, by resulting status.",
            ("plugin", "extension_point", "profile", "status"),
        )
        self.queue_incoming_pods = Counter(
            "scheduler_queue_incoming_pods", "Pods put into a queue, by queue and event.", ("queue", "event")
        )
        self.sli_seconds = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Time from entering the queue until bound.",
            exponential_buckets(0.01, 2, 20),
            ("attempts",),
        )
        self.pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts", "Attempts it took to schedule a pod.", exponential_buckets(1, 2, 5)
        )
        self.after_flush = Counter(
            "scheduler_pod_scheduled_after_flush", "Pods scheduled after a timeout, not an event, had requeued them."
        )
        self.preemption_attempts = Counter("scheduler_preemption_attempts", "Attempts to preempt.")
        self.victims = Histogram(
            "scheduler_preemption_victims", "Victims per preemption.", exponential_buckets(1, 2, 7)
        )
        self.hint_seconds = Histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            "Time of a plugin's queueing hint.",
            exponential_buckets(0.00001, 1.5, 20),
            ("plugin", "event", "hint"),
        )
        self.event_seconds = Histogram(
            "scheduler_event_handling_duration_seconds",
            "Time of handling an event.",
            exponential_buckets(0.0001, 2, 12),
            ("event",),
        )
        self.permit_seconds = Histogram(
            "scheduler_permit_wait_duration_seconds",
            "Time of waiting for Permit plugins.",
            exponential_buckets(0.001, 2, 15),
            ("result",),
        )
        self._gauges: list[tuple[str, str, Sequence[str], GaugeReader]] = []

    def add_gauge(self, name: str, help_text: str, labels: Sequence[str], read: GaugeReader) -> None:
        """Add a gauge whose values are read on each scrape."""
        self._gauges.append((name, help_text, labels, read))

    def register(self, registry: CollectorRegistry) -> None:
        """Register all metrics."""
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that the registry does not compare names in advance."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the samples of all metrics."""
        for metric in vars(self).values():
            if isinstance(metric, Counter | Histogram):
                yield metric.to_family()
        for name, help_text, labels, read in self._gauges:
            family = GaugeMetricFamily(name, help_text, labels=labels)
            for values, amount in read().items():
                family.add_metric(values, amount)
            yield family
