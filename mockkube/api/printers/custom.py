"""Printers for custom resources, from the columns of their CustomResourceDefinition."""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import name_of, number, string
from mockkube.api.printers.ages import INVALID, format_time_since
from mockkube.api.printers.jsonpath import CompiledJsonPath, PathError, compile_path
from mockkube.api.printers.table import NAME_COLUMN, Cell, Column, Printer
from mockkube.lazy_dataclasses import dataclass

_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)")
_ESCAPES: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


@dataclass(frozen=True, slots=True)
class _CustomColumn:
    """A column and the JSONPath of its cells."""

    heading: Column
    path: CompiledJsonPath

    def cell(self, obj: ReadOnlyObject, now: datetime) -> Cell:
        """Return the first value at the path in the column's type; None if there is none."""
        try:
            values = self.path.find(obj)
        except PathError:
            return None
        return _convert_cell(self.heading.type, values[0], now) if values else None


def make_custom_printer(columns: Sequence[ReadOnlyObject]) -> Printer:
    """Return the printer for a version's `additionalPrinterColumns`; without them it prints the age.

    A column whose path does not parse ends the list: the API accepts such CRDs.
    """
    # upstream 1.36: apiextensions-apiserver/pkg/registry/customresource/tableconvertor
    shown = _parse_columns(columns or [_AGE])

    def cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
        return [name_of(obj), *[column.cell(obj, now) for column in shown]]

    return Printer((NAME_COLUMN, *[column.heading for column in shown]), cells)


def _parse_columns(columns: Sequence[ReadOnlyObject]) -> list[_CustomColumn]:
    shown: list[_CustomColumn] = []
    for column in columns:
        path = string(column, "jsonPath")
        heading = Column(
            string(column, "name"),
            string(column, "type"),
            string(column, "format"),
            string(column, "description") or f"What the object holds at {path}.",
            number(column, "priority"),
        )
        try:
            shown.append(_CustomColumn(heading, compile_path(path)))
        except PathError:
            break
    return shown


def _convert_cell(kind: str, value: Any, now: datetime) -> Cell:
    """Return the value if it has the column's type; every value converts to text."""
    match kind, value:
        case "string", _:
            return _format_text(value)
        case "boolean", bool():
            return value
        # In Python a bool is an int, too.
        case (("integer" | "number"), bool()):
            return None
        case "integer", int() | float():
            return int(value)
        case "number", int() | float():
            return int(value) if value == int(value) else value
        case "date", str():
            return _format_date(value, now)
    return None


def _format_date(value: str, now: datetime) -> str:
    if value in ("", "null"):
        return format_time_since("", now)
    return format_time_since(value, now) if _TIMESTAMP.fullmatch(value) else INVALID


def _format_text(value: Any) -> str:
    """Return the value as Go prints it, lists and objects as JSON."""
    match value:
        case str():
            return value
        case None:
            return "<no value>"
        case bool():
            return str(value).lower()
        case float():
            return _format_float(value)
        case dict() | list():
            encoded = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            return encoded.translate(_ESCAPES)
    return str(value)


def _format_float(value: float) -> str:
    """Return the shortest text of a float, with an exponent only for very small and very large ones."""
    shortest = repr(value)
    if value == 0 or 1e-4 <= abs(value) < 1e21:
        return f"{Decimal(shortest):f}".removesuffix(".0")
    return shortest
