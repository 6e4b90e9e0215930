"""Warning headers of a response, bounded as upstream does.

upstream 1.36: apiserver/pkg/endpoints/filters/warning.go
"""

import re
from collections.abc import Iterable
from typing import Final

# Characters of all warnings together; beyond that each warning is truncated.
TOTAL_CHARACTERS_MAX: Final = 4096
TRUNCATED_CHARACTERS_MAX: Final = 256
_CONTROL_CHARACTERS: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_ESCAPED_CHARACTERS: Final = re.compile(r'["\\]')


def format_warning_headers(texts: Iterable[str]) -> list[str]:
    """Return the headers of the warnings, each once; a text with control characters is left out."""
    sent = list[str]()
    total = shortened = 0
    seen = set[str]()
    for text in texts:
        if text and text not in seen and not _CONTROL_CHARACTERS.search(text):
            seen.add(text)
            sent.append(text)
            total += len(text)
            shortened += min(len(text), TRUNCATED_CHARACTERS_MAX)
            if shortened > TOTAL_CHARACTERS_MAX:
                break  # a hundred thousand may follow: none of them is sent
    if total > TOTAL_CHARACTERS_MAX:
        sent = _truncate(sent)
    return [_format_header(text) for text in sent]


def _truncate(texts: Iterable[str]) -> list[str]:
    """Truncate each warning; those that come after the bound is reached are left out."""
    truncated: list[str] = []
    total = 0
    for text in texts:
        if total >= TOTAL_CHARACTERS_MAX:
            break
        truncated.append(text[:TRUNCATED_CHARACTERS_MAX])
        total += len(truncated[-1])
    return truncated


def _format_header(text: str) -> str:
    quoted = _ESCAPED_CHARACTERS.sub(r"\\\g<0>", text)
    return f'299 - "{quoted}"'
