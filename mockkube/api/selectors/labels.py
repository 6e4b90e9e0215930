"""Label selectors: `app=web,tier in (a,b),!legacy` and LabelSelector objects, compiled to fast tests."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.errors import BadSelector
from mockkube.lazy_dataclasses import dataclass

# Number of parsed selectors that are cached; the least recently used one is dropped.
CACHE_MAX = 1024

Labels = Mapping[str, str]


class SelectorOperator(StrEnum):
    """Operator of a requirement; the values are upstream's names."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER = "gt"
    LESS = "lt"
    EXISTS = "exists"
    NOT_EXISTS = "!"


_BINARY: Final = tuple(
    one for one in SelectorOperator if one not in (SelectorOperator.EXISTS, SelectorOperator.NOT_EXISTS)
)
_SETS: Final = (SelectorOperator.IN, SelectorOperator.NOT_IN)
_ORDERS: Final = (SelectorOperator.GREATER, SelectorOperator.LESS)
_SIGNS: Final = {">": SelectorOperator.GREATER, "<": SelectorOperator.LESS} | {
    one.value: one for one in _BINARY if one not in _ORDERS
}
_OBJECT_OPERATORS: Final = {
    "In": SelectorOperator.IN,
    "NotIn": SelectorOperator.NOT_IN,
    "Exists": SelectorOperator.EXISTS,
    "DoesNotExist": SelectorOperator.NOT_EXISTS,
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One condition on one label."""

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case SelectorOperator.EXISTS:
                return self.key
            case SelectorOperator.NOT_EXISTS:
                return f"!{self.key}"
            case SelectorOperator.IN | SelectorOperator.NOT_IN:
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
            case SelectorOperator.GREATER:
                return f"{self.key}>{self.values[0]}"
            case SelectorOperator.LESS:
                return f"{self.key}<{self.values[0]}"
            case _:
                return f"{self.key}{self.operator}{self.values[0]}"

    def compile(self) -> Callable[[Labels], bool]:
        """Return a function that tests whether labels meet the condition."""
        key, values = self.key, frozenset(self.values)
        match self.operator:
            case SelectorOperator.IN | SelectorOperator.EQUALS | SelectorOperator.DOUBLE_EQUALS:
                return lambda labels: labels.get(key) in values
            case SelectorOperator.NOT_IN | SelectorOperator.NOT_EQUALS:
                # Labels without the key match, unlike for `In`.
                return lambda labels: labels.get(key) not in values
            case SelectorOperator.EXISTS:
                return lambda labels: key in labels
            case SelectorOperator.NOT_EXISTS:
                return lambda labels: key not in labels
            case SelectorOperator.GREATER:
                bound = int(self.values[0])
                return lambda labels: (number := _parse_int64(labels.get(key, ""))) is not None and number > bound
            case SelectorOperator.LESS:
                bound = int(self.values[0])
                return lambda labels: (number := _parse_int64(labels.get(key, ""))) is not None and number < bound


class LabelSelector:
    """Conjunction of requirements, in the order of their keys; without any it selects everything."""

    __slots__ = ("_tests", "requirements")

    def __init__(self, requirements: tuple[LabelRequirement, ...] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self._tests = tuple(requirement.compile() for requirement in self.requirements)

    @property
    def is_empty(self) -> bool:
        """True if everything is selected."""
        return not self._tests

    def matches(self, labels: Labels) -> bool:
        """Return whether an object with these labels is selected."""
        # hot: per object of a list, per event of a watch
        for test in self._tests:  # noqa: SIM110 (a generator costs more than the tests)
            if not test(labels):
                return False
        return True

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class _NothingSelector(LabelSelector):
    """Selector of an absent LabelSelector object, which matches no object."""

    __slots__ = ()

    @property
    def is_empty(self) -> bool:
        return False

    def matches(self, labels: Labels) -> bool:
        return False


EVERYTHING: Final = LabelSelector()
NOTHING: Final[LabelSelector] = _NothingSelector()


@lru_cache(CACHE_MAX)
def parse(text: str) -> LabelSelector:
    """Parse a selector of a query; raise BadSelector."""
    return LabelSelector(tuple(_Parser(text).parse_requirements()))


def from_label_selector(selector: ReadOnlyObject | None) -> LabelSelector:
    """Compile a LabelSelector object; an absent one selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    wanted = [
        _make_requirement(key, SelectorOperator.EQUALS, (value,))
        for key, value in selector.get("matchLabels", {}).items()
    ]
    for expression in selector.get("matchExpressions", ()):
        operator = _OBJECT_OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            raise BadSelector(f'"{expression.get("operator", "")}" is not a valid label selector operator')
        wanted.append(_make_requirement(expression.get("key", ""), operator, tuple(expression.get("values", ()))))
    return LabelSelector(tuple(wanted))


def _parse_int64(text: str) -> int | None:
    """Parse a 64-bit integer as Go does; return None if it is none."""
    # A label value has at most 63 characters; the bound protects int() from texts that are none.
    if not _INTEGER.fullmatch(text) or len(text) > 100:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _make_requirement(key: str, operator: SelectorOperator, values: tuple[str, ...]) -> LabelRequirement:
    """Return the requirement; raise BadSelector with all of its errors."""
    # upstream 1.36: apimachinery/pkg/labels/selector.go
    found = _value_errors("key", key, names.check_qualified_name(key))
    found += _value_count_errors(operator, values)
    for index, value in enumerate(values):
        found += _value_errors(f"values[{index}][{key}]", value, names.check_label_value(value))
    if found:
        texts = list(dict.fromkeys(map(str, found)))
        raise BadSelector(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return LabelRequirement(key, operator, values)


def _value_errors(path: str, value: str, messages: list[str]) -> list[FieldError]:
    return [invalid(path, value, "; ".join(messages))] if messages else []


def _value_count_errors(operator: SelectorOperator, values: tuple[str, ...]) -> list[FieldError]:
    given = list(values) or None
    if operator in _SETS and not values:
        return [invalid("values", given, "for 'in', 'notin' operators, values set can't be empty")]
    if operator not in _BINARY and values:
        return [invalid("values", given, "values set must be empty for exists and does not exist")]
    if operator in _ORDERS:
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        return [invalid(f"values[{at}]", one, detail) for at, one in enumerate(values) if _parse_int64(one) is None]
    return []


_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")
_END: Final = ""
_SPECIAL: Final = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">", _END))


