"""Printers for FlowSchemas and PriorityLevelConfigurations."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import condition, name_of, number, string, value_at
from mockkube.api.printers.table import AGE, NAME, NONE, Cell, Printer, text_column
from mockkube.api.types import ReadOnlyObject

_QUEUING = ("queues", "handSize", "queueLengthLimit")


def flow_schema_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a FlowSchema."""
    dangling = condition(obj, "Dangling")
    method = value_at(obj, "spec", "distinguisherMethod")
    return [
        name_of(obj),
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
        name_of(obj),
        string(obj, "spec", "type"),
        number(obj, "spec", "limited", "nominalConcurrencyShares") if limited else NONE,
        *[number(obj, "spec", "limited", "limitResponse", "queuing", key) if queuing else NONE for key in _QUEUING],
        age(obj, now),
    ]


FLOW_SCHEMA = Printer(
    (
        NAME,
        text_column("PriorityLevel", "The level its requests go to."),
        text_column("MatchingPrecedence", "Its rank among the schemas: the lower, the earlier."),
        text_column("DistinguisherMethod", "How its requests are parted into flows."),
        AGE,
        text_column("MissingPL", "Whether that level does not exist."),
    ),
    flow_schema_cells,
)
PRIORITY_LEVEL = Printer(
    (
        NAME,
        text_column("Type", "Whether it is limited."),
        text_column("NominalConcurrencyShares", "Its share of the server."),
        text_column("Queues", "How many queues it has."),
        text_column("HandSize", "How many of them a flow is dealt."),
        text_column("QueueLengthLimit", "How many requests may wait in one."),
        AGE,
    ),
    priority_level_cells,
)
