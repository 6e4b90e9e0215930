"""String functions: search, substrings, replacement, splitting, joining, quoting.

upstream 1.36: cel-go ext/strings.go (version 2), apiserver/pkg/cel/library/cost.go
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from mockkube_cel import costs, types
from mockkube_cel.costs import charge_deep_traversal
from mockkube_cel.declarations import CallEstimate, Function, Implementation, Overload, SizedOperand, member_overload
from mockkube_cel.interpreter.formatting import format_string
from mockkube_cel.sizes import LARGEST, TRAVERSAL_FACTOR, ZERO, Interval, Size
from mockkube_cel.types import DYN, INT, STRING
from mockkube_cel.values import CelError, check_length, size_of

_STRINGS: Final = types.list_of(STRING)
# Go's unicode.IsSpace; str.strip() without an argument would also remove U+001C to U+001F.
_SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
# ASCII only: str.lower() would change other letters, too.
_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_QUOTED: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def char_at(text: str, index: int) -> Any:
    """Compute `text.charAt(index)`."""
    return text[index : index + 1] if 0 <= index <= len(text) else _out_of_range(index)


def index_of(text: str, part: str, offset: int = 0) -> Any:
    """Compute `text.indexOf(part, offset)`."""
    if not part:
        return offset
    return text.find(part, offset) if offset >= 0 else _out_of_range(offset)


def last_index_of(text: str, part: str) -> Any:
    """Compute `text.lastIndexOf(part)`."""
    if not part:
        return len(text)
    # Upstream compares lengths in bytes here, but searches in characters.
    if len(text.encode(errors="surrogatepass")) < len(part.encode(errors="surrogatepass")):
        return -1
    return last_index_before(text, part, len(text) - 1)


def last_index_before(text: str, part: str, offset: int) -> Any:
    """Compute `text.lastIndexOf(part, offset)`."""
    if not part:
        return offset
    if offset < 0:
        return _out_of_range(offset)
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Compute `text.replace(old, new, limit)`."""
    count = text.count(old) if limit < 0 else min(text.count(old), limit)
    check_length(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, max(limit, -1))


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """Compute `text.split(separator, limit)`."""
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def substring(text: str, start: int) -> Any:
    """Compute `text.substring(start)`."""
    return text[start:] if 0 <= start <= len(text) else _out_of_range(start)


def substring_range(text: str, start: int, end: int) -> Any:
    """Compute `text.substring(start, end)`."""
    if start > end:
        return CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            return _out_of_range(index)
    return text[start:end]


def lower(text: str) -> str:
    """Compute `text.lowerAscii()`."""
    return text.translate(_LOWER)


def upper(text: str) -> str:
    """Compute `text.upperAscii()`."""
    return text.translate(_UPPER)


def join(elements: list[Any], separator: str = "") -> Any:
    """Compute `elements.join(separator)`."""
    for element in elements:
        if type(element) is not str:
            return CelError(f"join: invalid input: {element}")
    check_length(sum(map(len, elements)) + len(separator) * len(elements))
    return separator.join(elements)


def quote(text: str) -> str:
    """Compute `strings.quote(text)`."""
    return '"' + "".join(_QUOTED.get(letter, letter) for letter in text) + '"'


def _estimate_index(operands: Sequence[SizedOperand]) -> CallEstimate:
    return CallEstimate(operands[0].size.scale_by(TRAVERSAL_FACTOR))


def _estimate_replace(operands: Sequence[SizedOperand]) -> CallEstimate:
    text, old, new = (operand.size for operand in operands[:3])
    counts = Interval(_fewest_replacements(text, old, new), _most_replacements(text, old, new))
    kept_min = text.min if old.max == 0 or old.max <= new.min else 0
    kept_max = text.max if old.min == 0 or new.max <= old.min else 0
    return CallEstimate(text.scale_by(2 * TRAVERSAL_FACTOR), counts * new + Interval(kept_min, kept_max))


def _most_replacements(text: Size, old: Size, new: Size) -> int:
    if old.min == 0:
        return min(LARGEST, text.max + 1)
    return 0 if new.max <= old.min else _divide_sizes(text.max, old.min)


def _fewest_replacements(text: Size, old: Size, new: Size) -> int:
    if old.max == 0:
        return min(LARGEST, text.min + 1)
    return 0 if old.max <= new.min else _divide_sizes(text.min, old.max)


def _divide_sizes(number: int, divisor: int) -> int:
    return costs.to_uint64(min(LARGEST, math.ceil(float(number) / float(divisor))))