class _Parser:
    """Recursive-descent parser of one selector; after the last token it always returns `_END`."""

    # upstream 1.36: apimachinery/pkg/labels/selector.go

    def __init__(self, text: str) -> None:
        self._words = _TOKEN.findall(text)
        self._at = 0

    def _peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else _END

    def _take(self) -> str:
        word = self._peek()
        self._at += 1
        return word

    def parse_requirements(self) -> list[LabelRequirement]:
        found: list[LabelRequirement] = []
        while (word := self._peek()) != _END:
            if word in _SPECIAL and word != "!":
                raise BadSelector(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._parse_requirement())
            except BadSelector as error:
                raise BadSelector(f"unable to parse requirement: {error}") from None
            self._expect_end_of_requirement()
        return found

    def _expect_end_of_requirement(self) -> None:
        word = self._take()
        if word not in (",", _END):
            raise BadSelector(f"found '{word}', expected: ',' or 'end of string'")
        if word == "," and (follower := self._peek()) in _SPECIAL and follower != "!":
            raise BadSelector(f"found '{follower}', expected: identifier after ','")

    def _parse_requirement(self) -> LabelRequirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._take()
        if key in _SPECIAL:
            raise BadSelector(f"found '{key}', expected: identifier")
        if messages := names.check_qualified_name(key):
            raise BadSelector(str(invalid("<nil>", key, "; ".join(messages))))
        if absent or self._peek() in (",", _END):
            return _make_requirement(key, SelectorOperator.NOT_EXISTS if absent else SelectorOperator.EXISTS, ())
        sign = self._take()
        operator = _SIGNS.get(sign)
        if operator is None:
            raise BadSelector(f"found '{sign}', expected: {', '.join(_BINARY)}")
        return _make_requirement(key, operator, self._parse_set() if operator in _SETS else self._parse_exact_value())

    def _parse_exact_value(self) -> tuple[str]:
        if self._peek() in (",", _END):
            return ("",)
        word = self._take()
        if word in _SPECIAL:
            raise BadSelector(f"found '{word}', expected: identifier")
        return (word,)

    def _parse_set(self) -> tuple[str, ...]:
        if (word := self._take()) != "(":
            raise BadSelector(f"found '{word}' expected: '('")
        word = self._peek()
        if word in _SPECIAL and word not in (",", ")"):
            raise BadSelector(f"found '{word}', expected: ',', ')' or identifier")
        # upstream reads `in ()` as a set with the empty value.
        values = {""} if word == ")" else self._parse_values()
        self._take()
        return tuple(sorted(values))

    def _parse_values(self) -> set[str]:
        """Parse up to the closing parenthesis; nothing between two commas is the empty value."""
        found: set[str] = set()
        while True:
            word = self._take()
            follower = self._peek()
            if word == ",":
                if not found or follower in (",", ")"):
                    found.add("")
                if follower == ")":
                    return found
            elif word in _SPECIAL:
                raise BadSelector(f"found '{word}', expected: ',', or identifier")
            else:
                found.add(word)
                if follower == ")":
                    return found
                if follower != ",":
                    raise BadSelector(f"found '{follower}', expected: ',' or ')'")
