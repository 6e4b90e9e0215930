"""Annotations that say what custom and external metrics are.

`custom.metrics.mockkube.dev/NAME` of a pod or another object is a metric of that object, a load curve over its age.
`load.custom.metrics.mockkube.dev/NAME` of a Deployment or another workload is shared by its ready pods.
`external.metrics.mockkube.dev/NAME` of a namespace, or of an autoscaler in it, holds the values of an external metric,
separated by commas, each with its labels: `{queue=mail}30,{queue=print}0@0s 100@10m`.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.usage.load_curve import LoadCurve, parse_load_curve

CUSTOM_METRIC: Final = "custom.metrics.mockkube.dev/"
CUSTOM_LOAD: Final = "load.custom.metrics.mockkube.dev/"
EXTERNAL_METRIC: Final = "external.metrics.mockkube.dev/"
# Values are separated by commas, and so are the labels within braces.
_VALUE: Final = re.compile(r"\s*(?:\{([^{}]*)\})?([^,{}]*)(?:,|$)")


@dataclass(frozen=True, slots=True)
class ExternalValue:
    """One value of an external metric over time, with its labels."""

    labels: Mapping[str, str]
    curve: LoadCurve


def list_metrics(obj: ReadOnlyObject, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the metrics that an object has in annotations with a prefix."""
    for key, text in (obj["metadata"].get("annotations") or {}).items():
        if key.startswith(prefix):
            yield key.removeprefix(prefix), text


def find_metric(obj: ReadOnlyObject, prefix: str, metric: str) -> str:
    """Return the text of a metric that an object has in an annotation; empty if it has none."""
    text: str = (obj["metadata"].get("annotations") or {}).get(prefix + metric, "")
    return text


def parse_loads(obj: ReadOnlyObject) -> Mapping[str, LoadCurve]:
    """Return the loads of a workload by metric, without those that cannot be parsed."""
    loads = {}
    for metric, text in list_metrics(obj, CUSTOM_LOAD):
        try:
            loads[metric] = parse_load_curve(text)
        except ValueError:
            continue
    return loads


def parse_external_values(text: str) -> list[ExternalValue]:
    """Parse the values of an external metric; raise ValueError with the remedy if they are malformed."""
    values: list[ExternalValue] = []
    at = 0
    while at < len(text) or not values:
        match = _VALUE.match(text, at)
        if match is None:
            raise ValueError(f"{text!r}: write values with labels like {{queue=mail}}30,{{queue=print}}0@0s 100@10m")
        values.append(ExternalValue(_parse_labels(match[1] or "", text), parse_load_curve(match[2].strip())))
        at = match.end()
    return values


def _parse_labels(text: str, whole: str) -> dict[str, str]:
    labels = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{whole!r}: {part!r} is no label: write one like queue=mail")
        labels[name.strip()] = value.strip()
    return labels


def get_amount(obj: ReadOnlyObject, curve: LoadCurve, now: datetime) -> Decimal:
    """Return the amount of a curve over the age of an object."""
    # Pods have a load from their start on.
    start = (obj.get("status") or {}).get("startTime") or obj["metadata"]["creationTimestamp"]
    return curve.get_amount((now - parse_time(start)).total_seconds())
