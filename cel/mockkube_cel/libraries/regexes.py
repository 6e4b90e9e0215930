"""Regular expression functions `find` and `findAll`.

upstream 1.36: apiserver/pkg/cel/library/regex.go
"""

from typing import Any, Final

from mockkube_cel import costs, types
from mockkube_cel.declarations import Function, Overload, member_overload
from mockkube_cel.golang.goregexp import RegexError, compile_pattern
from mockkube_cel.golang.goregexp import find_all as find_each
from mockkube_cel.types import INT, STRING
from mockkube_cel.values import CelError

_STRINGS: Final = types.list_of(STRING)


def find(text: str, pattern: str) -> Any:
    """Compute `text.find(pattern)`."""
    try:
        match = compile_pattern(pattern).search(text)
    except RegexError as error:
        return CelError(f"Illegal regex: {error}")
    return match[0] if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> Any:
    """Compute `text.findAll(pattern, limit)`."""
    try:
        # Before the search, so that a bad pattern is an error even if the limit is 0.
        compile_pattern(pattern)
    except RegexError as error:
        return CelError(f"Illegal regex: {error}")
    return list(find_each(pattern, text, limit))


FUNCTIONS: Final = (
    Function(
        "find",
        (member_overload("string_find_string", (STRING, STRING), STRING, find),),
        estimate=costs.estimate_find,
        charge=costs.charge_match,
    ),
    Function(
        "findAll",
        (
            member_overload("string_find_all_string", (STRING, STRING), _STRINGS, find_all),
            Overload("string_find_all_string_int", (STRING, STRING, INT), _STRINGS, find_all, member=True, eager=True),
        ),
        estimate=costs.estimate_find,
        charge=costs.charge_match,
    ),
)
