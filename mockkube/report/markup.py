"""Inline Markdown of sentences: `code`, **bold**, *italic* and [links](#anchor), as HTML or without marks."""

import re
from html import escape
from typing import Final

_CODE: Final = re.compile(r"`([^`]*)`")
_STRONG: Final = re.compile(r"\*\*(.+?)\*\*")
_LINK: Final = re.compile(r"\[([^\]]+)\]\((#[\w-]+)\)")
_STRESS: Final = re.compile(r"(?<![\w*])\*([^*]+?)\*(?![\w*])")


def to_html(text: str) -> str:
    """Convert a sentence to HTML."""
    # Quotes stay as they are: sentences stand in elements, never in attributes.
    pieces = _CODE.split(escape(text, quote=False))
    for index, piece in enumerate(pieces):
        if index % 2:
            pieces[index] = f"<code>{piece}</code>"
    joined = _LINK.sub(r'<a href="\2">\1</a>', "".join(pieces))
    return _STRESS.sub(r"<i>\1</i>", _STRONG.sub(r"<b>\1</b>", joined))


def strip_markup(text: str) -> str:
    """Remove the marks of code, bold text and links from a sentence."""
    return _LINK.sub(r"\1", text).replace("`", "").replace("**", "")
