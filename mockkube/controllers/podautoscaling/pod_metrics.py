"""Metrics of pods, and the ratio of their usage to a target.

upstream 1.36: pkg/controller/podautoscaler/metrics
"""

from collections.abc import Mapping
from datetime import datetime

from mockkube.lazy_dataclasses import dataclass


class MetricsError(Exception):
    """Metric that cannot be read, or from which no number of replicas follows; the text is upstream's."""


@dataclass(frozen=True, slots=True)
class PodMetric:
    """Usage of one pod, in thousandths, at the end of a window of time."""

    value: int
    timestamp: datetime
    window_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class UsageRatio:
    """Ratio of usage to target; the average per pod in thousandths, and in percent of the requests."""

    ratio: float
    average: int
    utilization: int | None = None


def calculate_utilization_ratio(values: Mapping[str, int], requests: Mapping[str, int], target: int) -> UsageRatio:
    """Return the ratio of the utilization of the requests to the target in percent."""
    known = [name for name in values if name in requests]
    used, requested = sum(values[name] for name in known), sum(requests[name] for name in known)
    if not requested:
        raise MetricsError("no metrics returned matched known pods")
    utilization = used * 100 // requested
    return UsageRatio(utilization / target, used // len(known), utilization)


def calculate_average_ratio(values: Mapping[str, int], target: int) -> UsageRatio:
    """Return the ratio of the average usage to the target in thousandths."""
    average = sum(values.values()) // len(values)
    return UsageRatio(average / target, average)
