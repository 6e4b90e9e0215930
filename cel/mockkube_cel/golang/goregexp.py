"""Regular expressions in Go's dialect: parsed for Go's error texts, matched by RE2.

upstream 1.36: Go's regexp/syntax/parse.go
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

# Number of compiled patterns that are kept; the least recently used one is dropped.
CACHE_MAX: Final = 1024
# Go's limits on repetition counts and nesting: beyond them a pattern is rejected, whatever RE2 could do.
_REPEAT_MAX: Final = 1000
_HEIGHT_MAX: Final = 1000
# RE2's default of 8 MiB refuses patterns that Go compiles.
_MEMORY_BYTES_MAX: Final = 256 << 20
_POSIX_CLASSES: Final = frozenset(
    [
        "alnum",
        "alpha",
        "ascii",
        "blank",
        "cntrl",
        "digit",
        "graph",
        "lower",
        "print",
        "punct",
        "space",
        "upper",
        "word",
        "xdigit",
    ]
)
# Long names of Unicode categories, without spaces and underscores, as Go compares them.
_CATEGORIES: Final = {
    "Letter": "L", "Uppercaseletter": "Lu", "Lowercaseletter": "Ll", "Titlecaseletter": "Lt", "Modifierletter": "Lm",
    "Otherletter": "Lo", "Mark": "M", "Combiningmark": "M", "Nonspacingmark": "Mn", "Spacingmark": "Mc",
    "Enclosingmark": "Me", "Number": "N", "Decimalnumber": "Nd", "Digit": "Nd", "Letternumber": "Nl",
    "Othernumber": "No", "Punctuation": "P", "Punct": "P", "Connectorpunctuation": "Pc", "Dashpunctuation": "Pd",
    "Openpunctuation": "Ps", "Closepunctuation": "Pe", "Initialpunctuation": "Pi", "Finalpunctuation": "Pf",
    "Otherpunctuation": "Po", "Symbol": "S", "Mathsymbol": "Sm", "Currencysymbol": "Sc", "Modifiersymbol": "Sk",
    "Othersymbol": "So", "Separator": "Z", "Spaceseparator": "Zs", "Lineseparator": "Zl", "Paragraphseparator": "Zp",
    "Other": "C", "Control": "Cc", "Cntrl": "Cc", "Format": "Cf", "Privateuse": "Co",
}  # fmt: skip


class RegexError(ValueError):
    """Invalid pattern; the message is Go's."""

    def __init__(self, code: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{part}`")


@lru_cache(CACHE_MAX)
def compile_pattern(pattern: str) -> Any:
    """Return an object with `search(text)`, or raise RegexError."""
    import re2  # type: ignore[import-untyped]  # 3 MB, when the first pattern comes; the package carries no types

    translated = _Parser(pattern).translate()
    try:
        return _compile_re2(translated)
    except re2.error:
        raise RegexError("expression too large", pattern) from None


def find_all(pattern: str, text: str, limit: int) -> Iterator[str]:
    """Yield the matches from left to right, at most `limit` of them unless it is negative."""
    regex = compile_pattern(pattern)
    position, previous_end = 0, -1
    while limit != 0 and position <= len(text) and (match := regex.search(text, position)):
        start, end = match.span()
        # An empty match right behind another one does not count.
        if end > start or start != previous_end:
            yield match[0]
            limit -= 1
        previous_end = end
        position = end if end > position else position + 1


def _compile_re2(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES_MAX
    return re2.compile(pattern, options)


@lru_cache(CACHE_MAX)
def _find_unicode_class(name: str) -> str | None:
    """Return RE2's name for a character class, None if there is no such class."""
    if not name.isascii() or not name.replace("_", "a").replace("-", "a").replace(" ", "a").isalnum():
        return None
    plain = name.replace("_", "").replace("-", "").replace(" ", "").capitalize()
    # RE2 knows categories by short names only; compiling a candidate is the one way to learn whether it has it.
    for candidate in (name, plain, _CATEGORIES.get(plain)):
        if candidate and candidate.replace("_", "a").isalnum() and _is_valid_re2(rf"\p{{{candidate}}}"):
            return candidate
    return None


def _is_valid_re2(pattern: str) -> bool:
    import re2

    try:
        _compile_re2(pattern)
    except re2.error:
        return False
    return True


@dataclass(slots=True)
class _Group:
    """An open group: whether the last item can be repeated, and how deep repetitions nest."""

    repeatable: bool = False
    height: int = 0
    # Largest product of nested repetition counts so far.
    repeats: int = 1
    last_repeats: int = 1
    last_height: int = 0

    def push(self, height: int = 1, repeats: int = 1) -> None:
        """Add an item that can be repeated."""
        self.repeatable = True
        self.last_height, self.last_repeats = height, repeats
        self.height = max(self.height, height)
        self.repeats = max(self.repeats, repeats)


class _Parser:
    """Parser of one pattern, which it translates for RE2."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._output: list[str] = []
        self._groups = [_Group()]

    def translate(self) -> str:
        """Return the pattern in RE2's dialect, or raise RegexError."""
        last_repeat: int | None = None
        while self._position < len(self._pattern):
            start = self._position
            repeated = self._parse_item(last_repeat)
            last_repeat = start if repeated else None
        if len(self._groups) > 1:
            raise RegexError("missing closing )", self._pattern)
        return "".join(self._output)

    @property
    def _rest(self) -> str:
        return self._pattern[self._position :]

    def _emit(self, length: int, text: str | None = None) -> None:
        self._output.append(self._pattern[self._position : self._position + length] if text is None else text)
        self._position += length

    def _parse_item(self, last_repeat: int | None) -> bool:
        """Parse one item; return True for a repetition."""
        letter = self._pattern[self._position]
        group = self._groups[-1]
        match letter:
            case "(":
                self._open_group()
            case ")":
                self._close_group()
            case "|":
                self._emit(1)
                group.repeatable = False
            case "[":
                self._parse_class()
            case "*" | "+" | "?":
                self._repeat(1, 1, last_repeat)
                return True
            case "{":
                return self._parse_count(last_repeat)
            case "\\":
                self._parse_escape()
            case _:
                self._emit(1)
                group.push()
        return False

    def _open_group(self) -> None:
        rest = self._rest
        if not rest.startswith("(?"):
            self._emit(1)
            self._groups.append(_Group())
            return
        named_at = (
            4 if rest.startswith("(?P<") and len(rest) > 4 else 3 if rest.startswith("(?<") and len(rest) > 3 else 0
        )
        if named_at:
            end = rest.find(">")
            if end < 0:
                raise RegexError("invalid named capture", rest)
            name = rest[named_at:end]
            if not name or not name.isascii() or not name.replace("_", "a").isalnum():
                raise RegexError("invalid named capture", rest[: end + 1])
            # Unlike RE2, Go lets groups share a name.
            self._emit(end + 1, "(")
            self._groups.append(_Group())
            return
        self._parse_flags(rest)

    def _parse_flags(self, rest: str) -> None:
        negative = saw_flag = False
        position = 2
        while position < len(rest):
            letter = rest[position]
            position += 1
            if letter in "imsU":
                saw_flag = True
            elif letter == "-" and not negative:
                negative, saw_flag = True, False
            elif letter in ":)" and (saw_flag or not negative):
                self._emit(position)
                if letter == ":":
                    self._groups.append(_Group())
                return
            else:
                break
        raise RegexError("invalid or unsupported Perl syntax", rest[:position])

    def _close_group(self) -> None:
        if len(self._groups) == 1:
            raise RegexError("unexpected )", self._pattern)
        closed = self._groups.pop()
        self._emit(1)
        self._groups[-1].push(closed.height + 1, closed.repeats)
        if closed.height >= _HEIGHT_MAX:
            raise RegexError("expression nests too deeply", self._pattern)

    def _parse_count(self, last_repeat: int | None) -> bool:
        parsed = _parse_repeat_count(self._rest)
        if parsed is None:
            # Go takes a brace that begins no count literally; RE2 gets it escaped.
            self._emit(1, r"\{")
            self._groups[-1].push()
            return False
        least, greatest, length = parsed
        if least < 0 or max(least, greatest) > _REPEAT_MAX or 0 <= greatest < least:
            raise RegexError("invalid repeat count", self._rest[:length])
        self._repeat(length, greatest if greatest >= 0 else least, last_repeat)
        return True

    def _repeat(self, length: int, times: int, last_repeat: int | None) -> None:
        start = self._position
        end = start + length
        if self._pattern[end : end + 1] == "?":
            end += 1
        # Perl's dialect, which Go follows, rejects a repetition of a repetition: `a**`.
        if last_repeat is not None:
            raise RegexError("invalid nested repetition operator", self._pattern[last_repeat:end])
        group = self._groups[-1]
        if not group.repeatable:
            raise RegexError("missing argument to repetition operator", self._pattern[start:end])
        repeats = group.last_repeats * max(times, 1)
        if times >= 2 and repeats > _REPEAT_MAX:
            raise RegexError("invalid repeat count", self._pattern[start:end])
        group.push(group.last_height + 1, repeats)
        self._emit(end - start)

    def _parse_escape(self) -> None:
        rest = self._rest
        kind = rest[1:2]
        if kind in ("A", "b", "B", "z"):
            self._emit(2)
        elif kind == "C":
            # RE2 knows `\C` (any byte); Go rejects it.
            raise RegexError("invalid escape sequence", rest[:2])
        elif kind == "Q":
            self._parse_quoted(rest)
            return
        else:
            text, length = _parse_class_escape(rest)
            if not length:
                code, length = _parse_escaped_character(rest)
                text = _hex_escape(code)
            self._emit(length, text)
        self._groups[-1].push()

    def _parse_quoted(self, rest: str) -> None:
        literal, mark, _ = rest[2:].partition(r"\E")
        if literal:
            self._groups[-1].push()
        self._emit(2 + len(literal) + len(mark), "".join(_hex_escape(ord(letter)) for letter in literal))

    def _parse_class(self) -> None:
        whole = self._rest
        position = 2 if whole[1:2] == "^" else 1
        output = [whole[:position]]
        first = True
        while first or whole[position : position + 1] != "]":
            first = False
            text, length = _parse_class_item(whole[position:])
            if not length:
                text, length = _parse_class_range(whole[position:], whole)
            output.append(text)
            position += length
        self._emit(position + 1, "".join(output) + "]")
        self._groups[-1].push()


def _hex_escape(code: int) -> str:
    # A code point in hexadecimal needs no further quoting, inside a class or outside.
    return rf"\x{{{code:X}}}"


def _parse_repeat_count(text: str) -> tuple[int, int, int] | None:
    """Parse `{2}`, `{2,}` or `{2,5}`: the bounds (-1: none, or too large) and the length of the text."""
    least, position = _parse_number(text, 1)
    if least is None:
        return None
    greatest = least
    if text[position : position + 1] == ",":
        position += 1
        if text[position : position + 1] == "}":
            greatest = -1
        else:
            most, position = _parse_number(text, position)
            if most is None:
                return None
            greatest, least = most, -1 if most < 0 else least
    return (least, greatest, position + 1) if text[position : position + 1] == "}" else None


def _parse_number(text: str, start: int) -> tuple[int | None, int]:
    end = start
    while end < len(text) and "0" <= text[end] <= "9":
        end += 1
    digits = text[start:end]
    if not digits or (len(digits) > 1 and digits[0] == "0"):
        return None, start
    return (int(digits) if len(digits) <= 8 else -1), end


def _parse_class_item(text: str) -> tuple[str, int]:
    """Return RE2's form of the named class at the start and its length; 0 for a plain character."""
    if text.startswith("[:") and (end := text.find(":]", 2)) >= 0:
        if text[2:end].removeprefix("^") not in _POSIX_CLASSES:
            raise RegexError("invalid character class range", text[: end + 2])
        return text[: end + 2], end + 2
    return _parse_class_escape(text)


def _parse_class_escape(text: str) -> tuple[str, int]:
    r"""Return RE2's form of `\d` or `\p{Greek}` at the start and its length; 0 if there is none."""
    kind = text[1:2] if text.startswith("\\") else ""
    if kind and kind in "dDsSwW":
        return text[:2], 2
    if not kind or kind not in "pP":
        return "", 0
    if text[2:3] != "{":
        sequence, name = text[:3], text[2:3]
    else:
        end = text.find("}")
        if end < 0:
            raise RegexError("invalid character class range", text)
        sequence, name = text[: end + 1], text[3:end]
    known = _find_unicode_class(name.removeprefix("^"))
    if known is None:
        raise RegexError("invalid character class range", sequence)
    negated = "^" if name.startswith("^") else ""
    return f"\\{kind}{{{negated}{known}}}", len(sequence)


def _parse_class_range(text: str, whole: str) -> tuple[str, int]:
    low, position = _parse_class_character(text, whole)
    if text[position : position + 1] != "-" or text[position + 1 : position + 2] in ("", "]"):
        return _hex_escape(low), position
    high, length = _parse_class_character(text[position + 1 :], whole)
    position += 1 + length
    if high < low:
        raise RegexError("invalid character class range", text[:position])
    return f"{_hex_escape(low)}-{_hex_escape(high)}", position


def _parse_class_character(text: str, whole: str) -> tuple[int, int]:
    if not text:
        raise RegexError("missing closing ]", whole)
    return _parse_escaped_character(text) if text[0] == "\\" else (ord(text[0]), 1)


_C_ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


def _parse_escaped_character(text: str) -> tuple[int, int]:
    """Return the escaped character and the length of the escape."""
    letter = text[1:2]
    if not letter:
        raise RegexError("trailing backslash at end of expression", "")
    if letter in _C_ESCAPES:
        return _C_ESCAPES[letter], 2
    if letter.isascii() and not letter.isalnum():
        return ord(letter), 2
    if letter == "0" or ("1" <= letter <= "7" and "0" <= text[2:3] <= "7"):
        end = 2
        while end < 4 and "0" <= text[end : end + 1] <= "7":
            end += 1
        return int(text[1:end], 8), end
    if letter == "x":
        return _parse_hex(text)
    raise RegexError("invalid escape sequence", text[:2])


def _parse_hex(text: str) -> tuple[int, int]:
    if text[2:3] != "{":
        digits = text[2:4]
        if len(digits) == 2 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
            return int(digits, 16), 4
        raise RegexError("invalid escape sequence", text[:4])
    code, position = 0, 3
    while True:
        letter = text[position : position + 1]
        position += 1
        if letter == "}" and position > 4:
            return code, position
        if not letter or letter not in "0123456789abcdefABCDEF":
            break
        code = code * 16 + int(letter, 16)
        if code > 0x10FFFF:
            break
    raise RegexError("invalid escape sequence", text[:position])
