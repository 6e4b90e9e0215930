"""Expansion of the words of a script to text."""

import fnmatch
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import UNKNOWN, check_length
from mockkube.shell.scripts import arithmetic
from mockkube.shell.scripts.syntax import Arithmetic, Parameter, Substitution, Text, Word
from mockkube.shell.scripts.words import LENGTH

if TYPE_CHECKING:
    from mockkube.shell.scripts.shell import Shell

FIELDS_MAX: Final = 4096
TRIMMED_MAX: Final = 1024
_BRACE_RANGE: Final = re.compile(r"\{(-?\d+)\.\.(-?\d+)\}$")
_ECHO_WORD: Final = (Text("echo"),)
_SPECIAL_PARAMETERS: Final = "?#@*$!-"


class ParameterError(Exception):
    """`${NAME:?text}` with an unset variable."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def expand_to_text(shell: "Shell", word: Word) -> str:
    """Return the text of a word without field splitting."""
    return check_length("".join(_expand_part(shell, part) for part in word))


def expand_to_pattern(shell: "Shell", word: Word) -> str:
    """Return a word as a pattern; quoted characters match themselves."""
    parts = []
    for part in word:
        text = _expand_part(shell, part)
        # A quoted wildcard stands for itself: in brackets it matches only its own character.
        parts.append(re.sub(r"([*?\[])", r"[\1]", text) if part.quoted else text)
    return "".join(parts)


def matches(text: str, pattern: str) -> bool:
    """Return whether a text matches a shell pattern."""
    if UNKNOWN in text or UNKNOWN in pattern:
        raise Unsupported
    return fnmatch.fnmatchcase(text, re.sub(r"\[\^", "[!", pattern))


def expand_to_fields(shell: "Shell", words: Sequence[Word]) -> list[str]:
    """Return the fields of words after splitting; unknown text is only allowed in output."""
    # Output with unknown parts is still worth showing up to that part; a decision on it would be wrong.
    printed = bool(words) and words[0] == _ECHO_WORD
    fields: list[str] = []
    for word in words:
        fields.extend(_expand_word(shell, word, printed=printed))
        if len(fields) > FIELDS_MAX:
            raise Unsupported
    shell.machine.count_steps(len(fields) // 16)
    return fields


def _expand_word(shell: "Shell", word: Word, *, printed: bool) -> list[str]:
    if shell.is_bash and len(word) == 1 and isinstance(word[0], Text) and (found := _BRACE_RANGE.match(word[0].text)):
        first, last = int(found[1]), int(found[2])
        if abs(last - first) > FIELDS_MAX:
            raise Unsupported
        return [str(number) for number in range(first, last + (1 if last >= first else -1), 1 if last >= first else -1)]
    if len(word) == 1 and isinstance(word[0], Parameter) and word[0].name == "@" and not word[0].operator:
        return list(shell.arguments)
    fields: list[str] = []
    current: str | None = None
    for part in word:
        text = _expand_part(shell, part)
        if part.quoted or isinstance(part, Text):
            if not part.quoted and "*" in text and text != "[":
                raise Unsupported  # the files of the image are not known
            current = (current or "") + text
            continue
        if "*" in text or (UNKNOWN in text and not printed):
            raise Unsupported  # its fields depend on files or unknown text
        pieces = text.split()
        if current is not None and text[:1].isspace():
            fields.append(current)
            current = None
        for index, piece in enumerate(pieces):
            if index and current is not None:
                fields.append(current)
                current = None
            current = (current or "") + piece
        if pieces and text[-1:].isspace() and current is not None:
            fields.append(current)
            current = None
    if current is not None:
        fields.append(check_length(current))
    return fields


def _expand_part(shell: "Shell", part: Text | Parameter | Arithmetic | Substitution) -> str:
    match part:
        case Text(text=text):
            return text
        case Parameter():
            return _expand_parameter(shell, part)
        case Arithmetic(expression=expression):
            return str(evaluate_arithmetic(shell, expression))
        case Substitution(script=script):
            return shell.capture_output(script).rstrip("\n")


def evaluate_arithmetic(shell: "Shell", expression: Word) -> int:
    """Return the value of an arithmetic expression."""
    text = expand_to_text(shell, expression)
    if UNKNOWN in text:
        raise Unsupported
    # Each use of RANDOM has another value, so it is replaced before the expression is evaluated.
    if "RANDOM" in text and "RANDOM" not in shell.variables:
        text = re.sub(r"\bRANDOM\b", lambda _: str(shell.machine.random()), text)
    return arithmetic.evaluate(text, shell.variables)


def _expand_parameter(shell: "Shell", part: Parameter) -> str:
    value = _read_parameter(shell, part.name)
    operator = part.operator
    if operator == LENGTH:
        return str(len(require_known(value or "")))
    if operator[:1] == ":" and value == "":
        value = None
    match operator.lstrip(":"):
        case "":
            if value is None and shell.fails_on_unset and part.name not in _SPECIAL_PARAMETERS:
                raise ParameterError(f"{part.name}: parameter not set")
            return value or ""
        case "-":
            return expand_to_text(shell, part.word) if value is None else value
        case "=":
            if value is None:
                value = shell.variables[part.name] = expand_to_text(shell, part.word)
            return value
        case "+":
            return "" if value is None else expand_to_text(shell, part.word)
        case "?":
            if value is None:
                raise ParameterError(f"{part.name}: {expand_to_text(shell, part.word) or 'parameter null or not set'}")
            return value
    return _trim(shell, require_known(value or ""), operator, expand_to_pattern(shell, part.word))


def require_known(text: str) -> str:
    """Return the text; raise Unsupported if a part of it is unknown."""
    if UNKNOWN in text:
        raise Unsupported
    return text


def _trim(shell: "Shell", value: str, operator: str, pattern: str) -> str:
    """Return the value without its shortest matching prefix (`#`) or suffix (`%`); doubled: without the longest."""
    # Each length is one match, so the work grows with the square of the value.
    if len(value) > TRIMMED_MAX:
        raise Unsupported
    shell.machine.count_steps(len(value) // 16)
    at_front = operator[0] == "#"
    lengths = range(len(value) + 1)
    for length in reversed(lengths) if len(operator) == 2 else lengths:
        piece = value[:length] if at_front else value[len(value) - length :]
        if matches(piece, pattern):
            return value[length:] if at_front else value[: len(value) - length]
    return value


def _read_parameter(shell: "Shell", name: str) -> str | None:
    match name:
        case "?":
            return str(shell.status)
        case "#":
            return str(len(shell.arguments))
        case "@" | "*":
            return " ".join(shell.arguments)
        case "$" | "!":
            return UNKNOWN if name == "$" else "7"
        case "-":
            return UNKNOWN
        case "0":
            return shell.name
        case "RANDOM" if name not in shell.variables:
            return str(shell.machine.random())
    if name.isdigit():
        index = int(name) - 1
        return shell.arguments[index] if index < len(shell.arguments) else None
    found = shell.variables.get(name)
    # With variables from unknown sources an unset name may be one of them.
    return UNKNOWN if found is None and shell.machine.environment.has_unknown_variables else found
