"""Warning headers of a response, bounded as upstream does.

upstream 1.36: apiserver/pkg/endpoints/filters/warning.go
"""

import re
from collections.abc import Iterable
from typing import Final

# Characters of all warnings together; beyond that each warning is truncated.
TOTAL_MAX: Final = 4096
CUT_MAX: Final = 256
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_ESCAPED: Final = re.compile(r'["\\]')


def headers(texts: Iterable[str]) -> list[str]:
    """Return the headers of the warnings, each once; a text with control characters is left out."""
    sent = list[str]()
    whole = shortened = 0
    seen = set[str]()
    for text in texts:
        if text and text not in seen and not _CONTROL.search(text):
            seen.add(text)
            sent.append(text)
            whole += len(text)
            shortened += min(len(text), CUT_MAX)
            if shortened > TOTAL_MAX:
                break  # a hundred thousand may follow: none of them is sent
    if whole > TOTAL_MAX:
        sent = _cut(sent)
    return [_header(text) for text in sent]


def _cut(texts: Iterable[str]) -> list[str]:
    """Truncate each warning; those that come after the bound is reached are left out."""
    truncated: list[str] = []
    written = 0
    for text in texts:
        if written >= TOTAL_MAX:
            break
        truncated.append(text[:CUT_MAX])
        written += len(truncated[-1])
    return truncated


def _header(text: str) -> str:
    quoted = _ESCAPED.sub(r"\\\g<0>", text)
    return f'299 - "{quoted}"'
