"""The function `format`: fills clauses such as `%s` or `%.2f` of a string from a list.

Evaluation and the check of constant format strings parse clauses alike. Numbers are printed as in English: with
thousands separated, and powers of ten as superscripts.
upstream 1.36: cel-go ext/formatting.go
"""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from mockkube_cel.golang.strconv import NumberError, parse_int64, quote
from mockkube_cel.libraries.conversions import to_string
from mockkube_cel.types import CelType, Kind
from mockkube_cel.values import CelError, Duration, Timestamp, UInt, from_key, text_length, type_of

_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_DEFAULT_PRECISION: Final = 6
_PRECISION_MAX: Final = 1_000_000
_BAD_PRECISION: Final = "%!(BADPREC)"


class FormatError(Exception):
    """Malformed clause, or an argument that the clause cannot format."""


# Formats a clause: its letter, its precision, the index of its argument.
ClauseWriter = Callable[[str, int | None, int], str]

_CLAUSE_ERRORS: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
_ACCEPTED_KINDS: Final = {
    "s": frozenset(
        {
            Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.TIMESTAMP, Kind.BYTES,
            Kind.DURATION, Kind.TYPE, Kind.NULL,
        }
    ),
    "d": frozenset({Kind.INT, Kind.UINT}),
    "f": frozenset({Kind.DOUBLE, Kind.STRING}),
    "e": frozenset({Kind.DOUBLE, Kind.STRING}),
    "b": frozenset({Kind.INT, Kind.UINT, Kind.BOOL}),
    "x": frozenset({Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES}),
    "X": frozenset({Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES}),
    "o": frozenset({Kind.INT, Kind.UINT}),
}  # fmt: skip


def accepts(clause: str, given: CelType) -> bool:
    """Return whether a clause formats arguments of this type; `f` and `e` accept strings such as `NaN`."""
    return given.kind is Kind.DYN or given.kind in _ACCEPTED_KINDS[clause]


def clause_error(clause: str, given: CelType) -> str:
    """Return the error text for a clause that cannot format arguments of this type."""
    return f"{_CLAUSE_ERRORS[clause]}, was given {given.name}"


def expand_clauses(text: str, count: int, write: ClauseWriter, *, checking: bool = False) -> tuple[str, int]:
    """Replace every clause by the output of `write`; return the text and the number of arguments used.

    Raises FormatError for a malformed clause, or one without an argument among `count`. If a text has both errors at
    its end, a check (`checking`) reports the first, an evaluation the second.
    """
    output: list[str] = []
    position = used = 0
    while position < len(text):
        letter = text[position]
        if letter != "%":
            output.append(letter)
            position += 1
        elif text[position + 1 : position + 2] == "%":
            output.append("%")
            position += 2
        else:
            unfinished = position + 1 >= len(text)
            if used >= count and not (checking and unfinished):
                raise FormatError(f"index {used} out of range")
            if unfinished:
                raise FormatError("unexpected end of string")
            clause, precision, position = _read_clause(text, position + 1)
            try:
                output.append(write(clause, precision, used))
            except FormatError as error:
                raise FormatError(f"error during formatting: {error}") from None
            used += 1
    return "".join(output), used


def _read_clause(text: str, position: int) -> tuple[str, int | None, int]:
    precision = None
    if text[position] == ".":
        end = position + 1
        while "0" <= text[end : end + 1] <= "9":
            end += 1
        if end >= len(text):
            reason = "error while parsing precision: could not find end of precision specifier"
            raise FormatError(f"could not parse formatting clause: {reason}")
        try:
            precision = parse_int64(text[position + 1 : end], function="Atoi")
        except NumberError as error:
            reason = f"error while parsing precision: error while converting precision to integer: {error}"
            raise FormatError(f"could not parse formatting clause: {reason}") from None
        position = end
    clause = text[position]
    if clause not in _CLAUSE_ERRORS:
        # upstream 1.36: one byte of the text is taken for a whole character.
        shown = chr(clause.encode()[0])
        raise FormatError(f'could not parse formatting clause: unrecognized formatting clause "{shown}"')
    return clause, precision, position + 1


