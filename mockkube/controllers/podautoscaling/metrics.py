"""Metrics of the horizontal pod autoscaler, under upstream's names.

upstream 1.36: pkg/controller/podautoscaler/monitor/metrics.go
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SUBSYSTEM: Final = "horizontal_pod_autoscaler_controller"
_BUCKETS: Final = tuple(0.001 * 2**power for power in range(15))
NO_ERROR: Final = "none"
INTERNAL_ERROR: Final = "internal"
SPEC_ERROR: Final = "spec"


class AutoscalerMetrics:
    """Metrics of one component's autoscaler; `counts_objects` adds those since 1.35."""

    def __init__(self, registry: CollectorRegistry, *, counts_objects: bool) -> None:
        labels = ("action", "error")
        self._reconciliations = Counter(
            "reconciliations", "Number of reconciliations of HPA controller.", labels,
            subsystem=_SUBSYSTEM, registry=registry,
        )  # fmt: skip
        self._durations = Histogram(
            "reconciliation_duration_seconds", "The time(seconds) that the HPA controller takes to reconcile once.",
            labels, subsystem=_SUBSYSTEM, buckets=_BUCKETS, registry=registry,
        )  # fmt: skip
        self._computations = Counter(
            "metric_computation", "Number of metric computations.", (*labels, "metric_type"),
            subsystem=_SUBSYSTEM, registry=registry,
        )  # fmt: skip
        self._computation_durations = Histogram(
            "metric_computation_duration_seconds",
            "The time(seconds) that the HPA controller takes to calculate one metric.",
            (*labels, "metric_type"), subsystem=_SUBSYSTEM, buckets=_BUCKETS, registry=registry,
        )  # fmt: skip
        self._autoscalers = self._desired = None
        if counts_objects:
            self._autoscalers = Gauge(
                "num_horizontal_pod_autoscalers", "Current number of controlled HPA objects.",
                subsystem=_SUBSYSTEM, registry=registry,
            )  # fmt: skip
            self._desired = Gauge(
                "desired_replicas", "Current desired replica count for HPA objects.", ("namespace", "hpa_name"),
                subsystem=_SUBSYSTEM, registry=registry,
            )  # fmt: skip

    def record_reconciliation(self, before: int, after: int, error: str, seconds: float) -> None:
        """Record a reconciliation, from so many replicas to so many."""
        labels = (_describe_change(before, after), error)
        self._reconciliations.labels(*labels).inc()
        self._durations.labels(*labels).observe(seconds)

    def record_computation(self, metric_type: str, before: int, after: int, error: str, seconds: float) -> None:
        """Record the evaluation of one metric."""
        action = _describe_change(before, after) if error == NO_ERROR else "none"
        self._computations.labels(action, error, metric_type).inc()
        self._computation_durations.labels(action, error, metric_type).observe(seconds)

    def record_desired(self, namespace: str, name: str, replicas: int) -> None:
        """Record the desired replicas of an autoscaler."""
        if self._desired is not None:
            self._desired.labels(namespace, name).set(replicas)

    def record_autoscalers(self, change: int) -> None:
        """Count an autoscaler that was created or deleted."""
        if self._autoscalers is not None:
            self._autoscalers.inc(change)


def _describe_change(before: int, after: int) -> str:
    if after == before:
        return "none"
    return "scale_up" if after > before else "scale_down"
