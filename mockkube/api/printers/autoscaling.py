"""Printers for HorizontalPodAutoscalers and Scales."""

from collections.abc import Sequence
from datetime import datetime

from mockkube.api.printers.ages import UNKNOWN, age
from mockkube.api.printers.reading import name_of, number, section, sections, string, value_at
from mockkube.api.printers.table import AGE, NAME, NONE, UNSET, Cell, Column, Printer, integer_column, text_column
from mockkube.api.types import ReadOnlyObject

METRICS_SHOWN_MAX = 2
CPU_PERCENT_DEFAULT = 80

_NIL = "<nil>"  # how a quantity that is not there prints


def autoscaler_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a HorizontalPodAutoscaler, of autoscaling/v2 or v1."""
    target = section(obj, "spec", "scaleTargetRef")
    return [
        name_of(obj),
        f"{string(target, 'kind')}/{string(target, 'name_of')}",
        _metrics(_asked(obj), _reported(obj)),
        string(obj, "spec", "minReplicas", missing=UNSET),
        number(obj, "spec", "maxReplicas"),
        number(obj, "status", "currentReplicas"),
        age(obj, now),
    ]


def _asked(obj: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the target metrics; v1 has only one, whose target has a default."""
    if string(obj, "apiVersion") != "autoscaling/v1":
        return sections(obj, "spec", "metrics")
    return [_cpu("target", number(obj, "spec", "targetCPUUtilizationPercentage") or CPU_PERCENT_DEFAULT)]


def _reported(obj: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the current metrics."""
    if string(obj, "apiVersion") != "autoscaling/v1":
        return sections(obj, "status", "currentMetrics")
    percent = value_at(obj, "status", "currentCPUUtilizationPercentage")
    return [] if percent is None else [_cpu("current", percent)]


def _cpu(role: str, percent: int) -> ReadOnlyObject:
    return {"type": "Resource", "resource": {"name": "cpu", role: {"averageUtilization": percent}}}


def _metrics(asked: Sequence[ReadOnlyObject], reported: Sequence[ReadOnlyObject]) -> str:
    if not asked:
        return NONE
    answers = [*reported, *[{}] * (len(asked) - len(reported))]
    shown = ", ".join(_metric(*pair) for pair in list(zip(asked, answers, strict=False))[:METRICS_SHOWN_MAX])
    left = len(asked) - METRICS_SHOWN_MAX
    return f"{shown} + {left} more..." if left > 0 else shown


def _metric(asked: ReadOnlyObject, reported: ReadOnlyObject) -> str:
    """Return the current value and the target of one metric."""
    # upstream 1.36: pkg/printers/internalversion/printers.go, formatHPAMetrics
    match string(asked, "type"):
        case "External":
            return _value(asked, reported, "external")
        case "Object":
            return _value(asked, reported, "object")
        case "Pods":
            return _average(asked, reported, "pods")
        case "Resource":
            return _resource(asked, reported, "resource")
        case "ContainerResource":
            return _resource(asked, reported, "containerResource")
    return "<unknown type>"


def _value(asked: ReadOnlyObject, reported: ReadOnlyObject, source: str) -> str:
    """Return the average over pods if that is the target, else the plain value."""
    if (average := value_at(asked, source, "target", "averageValue")) is not None:
        return f"{string(reported, source, 'current', 'averageValue', missing=UNKNOWN)}/{average} (avg)"
    current = UNKNOWN
    if value_at(reported, source) is not None:
        current = string(reported, source, "current", "value", missing=_NIL)
    return f"{current}/{string(asked, source, 'target', 'value', missing=_NIL)}"


def _average(asked: ReadOnlyObject, reported: ReadOnlyObject, source: str) -> str:
    current = UNKNOWN
    if value_at(reported, source) is not None:
        current = string(reported, source, "current", "averageValue", missing=_NIL)
    return f"{current}/{string(asked, source, 'target', 'averageValue', missing=_NIL)}"


def _resource(asked: ReadOnlyObject, reported: ReadOnlyObject, source: str) -> str:
    resource = string(asked, source, "name")
    if value_at(asked, source, "target", "averageValue") is not None:
        return f"{resource}: {_average(asked, reported, source)}"
    current = _percent(value_at(reported, source, "current", "averageUtilization"), UNKNOWN)
    target = _percent(value_at(asked, source, "target", "averageUtilization"), "<auto>")
    return f"{resource}: {current}/{target}"


def _percent(value: int | None, missing: str) -> str:
    return missing if value is None else f"{value}%"


def scale_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Scale."""
    return [name_of(obj), number(obj, "spec", "replicas"), number(obj, "status", "replicas"), age(obj, now)]


HORIZONTAL_POD_AUTOSCALER = Printer(
    (
        NAME,
        text_column("Reference", "What it scales."),
        text_column("Targets", "What was measured, and what it aims at."),
        text_column("MinPods", "The fewest pods it will run."),
        text_column("MaxPods", "The most."),
        text_column("Replicas", "How many there are."),
        AGE,
    ),
    autoscaler_cells,
)
SCALE = Printer(
    (
        Column(NAME.name, description=NAME.description),
        integer_column("Desired", "Pods that should run."),
        integer_column("Available", "Pods there are."),
        AGE,
    ),
    scale_cells,
)
