"""Go's formatting of JSON values and of their types in messages."""

from collections.abc import Mapping
from decimal import Decimal


def format_go_value(value: object) -> str:
    """Print a value as `%v` does: `map[a:1 b:[x y]]`, keys sorted, text unquoted."""
    match value:
        case Mapping():
            return f"map[{' '.join(f'{key}:{format_go_value(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(format_go_value, value))}]"
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case float():
            return f"{Decimal(repr(value)).normalize():f}" if not value or 1e-4 <= abs(value) < 1e21 else repr(value)
        case _:
            return str(value)


def json_kind_name(value: object) -> str:
    """Return the kind of a JSON value as Go's decoder names it."""
    return _pick_name(value, ("object", "array", "string", "bool", "number", "number", "null"))


def go_type_name(value: object) -> str:
    """Return the Go type that a JSON value is decoded to."""
    types = ("map[string]interface {}", "[]interface {}", "string", "bool", "int64", "float64", "%!s(<nil>)")
    return _pick_name(value, types)


def _pick_name(value: object, names: tuple[str, ...]) -> str:
    kinds: tuple[type, ...] = (Mapping, list, str, bool, int, float)
    return next((name for kind, name in zip(kinds, names, strict=False) if isinstance(value, kind)), names[-1])
