"""Errors of metrics that no object has, with the texts of custom-metrics-apiserver."""

# upstream custom-metrics-apiserver 1.30: pkg/provider/errors.go
from mockkube.api.errors import NotFound


def make_metric_not_found(metric: str, resource: str, name: str = "") -> NotFound:
    """Return the error for a metric of a resource, or of one object, that does not exist."""
    return NotFound(f"the server could not find the metric {metric} for {resource}{f' {name}' if name else ''}")
