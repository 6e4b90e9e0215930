"""Metrics of requests: counts and durations by verb, resource and code.

A server of all kinds has thousands of series of 25 numbers. They are kept as plain lists and written as text here:
prometheus_client, with an object and a lock for each number, took seconds to write them and 30 times the memory.
"""

# upstream 1.36: staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import field
from typing import Final, NamedTuple

from mockkube.lazy_dataclasses import dataclass

_BUCKET_BOUNDS: Final = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)  # fmt: skip
_BUCKET_LABELS: Final = (*(f'le="{bound:g}"' for bound in _BUCKET_BOUNDS), 'le="+Inf"')
_COUNTER: Final = "apiserver_request_total"
_HISTOGRAM: Final = "apiserver_request_duration_seconds"
_HELP_TEXTS: Final = {
    _COUNTER: "Counter of apiserver requests broken out for each verb, resource, scope and HTTP response code.",
    _HISTOGRAM: "Response latency distribution in seconds for each verb, resource and scope.",
}


class RequestLabels(NamedTuple):
    """Labels of a request, in the order in which they are written."""

    dry_run: str
    group: str
    resource: str
    scope: str
    subresource: str
    verb: str
    version: str

    def __str__(self) -> str:
        return ",".join(f'{name}="{_escape_label(value)}"' for name, value in zip(self._fields, self, strict=True))


def _escape_label(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@dataclass(slots=True)
class _Series:
    """Requests by code and by bucket, and the sum of their seconds."""

    totals: dict[int, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=lambda: [0] * len(_BUCKET_LABELS))
    seconds: float = 0.0


class RequestMetrics:
    """Counters and histograms of requests."""

    def __init__(self) -> None:
        self._series: dict[RequestLabels, _Series] = {}

    def observe(self, labels: RequestLabels, code: int, seconds: float, *, count: int = 1) -> None:  # hot: per request
        """Count a finished request, or several equal ones."""
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = _Series()
        series.totals[code] = series.totals.get(code, 0) + count
        series.counts[bisect_left(_BUCKET_BOUNDS, seconds)] += count
        series.seconds += seconds * count

    def forget_resource(self, group: str, resource: str) -> None:
        """Drop the series of a resource that is no longer served: names of custom resources have no bound."""
        # differs: upstream keeps them until it is restarted
        self._series = {
            labels: series
            for labels, series in self._series.items()
            if (labels.group, labels.resource) != (group, resource)
        }

    def render(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return "".join(f"{line}\n" for line in self._lines()).encode()

    def _lines(self) -> Iterator[str]:
        yield from _metric_header(_COUNTER, "counter")
        totals = (
            (labels, code, total) for labels, series in self._series.items() for code, total in series.totals.items()
        )
        for labels, code, total in sorted(totals):
            yield f'{_COUNTER}{{code="{code}",{labels}}} {total}'
        yield from _metric_header(_HISTOGRAM, "histogram")
        for labels, series in sorted(self._series.items(), key=lambda item: item[0]):
            text, cumulative = str(labels), 0
            for end, count in zip(_BUCKET_LABELS, series.counts, strict=True):
                # Buckets of Prometheus are cumulative; counting one bucket a request is cheaper than all above its
                # bound.
                cumulative += count
                yield f"{_HISTOGRAM}_bucket{{{text},{end}}} {cumulative}"
            yield f"{_HISTOGRAM}_sum{{{text}}} {series.seconds:.12g}"
            yield f"{_HISTOGRAM}_count{{{text}}} {cumulative}"


def _metric_header(name: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {_HELP_TEXTS[name]}", f"# TYPE {name} {kind}"
