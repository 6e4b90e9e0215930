"""Standard functions: size, string search, patterns, accessors of timestamps and durations.

upstream 1.36: cel-go common/stdlib/standard.go
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from mockkube_cel import costs, types
from mockkube_cel.declarations import (
    CallEstimate,
    Function,
    Implementation,
    Overload,
    SizedOperand,
    global_overload,
    member_overload,
)
from mockkube_cel.golang import gotime
from mockkube_cel.golang.goregexp import RegexError, compile_pattern
from mockkube_cel.interpreter.arithmetic import unsupported_type
from mockkube_cel.sizes import TRAVERSAL_FACTOR
from mockkube_cel.types import BOOL, BYTES, DURATION, INT, STRING, TIMESTAMP
from mockkube_cel.values import NO_OVERLOAD, CelError, Duration, Timestamp

_LIST: Final = types.list_of(types.param("A"))
_MAP: Final = types.map_of(types.param("A"), types.param("B"))
_HOUR: Final = 3600 * gotime.SECOND


def size(value: Any) -> Any:
    """Compute `size(value)`."""
    return len(value) if isinstance(value, (str, bytes, list, dict)) else unsupported_type("size", value)


def _check_strings(compute: Callable[[str, str], bool]) -> Implementation:
    """Return the implementation behind a check that both operands are strings."""
    return lambda text, part: compute(text, part) if type(text) is str and type(part) is str else NO_OVERLOAD


def matches(text: Any, pattern: Any) -> Any:
    """Compute `text.matches(pattern)`."""
    if type(text) is not str:
        return unsupported_type("matches", text)
    if type(pattern) is not str:
        return NO_OVERLOAD
    try:
        return compile_pattern(pattern).search(text) is not None
    except RegexError as error:
        return CelError(str(error))


def _estimate_contains(operands: Sequence[SizedOperand]) -> CallEstimate:
    text, part = operands
    return CallEstimate(text.size.scale_by(TRAVERSAL_FACTOR) * part.size.scale_by(TRAVERSAL_FACTOR))


def _charge_contains(args: Sequence[Any], result: Any) -> int:
    return costs.charge_traversal(0)(args, result) * costs.charge_traversal(1)(args, result)


def _declare_affix_function(name: str, overload_id: str, compute: Callable[[str, str], bool]) -> Function:
    overload = Overload(
        overload_id, (STRING, STRING), BOOL, _check_strings(compute), member=True,
        # cel-go estimates by the size of the affix, but charges for the whole string.
        estimate=costs.estimate_traversal(1), charge=costs.charge_traversal(0),
    )  # fmt: skip
    return Function(name, (overload,), guarded=False)


_TimestampAccessor = Callable[[Timestamp, int], int]


def _seconds_of_day(moment: Timestamp, offset: int) -> int:
    return (moment.nanos // gotime.SECOND + offset) % 86400


_TIMESTAMP_ACCESSORS: Final[dict[str, _TimestampAccessor]] = {
    "getFullYear": lambda moment, offset: gotime.civil_date(moment, offset)[0],
    "getMonth": lambda moment, offset: gotime.civil_date(moment, offset)[1] - 1,
    "getDayOfYear": lambda moment, offset: gotime.day_of_year(moment, offset) - 1,
    "getDayOfMonth": lambda moment, offset: gotime.civil_date(moment, offset)[2] - 1,
    "getDate": lambda moment, offset: gotime.civil_date(moment, offset)[2],
    "getDayOfWeek": lambda moment, offset: ((moment.nanos // gotime.SECOND + offset) // 86400 + 4) % 7,
    "getHours": lambda moment, offset: _seconds_of_day(moment, offset) // 3600,
    "getMinutes": lambda moment, offset: _seconds_of_day(moment, offset) // 60 % 60,
    "getSeconds": lambda moment, offset: _seconds_of_day(moment, offset) % 60,
    "getMilliseconds": lambda moment, offset: moment.nanos % gotime.SECOND // 1_000_000,
}


def _truncate(nanos: int, unit: int) -> int:
    # Towards zero, as Go's integer division.
    return nanos // unit if nanos >= 0 else -(-nanos // unit)


_DURATION_ACCESSORS: Final[dict[str, Callable[[Duration], int]]] = {
    "getHours": lambda span: _truncate(span.nanos, _HOUR),
    "getMinutes": lambda span: _truncate(span.nanos, 60 * gotime.SECOND),
    "getSeconds": lambda span: int(gotime.total_seconds(span)),
    "getMilliseconds": lambda span: _truncate(span.nanos, 1_000_000),
}


def _declare_accessor(name: str, read: _TimestampAccessor) -> Function:
    def in_zone(moment: Timestamp, zone: str) -> Any:
        try:
            return read(moment, gotime.zone_offset(moment, zone))
        except gotime.ZoneError as error:
            return CelError(str(error))

    overloads = [
        member_overload(f"timestamp_{name}", (TIMESTAMP,), INT, lambda moment: read(moment, 0)),
        member_overload(f"timestamp_{name}_with_tz", (TIMESTAMP, STRING), INT, in_zone),
    ]
    if name in _DURATION_ACCESSORS:
        overloads.append(member_overload(f"duration_{name}", (DURATION,), INT, _DURATION_ACCESSORS[name]))
    return Function(name, tuple(overloads))


FUNCTIONS: Final = (
    Function(
        "size",
        tuple(
            overload
            for overload_id, kind in (("bytes", BYTES), ("list", _LIST), ("map", _MAP), ("string", STRING))
            for overload in (
                global_overload(f"size_{overload_id}", (kind,), INT),
                member_overload(f"{overload_id}_size", (kind,), INT),
            )
        ),
        run=size,
    ),
    Function(
        "contains",
        (
            Overload(
                "contains_string", (STRING, STRING), BOOL, _check_strings(lambda text, part: part in text), member=True,
                estimate=_estimate_contains, charge=_charge_contains,
            ),
        ),
        guarded=False,
    ),
    _declare_affix_function("endsWith", "ends_with_string", str.endswith),
    _declare_affix_function("startsWith", "starts_with_string", str.startswith),
    Function(
        "matches",
        (
            Overload("matches", (STRING, STRING), BOOL),
            Overload(
                "matches_string", (STRING, STRING), BOOL, member=True,
                estimate=costs.estimate_match, charge=costs.charge_match,
            ),
        ),
        run=matches,
    ),
    *(_declare_accessor(name, read) for name, read in _TIMESTAMP_ACCESSORS.items()),
)  # fmt: skip