def format_string(text: str, args: list[Any]) -> Any:
    """Compute `text.format(args)`."""
    text_length([text, *args])
    try:
        return expand_clauses(
            text, len(args), lambda clause, precision, index: _format_clause(clause, precision, args[index])
        )[0]
    except FormatError as error:
        return CelError(str(error))


def _format_clause(clause: str, precision: int | None, value: Any) -> str:
    match clause:
        case "s":
            return _format_text(value)
        case "d":
            return _format_integer(clause, value, "d")
        case "b" if type(value) is bool:
            return "1" if value else "0"
        case "b" | "o":
            return _format_integer(clause, value, clause)
        case "x" | "X":
            return _format_hex(clause, value)
        case _:
            return _format_double(clause, _DEFAULT_PRECISION if precision is None else precision, value)


def _format_integer(clause: str, value: Any, spec: str) -> str:
    if type(value) not in (int, UInt):
        raise FormatError(clause_error(clause, type_of(value)))
    return format(int(value), spec)


def _format_hex(clause: str, value: Any) -> str:
    if type(value) in (str, bytes):
        raw = value.encode(errors="surrogatepass") if type(value) is str else value
        return raw.hex() if clause == "x" else raw.hex().upper()
    return _format_integer(clause, value, clause)


def _format_double(clause: str, precision: int, value: Any) -> str:
    if value in ("NaN", "Infinity", "-Infinity"):
        value = float(value.lower())
    if type(value) is not float:
        raise FormatError(clause_error(clause, type_of(value)))
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    # Go's fmt refuses such a precision with this marker and prints with the default one.
    if precision > _PRECISION_MAX:
        return _BAD_PRECISION + _format_double(clause, _DEFAULT_PRECISION, value)
    if clause == "f":
        return f"{Decimal(value):,.{precision}f}"
    # upstream 1.36: here the number is a width, and the precision always the usual one.
    mantissa, _, exponent = f"{Decimal(value):.{_DEFAULT_PRECISION}e}".partition("e")
    power = int(exponent) if value else 0
    shown = f"{'-' if power < 0 else ''}{abs(power):02d}".translate(_SUPERSCRIPTS)
    return f"{mantissa}×10{shown}".rjust(precision)


def _format_text(value: Any) -> str:
    kind = type_of(value).kind
    if kind is Kind.LIST:
        return f"[{', '.join(map(_format_literal, value))}]"
    if kind is Kind.MAP:
        return _format_map(value)
    if kind is Kind.NULL:
        return "null"
    if kind not in _ACCEPTED_KINDS["s"]:
        raise FormatError(clause_error("s", type_of(value)))
    shown = to_string(value)
    if type(shown) is CelError:
        raise FormatError(f"could not convert argument {quote(shown.message)} to string")
    return str(shown)


def _format_map(value: dict[Any, Any]) -> str:
    pairs = []
    for key, item in value.items():
        key = from_key(key)
        if type(key) not in (str, bool, int, UInt):
            raise FormatError(f"no formatting function for map key of type {type_of(key).name}")
        pairs.append((quote(key) if type(key) is str else to_string(key), _format_literal(item)))
    # Sorted by printed key: the order of a Go map is random, so upstream sorts as well.
    return "{" + ", ".join(f"{key}:{item}" for key, item in sorted(pairs, key=lambda pair: pair[0])) + "}"


def _format_literal(value: Any) -> str:
    """Print an element of a list or map as an expression would write it."""
    match value:
        case bool() | UInt() | int() | CelType() | None:
            return _format_text(value)
        case str():
            return quote(value)
        case bytes():
            return "b" + quote(_format_text(value))
        case Timestamp():
            return f"timestamp({quote(to_string(value))})"
        case Duration():
            return f"duration({quote(to_string(value))})"
        case float() if math.isnan(value):
            return '"NaN"'
        case float() if math.isinf(value):
            return '"+Inf"' if value > 0 else '"-Inf"'
        case float():
            return f"{value:.{_DEFAULT_PRECISION}f}"
        case list() | dict():
            return _format_text(value)
    raise FormatError(f"no formatting function for {type_of(value).name}")
