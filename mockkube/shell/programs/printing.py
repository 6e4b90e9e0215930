"""The commands `echo` and `printf`."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import check_length

if TYPE_CHECKING:
    from mockkube.shell.scripts.shell import Shell

_FLAGS: Final = re.compile(r"-[neE]+$")
_ESCAPE: Final = re.compile(r"\\(0[0-7]{0,3}|[1-7][0-7]{0,2}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_CONVERSION: Final = re.compile(r"%([-0+ ]*)(\d{0,3})(?:\.(\d{1,3}))?([a-zA-Z%])")
_ESCAPED_CHARACTERS: Final = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "\\": "\\", '"': '"',
    "'": "'",
}  # fmt: skip


def run_echo(shell: "Shell", words: Sequence[str]) -> int:
    """Print the words."""
    rest, flags = list(words), ""
    while rest and _FLAGS.match(rest[0]):
        flags += rest.pop(0)
    text = " ".join(rest)
    shell.print((_unescape(text) if "e" in flags else text) + ("" if "n" in flags else "\n"))
    return 0


def run_printf(shell: "Shell", words: Sequence[str]) -> int:
    """Print a format with its words, repeating it while words are left."""
    if not words or words[0].startswith("-"):
        raise Unsupported
    form, rest, texts = words[0], list(words[1:]), list[str]()
    while True:
        before = len(rest)
        texts.append(_format_once(form, rest))
        # A format without conversions consumes no words: repeating it would never end.
        if not rest or len(rest) == before:
            break
    shell.print(check_length("".join(texts)))
    return 0


def _format_once(form: str, rest: list[str]) -> str:
    texts, at = [], 0
    for place in _CONVERSION.finditer(form):
        literal = form[at : place.start()]
        if "%" in literal:
            raise Unsupported
        texts.append(_unescape(literal))
        texts.append(_format_argument(place, rest))
        at = place.end()
    if "%" in form[at:]:
        raise Unsupported
    return "".join((*texts, _unescape(form[at:])))


def _format_argument(place: re.Match[str], rest: list[str]) -> str:
    flags, width, precision, kind = place.groups()
    if kind == "%":
        return "%"
    word = rest.pop(0) if rest else ""
    match kind:
        case "s" | "b":
            text = _unescape(word) if kind == "b" else word
            text = text if precision is None else text[: int(precision)]
        case "c":
            text = word[:1]
        case "d" | "i" | "u":
            if not re.fullmatch(r"[-+]?\d*", word):
                raise Unsupported
            text = f"{int(word or 0):+d}" if "+" in flags else str(int(word or 0))
        case _:
            raise Unsupported
    size = int(width or 0)
    if "-" in flags:
        return text.ljust(size)
    return text.zfill(size) if "0" in flags and kind in "diu" else text.rjust(size)


def _unescape(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        return _ESCAPED_CHARACTERS.get(code, found[0])

    return _ESCAPE.sub(character, text)
