"""Validate numbers: range of type and format, bounds, multiples."""

# upstream 1.36: k8s.io/kube-openapi/pkg/validation/validate/{validator,values}.go

import math
from typing import Final

from mockkube.api.custom.validation_result import ValidationResult, ValuePath, add_invalid, add_without_field
from mockkube.api.custom.validation_schema import ValidationSchema
from mockkube.api.fields import invalid

Number = int | float

# Beyond this number floats skip integers.
_EXACT_MAX: Final = (1 << 53) - 1
_ROUNDING_ERROR: Final = 1e-9
_FLOAT_MAX: Final = 3.4028234663852886e38
_INTEGER_BITS: Final = {"int32": 31}
_BOUNDS: Final = (("minimum", "exclusiveMinimum", "greater", -1), ("maximum", "exclusiveMaximum", "less", 1))


def is_go_integer(number: int) -> bool:
    """Return whether a whole number fits 64 bits; JSON numbers that do not are floats in Go."""
    return -(1 << 63) <= number < 1 << 63


def counts_as_integer(number: Number) -> bool:
    """Return whether a float may stand for an integer: it is whole, but for a rounding error, and exact."""
    # upstream 1.36: github.com/go-openapi/swag IsFloat64AJSONInteger
    if not abs(number) <= _EXACT_MAX:
        return False
    rest = number - math.trunc(number)
    return rest == 0 or (number > 1 and rest / (2 * number - rest) < _ROUNDING_ERROR)


def check_number(value: Number, schema: ValidationSchema, path: ValuePath) -> ValidationResult:
    """Return the errors of a number."""
    result, raw = ValidationResult(), schema.raw
    _check_range(result, value, schema, "Checked", path)
    if (factor := raw.get("multipleOf")) is not None:
        native = _check_range(result, factor, schema, "MultipleOf", path)
        _check_multiple(result, value, int(factor) if native and isinstance(value, int) else float(factor), path)
    for name, exclusive, word, sign in _BOUNDS:
        if (bound := raw.get(name)) is None:
            continue
        # A bound outside of the type's range is an error of its own, and is compared as a float.
        native = _check_range(result, bound, schema, f"{name.capitalize()} boundary", path)
        limit = int(bound) if native and isinstance(value, int) else float(bound)
        if raw.get(exclusive):
            if sign * value >= sign * limit:
                add_invalid(result, path, value, f"should be {word} than {_format_number(limit)}")
        elif sign * value > sign * limit:
            add_invalid(result, path, value, f"should be {word} than or equal to {_format_number(limit)}")
    result.matches += 1
    return result


def _check_range(
    result: ValidationResult, number: Number, schema: ValidationSchema, prefix: str, path: ValuePath
) -> bool:
    """Return whether the number is in the range of the schema's type and format; add an error if not."""
    kind = schema.single_type
    if kind == "integer":
        bits = _INTEGER_BITS.get(schema.format, 63)
        there = number == int(number) and -(1 << bits) <= number < 1 << bits
    else:
        there = kind != "number" or schema.format != "float" or abs(number) <= _FLOAT_MAX
    if not there:
        form = f"with format {schema.format}" if schema.format else "(default format)"
        add_without_field(result, path, f"{prefix} value must be of type {kind} {form} in {path.path}")
    return there


def _check_multiple(result: ValidationResult, value: Number, factor: Number, path: ValuePath) -> None:
    if factor <= 0:
        text = f"factor MultipleOf declared for {path.path} must be positive: {_format_number(factor)}"
        result.add(text, invalid(path.field, factor, text))
    elif isinstance(value, int) and isinstance(factor, int):
        if value % factor:
            add_invalid(result, path, value, f"should be a multiple of {factor}")
    # upstream multiplies for factors below 1, with other rounding errors than a division has.
    elif not (1 / factor * value if factor < 1 else value / factor).is_integer():
        add_invalid(result, path, value, f"should be a multiple of {_format_number(factor)}")


def _format_number(number: Number) -> str:
    """Format a number like Go's `%v`."""
    if isinstance(number, int):
        return str(number)
    if number.is_integer() and abs(number) < 1e21:
        return str(int(number))
    return repr(number)
