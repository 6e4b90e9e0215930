"""Printers for PriorityClasses and PodGroups."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name_of, number, sections, string, truth, value_at
from mockkube.api.printers.table import AGE, NAME, NONE, Cell, Printer, boolean_column, integer_column, text_column
from mockkube.api.types import ReadOnlyObject


def priority_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PriorityClass."""
    return [
        name_of(obj),
        number(obj, "value"),
        truth(obj, "globalDefault"),
        age(obj, now),
        string(obj, "preemptionPolicy"),
    ]


def pod_group_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PodGroup."""
    is_gang = value_at(obj, "spec", "schedulingPolicy", "gang") is not None
    template = value_at(obj, "spec", "podGroupTemplateRef")
    workload = string(obj, "spec", "podGroupTemplateRef", "workload", "workloadName")
    return [
        name_of(obj),
        "Gang" if is_gang else "Basic",
        NONE if template is None else workload,
        _status(obj),
        age(obj, now),
    ]


def _status(obj: ReadOnlyObject) -> str:
    """Return the scheduling status, or the reason of a disruption."""
    conditions = {string(found, "type"): found for found in sections(obj, "status", "conditions")}
    if disruption := conditions.get("DisruptionTarget"):
        return string(disruption, "reason")
    if scheduled := conditions.get("PodGroupScheduled"):
        return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
    return "Pending"


PRIORITY_CLASS = Printer(
    (
        NAME,
        integer_column("Value", "The priority: the higher, the sooner."),
        boolean_column("Global-Default", "Whether pods without a class get this one."),
        AGE,
        text_column("PreemptionPolicy", "Whether its pods may push others out."),
    ),
    priority_class_cells,
)
POD_GROUP = Printer(
    (
        NAME,
        text_column("Policy", "Whether pods are placed all at once."),
        text_column("Workload", "The workload it was made from."),
        text_column("Status", "How far scheduling is."),
        AGE,
    ),
    pod_group_cells,
)