def _estimate_split(operands: Sequence[SizedOperand]) -> CallEstimate:
    text = operands[0].size
    most = text.max
    if len(operands) > 2 and type(operands[2].constant) is int:
        most = costs.to_uint64(operands[2].constant)
    return CallEstimate(text.scale_by(2 * TRAVERSAL_FACTOR), Interval(0, most))


def _estimate_join(operands: Sequence[SizedOperand]) -> CallEstimate:
    elements = operands[0].size
    size = elements * operands[0].element_size if operands[0].type.parameters else ZERO
    if len(operands) > 1:
        separators = Interval(max(0, elements.min - 1), max(0, elements.max - 1))
        size += operands[1].size * separators
    return CallEstimate(size.scale_by(TRAVERSAL_FACTOR), size)


def _charge_join(args: Sequence[Any], result: Any) -> int:
    return math.ceil(size_of(result) * 2 * TRAVERSAL_FACTOR)


def _charge_index(args: Sequence[Any], result: Any) -> int:
    return charge_deep_traversal(args[0])


def _estimate_quote(operands: Sequence[SizedOperand]) -> CallEstimate:
    size = operands[0].size
    result = Interval(costs.to_uint64(size.min + 2), costs.to_uint64(size.max * 2 + 2))
    return CallEstimate(size.scale_by(TRAVERSAL_FACTOR), result)


def _traversal_function(name: str, *overloads: Overload) -> Function:
    """Declare a function that traverses its target and returns a value of the same size."""
    estimate = costs.estimate_traversal(keeps_size=True)
    return Function(name, overloads, estimate=estimate, charge=costs.charge_traversal())


def _member(
    overload_id: str, args: tuple[types.CelType, ...], result: types.CelType, run: Implementation, **more: Any
) -> Overload:
    """Declare a member whose call stops at the first failing operand, as cel-go's variadic bindings do."""
    return Overload(overload_id, args, result, run, member=True, eager=True, **more)


FUNCTIONS: Final = (
    Function("charAt", (member_overload("string_char_at_int", (STRING, INT), STRING, char_at),)),
    Function(
        "indexOf",
        (
            member_overload("string_index_of_string", (STRING, STRING), INT, index_of),
            _member("string_index_of_string_int", (STRING, STRING, INT), INT, index_of),
        ),
        estimate=_estimate_index,
        charge=_charge_index,
    ),
    Function(
        "lastIndexOf",
        (
            member_overload("string_last_index_of_string", (STRING, STRING), INT, last_index_of),
            _member("string_last_index_of_string_int", (STRING, STRING, INT), INT, last_index_before),
        ),
        estimate=_estimate_index,
        charge=_charge_index,
    ),
    _traversal_function("lowerAscii", member_overload("string_lower_ascii", (STRING,), STRING, lower)),
    Function(
        "replace",
        (
            _member("string_replace_string_string", (STRING, STRING, STRING), STRING, replace),
            _member("string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, replace),
        ),
        estimate=_estimate_replace,
        charge=costs.charge_traversal(0, walks=2),
    ),
    Function(
        "split",
        (
            member_overload("string_split_string", (STRING, STRING), _STRINGS, split),
            _member("string_split_string_int", (STRING, STRING, INT), _STRINGS, split),
        ),
        estimate=_estimate_split,
        charge=costs.charge_traversal(0, walks=2),
    ),
    _traversal_function(
        "substring",
        member_overload("string_substring_int", (STRING, INT), STRING, substring),
        _member("string_substring_int_int", (STRING, INT, INT), STRING, substring_range),
    ),
    _traversal_function("trim", member_overload("string_trim", (STRING,), STRING, lambda text: text.strip(_SPACES))),
    _traversal_function("upperAscii", member_overload("string_upper_ascii", (STRING,), STRING, upper)),
    Function(
        "format",
        (
            _member(
                "string_format", (STRING, types.list_of(DYN)), STRING, format_string,
                estimate=costs.estimate_traversal(), charge=costs.charge_traversal(),
            ),
        ),
    ),
    Function(
        "strings.quote",
        (
            Overload(
                "strings_quote", (STRING,), STRING, quote,
                estimate=_estimate_quote, charge=costs.charge_traversal(),
            ),
        ),
    ),
    Function(
        "join",
        (
            member_overload("list_join", (_STRINGS,), STRING, join),
            member_overload("list_join_string", (_STRINGS, STRING), STRING, join),
        ),
        estimate=_estimate_join,
        charge=_charge_join,
    ),
)  # fmt: skip
