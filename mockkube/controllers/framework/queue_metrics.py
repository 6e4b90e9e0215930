"""Metrics of work queues, under upstream's names.

upstream 1.36: component-base/metrics/prometheus/workqueue/metrics.go
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from mockkube.runtime.work_queue import QueueObserver

_BUCKETS = tuple(1e-8 * 10**power for power in range(10))


class QueueMetrics:
    """Metrics of all queues of one component."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ["name"]
        self.depth = Gauge("workqueue_depth", "Current depth of workqueue", labels, registry=registry)
        self.adds = Counter("workqueue_adds", "Total number of adds handled by workqueue", labels, registry=registry)
        self.retries = Counter(
            "workqueue_retries", "Total number of retries handled by workqueue", labels, registry=registry
        )
        self.queue_duration = Histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested.",
            labels,
            buckets=_BUCKETS,
            registry=registry,
        )
        self.work_duration = Histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            labels,
            buckets=_BUCKETS,
            registry=registry,
        )

    def observer_for(self, queue: str) -> QueueObserver:
        """Return the observer for the queue with this name."""
        return _QueueMetricsObserver(self, queue)


class _QueueMetricsObserver:
    """Observer that counts into the metrics of one queue."""

    def __init__(self, metrics: QueueMetrics, queue: str) -> None:
        # Children are looked up once: `labels` takes a lock and builds a key on each call.
        self._depth, self._adds = metrics.depth.labels(queue), metrics.adds.labels(queue)
        self._retries = metrics.retries.labels(queue)
        self._waited, self._worked = metrics.queue_duration.labels(queue), metrics.work_duration.labels(queue)

    def observe_add(self) -> None:
        """Count an item that starts to wait."""
        self._adds.inc()
        self._depth.inc()

    def observe_retry(self) -> None:
        """Count a retry."""
        self._retries.inc()

    def observe_get(self, waited_seconds: float) -> None:
        """Count an item that leaves the queue."""
        self._depth.dec()
        self._waited.observe(waited_seconds)

    def observe_done(self, worked_seconds: float) -> None:
        """Record the duration of the work on an item."""
        self._worked.observe(worked_seconds)
