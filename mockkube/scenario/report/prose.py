"""Sentences for every form of a report: plain text with `code`, **weight** and *stress*, which HTML is made of."""

import re
from html import escape
from typing import Final

_CODE: Final = re.compile(r"`([^`]*)`")
_STRONG: Final = re.compile(r"\*\*(.+?)\*\*")
_STRESS: Final = re.compile(r"(?<![\w*])\*([^*]+?)\*(?![\w*])")


def html(text: str) -> str:
    """Return a sentence as HTML."""
    pieces = _CODE.split(escape(text, quote=False))
    for index, piece in enumerate(pieces):
        if index % 2:
            pieces[index] = f"<code>{piece}</code>"
    joined = "".join(pieces)
    return _STRESS.sub(r"<i>\1</i>", _STRONG.sub(r"<b>\1</b>", joined))


def plain(text: str) -> str:
    """Return a sentence without any marks."""
    return text.replace("`", "").replace("**", "")
