from datetime import UTC, datetime
from typing import Any

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.printers.custom import make_custom_printer
from mockkube.api.printers.table import Cell, Column

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)


def cell(kind: str, value: Any) -> Cell:
    printer = make_custom_printer([{"name": "V", "type": kind, "jsonPath": ".spec.v"}])
    return printer.row({"metadata": {"name": "x"}, "spec": {"v": value}}, NOW).cells[1]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        pytest.param("string", "text", "text", id="text"),
        pytest.param("string", 5, "5", id="number as text"),
        pytest.param("string", 2.5, "2.5", id="fraction as text"),
        pytest.param("string", 2.0, "2", id="whole fraction as text"),
        pytest.param("string", 1e16, "10000000000000000", id="great number as text"),
        pytest.param("string", 1e21, "1e+21", id="greater number as text"),
        pytest.param("string", 0.00001, "1e-05", id="small number as text"),
        pytest.param("string", True, "true", id="truth as text"),
        pytest.param("string", None, "<no value>", id="null as text"),
        pytest.param("string", {"b": [1, "<"], "a": None}, '{"a":null,"b":[1,"\\u003c"]}', id="object as text"),
        pytest.param("integer", 7, 7, id="integer"),
        pytest.param("integer", 7.9, 7, id="fraction as integer"),
        pytest.param("integer", "7", None, id="text as integer"),
        pytest.param("integer", True, None, id="truth as integer"),
        pytest.param("number", 7, 7, id="integer as number"),
        pytest.param("number", 7.5, 7.5, id="fraction"),
        pytest.param("number", "7", None, id="text as number"),
        pytest.param("boolean", False, False, id="truth"),
        pytest.param("boolean", "false", None, id="text as truth"),
        pytest.param("date", "2026-03-14T11:00:00Z", "60m", id="moment"),
        pytest.param("date", "2026-03-14", "<invalid>", id="day"),
        pytest.param("date", "", "<unknown>", id="empty moment"),
        pytest.param("date", 5, None, id="number as moment"),
        pytest.param("date", None, None, id="null as moment"),
    ],
)
def test_a_value_is_shown_as_its_column_has_it(kind: str, value: Any, shown: Cell) -> None:
    found = cell(kind, value)
    assert (found, type(found)) == (shown, type(shown))


@pytest.mark.parametrize("kind", ["string", "integer", "number", "boolean", "date"])
def test_what_is_missing_is_null(kind: str) -> None:
    printer = make_custom_printer([{"name": "V", "type": kind, "jsonPath": ".spec.v"}])
    assert printer.row({"metadata": {"name": "x"}}, NOW).cells == ["x", None]


def test_a_path_that_makes_no_sense_is_null() -> None:
    printer = make_custom_printer([{"name": "V", "type": "string", "jsonPath": ".spec.v[0]"}])
    assert printer.row({"metadata": {"name": "x"}, "spec": {"v": 5}}, NOW).cells == ["x", None]


def test_of_several_values_the_first_is_shown() -> None:
    printer = make_custom_printer([{"name": "V", "type": "string", "jsonPath": ".spec.v[*]"}])
    assert printer.row({"metadata": {"name": "x"}, "spec": {"v": ["a", "b"]}}, NOW).cells == ["x", "a"]


def test_headings_are_those_of_the_definition() -> None:
    given: Object = {"name": "Size", "type": "integer", "format": "int32", "description": "How big.", "priority": 1}
    printer = make_custom_printer([{**given, "jsonPath": ".spec.size"}])
    assert printer.columns[1] == Column("Size", "integer", "int32", "How big.", 1)
    assert printer.columns[0].format == "name"


def test_without_columns_there_is_an_age() -> None:
    printer = make_custom_printer([])
    assert [column.name for column in printer.columns] == ["Name", "Age"]
    obj = {"metadata": {"name": "x", "creationTimestamp": "2026-03-14T11:59:00Z"}}
    assert printer.row(obj, NOW).cells == ["x", "60s"]


def test_columns_end_before_one_that_cannot_be_read() -> None:
    columns = [
        {"name": name, "type": "string", "jsonPath": path} for name, path in [("A", ".a"), ("B", ".b["), ("C", ".c")]
    ]
    assert [column.name for column in make_custom_printer(columns).columns] == ["Name", "A"]
