"""Sentences for every form of a report: text with `code`, **weight**, *stress* and [links](#there), as in Markdown."""

import re
from html import escape
from typing import Final

_CODE: Final = re.compile(r"`([^`]*)`")
_STRONG: Final = re.compile(r"\*\*(.+?)\*\*")
_LINK: Final = re.compile(r"\[([^\]]+)\]\((#[\w-]+)\)")
_STRESS: Final = re.compile(r"(?<![\w*])\*([^*]+?)\*(?![\w*])")


def to_html(text: str) -> str:
    """Return a sentence as HTML."""
    pieces = _CODE.split(escape(text, quote=False))
    for index, piece in enumerate(pieces):
        if index % 2:
            pieces[index] = f"<code>{piece}</code>"
    joined = _LINK.sub(r'<a href="\2">\1</a>', "".join(pieces))
    return _STRESS.sub(r"<i>\1</i>", _STRONG.sub(r"<b>\1</b>", joined))


def to_plain(text: str) -> str:
    """Return a sentence without any marks."""
    return _LINK.sub(r"\1", text).replace("`", "").replace("**", "")
