"""Printers for FlowSchemas and PriorityLevelConfigurations."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import condition, name, number, string, value_at
from mockkube.api.printers.table import AGE, NAME, NONE, Cell, Printer, text
from mockkube.api.types import ReadOnlyObject

_QUEUING = ("queues", "handSize", "queueLengthLimit")


def flow_schema_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a FlowSchema."""
    dangling = condition(obj, "Dangling")
    method = value_at(obj, "spec", "distinguisherMethod")
    return [
        name(obj),
        string(obj, "spec", "priorityLevelConfiguration", "name"),
        number(obj, "spec", "matchingPrecedence"),
        NONE if method is None else string(obj, "spec", "distinguisherMethod", "type"),
        age(obj, now),
        "?" if dangling is None else string(dangling, "status"),
    ]


def priority_level_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PriorityLevelConfiguration: numbers, or `<none>`."""
    limited = value_at(obj, "spec", "limited") is not None
    queuing = value_at(obj, "spec", "limited", "limitResponse", "queuing") is not None
    return [
        name(obj),
        string(obj, "spec", "type"),
        number(obj, "spec", "limited", "nominalConcurrencyShares") if limited else NONE,
        *[number(obj, "spec", "limited", "limitResponse", "queuing", key) if queuing else NONE for key in _QUEUING],
        age(obj, now),
    ]


FLOW_SCHEMA = Printer(
    (
        NAME,
        text("PriorityLevel", "The level its requests go to."),
        text("MatchingPrecedence", "Its rank among the schemas: the lower, the earlier."),
        text("DistinguisherMethod", "How its requests are parted into flows."),
        AGE,
        text("MissingPL", "Whether that level does not exist."),
    ),
    flow_schema_cells,
)
PRIORITY_LEVEL = Printer(
    (
        NAME,
        text("Type", "Whether it is limited."),
        text("NominalConcurrencyShares", "Its share of the server."),
        text("Queues", "How many queues it has."),
        text("HandSize", "How many of them a flow is dealt."),
        text("QueueLengthLimit", "How many requests may wait in one."),
        AGE,
    ),
    priority_level_cells,
)
