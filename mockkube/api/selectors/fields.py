"""Field selectors: `metadata.name=a,status.phase!=Running`; each kind determines which fields it has."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from mockkube.api.selectors.errors import BadSelector
from mockkube.lazy_dataclasses import dataclass

_TERM: Final = re.compile(r"(?P<field>.*?)(?P<operator>!=|==|=)(?P<value>.*)", re.DOTALL)
_PIECE: Final = re.compile(r"((?:[^\\,]|\\.|\\$)*)(,|$)", re.DOTALL)
_ESCAPED: Final = frozenset("\\,=")


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition: the field has the value or, if `negated`, has another one."""

    field: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{self.field}{'!=' if self.negated else '='}{escape(self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Conjunction of requirements; without any it selects everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if everything is selected."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Return whether an object with these field values is selected; a missing field counts as empty."""
        # hot: per object of a list, per event of a watch
        for requirement in self.requirements:
            if (fields.get(requirement.field, "") == requirement.value) is requirement.negated:
                return False
        return True

    def get_required_value(self, field: str) -> str | None:
        """Return the only value the field may have; None if the selector does not fix it."""
        wanted = (one.value for one in self.requirements if one.field == field and not one.negated)
        return next(wanted, None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = FieldSelector()


def parse(text: str) -> FieldSelector:
    """Parse a selector of a query; raise BadSelector."""
    # upstream 1.36: apimachinery/pkg/fields/selector.go
    return FieldSelector(tuple(_parse_requirement(term, text) for term in sorted(_split_terms(text)) if term))


def escape(value: str) -> str:
    """Escape a value for use in a selector."""
    return re.sub(r"([\\,=])", r"\\\1", value)


def unescape(value: str) -> str:
    """Resolve the escapes of a value; raise BadSelector for separators that are not escaped."""
    found: list[str] = []
    letters = iter(value)
    for letter in letters:
        if letter == "\\":
            letter = next(letters, "")
            if letter not in _ESCAPED:
                raise BadSelector(f"invalid field selector: invalid escape sequence: \\{letter}")
        elif letter in _ESCAPED:
            raise BadSelector(f"invalid field selector: unescaped character in value: {ord(letter)}")
        found.append(letter)
    return "".join(found)


def _split_terms(text: str) -> Iterator[str]:
    """Split at the commas that are not escaped."""
    for piece in _PIECE.finditer(text):
        yield piece[1]


def _parse_requirement(term: str, text: str) -> FieldRequirement:
    parts = _TERM.fullmatch(term)
    if parts is None:
        raise BadSelector(f"invalid selector: '{text}'; can't understand '{term}'")
    return FieldRequirement(parts["field"], unescape(parts["value"]), parts["operator"] == "!=")
