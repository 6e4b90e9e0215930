"""JSONPath in the dialect of custom resource columns and of kubectl.

`compile_path` parses `.status.conditions[?(@.type=="Ready")].status` once; the path can then be evaluated on any
object. Fields that an object lacks give no values; steps that do not fit its types (an index of a number) raise
`PathError`.
"""

# upstream 1.36: client-go/util/jsonpath

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

Values = list[Any]
PathStep = Callable[[Values], Values]

_FIELD: Final = re.compile(r"(?:\\.|[^\s.,\[\]$@{}\\])*", re.DOTALL)
_WORD: Final = re.compile(r"[^\s.,\[\]$@{}]+")
_NUMBER: Final = re.compile(r"[+-]?[\d.]*")
_QUOTED: Final = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\\n])*)\1""")
_BRACKET: Final = re.compile(r"\[([^\]\n]*)\]")
_FILTER: Final = re.compile(r"""\[\?\(((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^)"'\n])*)\)\]""")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_ESCAPES: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip
_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class PathError(ValueError):
    """Path that does not parse, or does not fit the object."""


class CompiledJsonPath:
    """A parsed path."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Sequence[PathStep]) -> None:
        self._steps = tuple(steps)

    def find(self, value: Any) -> Values:
        """Return the values at the path, in order; raise `PathError` if the path does not fit the value."""
        return self.follow([value])

    def follow(self, values: Values) -> Values:
        """Return the values at the path in each of the given values."""
        for step in self._steps:
            values = step(values)
        return values


def compile_path(text: str) -> CompiledJsonPath:
    """Parse a path; raise `PathError` if it is incomplete or invalid."""
    steps: list[PathStep] = []
    at = 0
    while at < len(text) and text[at] != "}":
        at = parse_step(text, at, steps)
    return CompiledJsonPath(steps)


def parse_step(text: str, at: int, steps: list[PathStep]) -> int:
    """Parse the step at that position into `steps`; return the start of the next one."""
    if text.startswith("[?(", at):
        match = _match_or_fail(_FILTER, text, at)
        steps.append(_make_filter_step(match[1]))
        return match.end()
    if text.startswith("..", at):
        return _parse_recursive(text, at, steps)
    char = text[at]
    if char in " @$":
        return at + 1
    if char == "[":
        match = _match_or_fail(_BRACKET, text, at)
        steps.append(_make_bracket_step(match[1]))
        return match.end()
    if char in "\"'":
        match = _match_or_fail(_QUOTED, text, at)
        steps.append(_make_text_step(_unquote(match[2], match[1])))
        return match.end()
    if char == ".":
        return _parse_field(text, at + 1, steps)
    return _parse_word(text, at, steps)


def _match_or_fail(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    match = pattern.match(text, at)
    if match is None:
        raise PathError(f"unterminated: {text[at:]}")
    return match


def _parse_recursive(text: str, at: int, steps: list[PathStep]) -> int:
    # upstream rejects `....`; it would descend from every value it has just found.
    if steps and steps[-1] is _descend:
        raise PathError("invalid multiple recursive descent")
    steps.append(_descend)
    after = at + len("..")
    is_field = after < len(text) and (text[after].isalnum() or text[after] == "_")
    return _parse_field(text, after, steps) if is_field else after


def _parse_field(text: str, at: int, steps: list[PathStep]) -> int:
    match = _match_or_fail(_FIELD, text, at)
    steps.append(_all_children if match[0] == "*" else _make_field_step(match[0].replace("\\", "")))
    return match.end()


def _parse_word(text: str, at: int, steps: list[PathStep]) -> int:
    """Parse a number or a word. Only `true` and `false` have a meaning; other words fail on evaluation."""
    if text[at] in "+-" or text[at].isdigit():
        match = _match_or_fail(_NUMBER, text, at)
        steps.append(_make_constant_step(_parse_number(match[0])))
        return match.end()
    if not (text[at].isalnum() or text[at] == "_"):
        raise PathError(f"unrecognized character in action: {text[at]}")
    match = _match_or_fail(_WORD, text, at)
    steps.append(
        _make_constant_step(match[0] == "true") if match[0] in ("true", "false") else _make_failing_step(match[0])
    )
    return match.end()


def _parse_number(text: str) -> int | float:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise PathError(f"cannot parse number {text}") from None


def _unquote(text: str, quote: str) -> str:
    """Return the text between quotes, with Go's escapes resolved."""

    def replace_escape(match: re.Match[str]) -> str:
        letter, digits = match[1][0], match[1][1:]
        if letter in "'\"":
            if letter != quote:
                raise PathError(f"unquote string {quote}{text}{quote} error invalid syntax")
            return letter
        if digits or letter in "01234567":
            return chr(int(digits, 16) if letter in "xuU" else int(match[1], 8))
        if letter not in _ESCAPES:
            raise PathError(f"unquote string {quote}{text}{quote} error invalid syntax")
        return _ESCAPES[letter]

    return _ESCAPE.sub(replace_escape, text)


def _make_text_step(value: str) -> PathStep:
    return lambda values: [value]


def _make_constant_step(value: Any) -> PathStep:
    # upstream repeats a number or boolean for each current value, but returns a quoted text once.
    return lambda values: [value] * len(values)


def _make_failing_step(word: str) -> PathStep:
    def refuse(values: Values) -> Values:
        raise PathError(f"unrecognized identifier {word}")

    return refuse


def _make_field_step(key: str) -> PathStep:
    return lambda values: [value[key] for value in values if isinstance(value, dict) and key in value]


def _children(value: Any) -> Values:
    if isinstance(value, dict):
        # The order of a Go map is random; sorted keys give the same text every time.
        return [value[key] for key in sorted(value)]
    return value if isinstance(value, list) else []


def _all_children(values: Values) -> Values:
    return [child for value in values for child in _children(value)]


def _descend(values: Values) -> Values:
    """Return every value that has children, and all such values below it."""
    found: Values = []
    for value in values:
        if children := _children(value):
            found += [value, *_descend(children)]
    return found


def _make_bracket_step(text: str) -> PathStep:
    parts = text.split(",")
    if len(parts) > 1:
        steps = [_make_bracket_step(part.strip(" ")) for part in parts]
        return lambda values: [value for step in steps for value in step(values)]
    if key := _KEY.fullmatch(text):
        return compile_path(f".{key[1]}").follow
    return _make_slice_step(text)


def _make_slice_step(text: str) -> PathStep:
    bounds = _SLICE.fullmatch(":" if text == "*" else text)
    if bounds is None:
        raise PathError(f"invalid array index {text}")
    first, last, stride = (_parse_bound(bound) for bound in bounds.groups())
    if bounds[2] is None:
        last = (first or 0) + 1 or None  # a single index; the one after the last is the end
    step = 1 if stride is None else stride

    def cut(values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is not None:
                found += _slice_list(value, first, last, step)
        return found

    return cut


def _parse_bound(text: str | None) -> int | None:
    digits = (text or "").lstrip(":")
    if digits == "-":
        raise PathError("array index - is not a number")
    return int(digits) if digits else None


def _slice_list(value: Any, first: int | None, last: int | None, step: int) -> Values:
    """Return a slice of a list; negative bounds count from its end, bounds beyond it are an error."""
    if not isinstance(value, list):
        raise PathError(f"{type(value).__name__} is not array or slice")
    length = len(value)
    start = first or 0
    start += length if start < 0 else 0
    end = length if last is None else last
    end += length if end < 0 else 0
    if start == end:
        return []
    if not 0 <= start < end <= length:
        raise PathError(f"array index out of bounds: index {start}, length {length}")
    if step <= 0:
        raise PathError("step must be > 0")
    return value[start:end:step]


def _make_filter_step(text: str) -> PathStep:
    comparison = _COMPARISON.fullmatch(text)
    if comparison is None:
        return _make_select_step(_make_existence_test(compile_path(text)))
    left, sign, right = comparison.groups()
    return _make_select_step(_make_comparison_test(compile_path(left), sign, compile_path(right)))


def _make_select_step(keeps: Callable[[Any], bool]) -> PathStep:
    def select(values: Values) -> Values:
        for value in values:
            if not isinstance(value, list):
                raise PathError(f"{type(value).__name__} is not array or slice and cannot be filtered")
        return [item for value in values for item in value if keeps(item)]

    return select


def _make_existence_test(path: CompiledJsonPath) -> Callable[[Any], bool]:
    def keeps(item: Any) -> bool:
        try:
            return bool(path.find(item))
        except PathError:
            return False

    return keeps


def _make_comparison_test(left: CompiledJsonPath, sign: str, right: CompiledJsonPath) -> Callable[[Any], bool]:
    def keeps(item: Any) -> bool:
        sides = [left.find(item), right.find(item)]
        if not all(sides):
            return False
        if any(len(side) > 1 for side in sides):
            raise PathError("can only compare one element at a time")
        return _compare(sides[0][0], sign, sides[1][0])

    return keeps


def _compare(left: Any, sign: str, right: Any) -> bool:
    """Compare two scalars of one type; booleans have no order."""
    if sign not in _OPERATORS:
        raise PathError(f"unrecognized filter operator {sign}")
    is_comparable = type(left) is type(right) and isinstance(left, str | int | float)
    if not is_comparable or (isinstance(left, bool) and sign not in ("==", "!=")):
        raise PathError("incompatible types for comparison")
    return bool(_OPERATORS[sign](left, right))
