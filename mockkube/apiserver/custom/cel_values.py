"""Convert JSON to CEL values by a structural schema."""

# upstream 1.36: apiserver/pkg/cel/common/valuesunstructured.go

import binascii
import re
from base64 import urlsafe_b64decode
from itertools import compress
from typing import Any, Final

from mockkube_cel.golang.gotime import parse_duration, parse_timestamp
from mockkube_cel.schema_values import MapList, SchemaObject, SetList
from mockkube_cel.values import CelError, Duration

from mockkube.api.custom.structural import Structural
from mockkube.apiserver.custom.cel_types import escape_name

_UNIT_NANOSECONDS: Final = {"d": 86_400_000_000_000, "w": 7 * 86_400_000_000_000}
_GO_TYPES: Final = ((bool, "bool"), (str, "string"), (int, "int64"), (float, "float64"), (list, "[]interface {}"))
_DAYS_AND_WEEKS: Final = re.compile(r"(\d+)\s*([dw])")


def to_cel(value: Any, schema: Structural) -> Any:
    """Return the CEL value; an error value if it does not fit the schema."""
    if value is None:
        return None if schema.is_nullable else CelError("invalid data, got null for schema with nullable=false")
    if schema.is_int_or_string:
        fits = isinstance(value, str) or type(value) is int
        return value if fits else CelError("invalid data, expected XIntOrString value to be either a string or integer")
    match schema.type:
        case "object":
            return _convert_object(value, schema)
        case "array":
            return _convert_list(value, schema)
        case "string":
            return _convert_string(value, schema.raw.get("format", ""))
        case "number":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            return float(value) if fits else CelError(f"invalid data, expected float, got {_go_type(value)}")
        case "integer":
            return value if type(value) is int else CelError(f"invalid data, expected int, got {_go_type(value)}")
        case "boolean":
            return value if isinstance(value, bool) else CelError(f"invalid data, expected bool, got {_go_type(value)}")
    return value


def _convert_object(value: Any, schema: Structural) -> Any:
    if not isinstance(value, dict):
        return CelError("invalid data, expected a map for the provided schema with type=object")
    if schema.is_embedded_resource:
        schema = schema.with_object_fields()
    if not schema.properties and schema.additional_properties is not None:
        return {name: to_cel(item, schema.additional_properties) for name, item in value.items()}
    # A field that is null is absent for expressions. One whose name cannot be escaped counts for equality only.
    fields = {
        escape_name(name) or name: to_cel(item, schema.properties[name])
        for name, item in value.items()
        if name in schema.properties and item is not None
    }
    hidden = {name: item for name, item in value.items() if name not in schema.properties}
    return SchemaObject(fields, hidden, len(value))


def _convert_list(value: Any, schema: Structural) -> Any:
    if not isinstance(value, list):
        return CelError("invalid data, expected an array for the provided schema with type=array")
    if schema.items is None:
        return CelError("invalid array type, expected Items with a non-empty Schema")
    elements = [to_cel(item, schema.items) for item in value]
    match schema.list_type:
        case "set":
            return SetList(elements)
        case "map":
            # Upstream looks for escaped names in plain JSON: a key whose name must be escaped is never found.
            names = ((escape_name(name) or name) == name for name in schema.map_keys)
            return MapList(elements, tuple(compress(schema.map_keys, names)))
    return elements


def _convert_string(value: Any, form: str) -> Any:
    if not isinstance(value, str):
        return CelError(f"invalid data, expected string, got {_go_type(value)}")
    match form:
        case "duration":
            return _parse_duration(value)
        case "date":
            found = parse_timestamp(f"{value}T00:00:00Z")
            return found or CelError(f"Invalid date formatted string {value}")
        case "date-time":
            return parse_timestamp(value) or CelError(f"Invalid date-time formatted string {value}")
        case "byte":
            try:
                return urlsafe_b64decode(value)
            except binascii.Error:
                return CelError(f"Invalid byte formatted string {value}")
    return value


def _parse_duration(text: str) -> Duration | CelError:
    """Parse a duration in Go's units, or in days and weeks."""
    if (found := parse_duration(text)) is not None:
        return found
    days = [int(count) * _UNIT_NANOSECONDS[unit] for count, unit in _DAYS_AND_WEEKS.findall(text.lower())]
    return Duration(sum(days)) if days else CelError(f"Invalid duration {text}: unable to parse {text} as duration")


def _go_type(value: Any) -> str:
    return next((name for kind, name in _GO_TYPES if isinstance(value, kind)), "map[string]interface {}")
