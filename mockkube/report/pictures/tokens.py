"""Colors and fonts of `templates/tokens.css` as values: programs that show SVG know no variables of CSS."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from mockkube.report.environment import read_template

_VARIABLE: Final = re.compile(r"var\(--([\w-]+)\)")
_TOKEN: Final = re.compile(r"--([\w-]+): ([^;]+);")


@cache
def read_tokens() -> Mapping[str, str]:
    """Return the tokens of the light theme."""
    return dict(_TOKEN.findall(read_template("tokens.css").partition("@media")[0]))


def resolve(style: str) -> str:
    """Return a style sheet with the tokens filled in."""
    tokens = read_tokens()
    return _VARIABLE.sub(lambda found: tokens[found[1]], style)
