"""Conditions: `test`, `[` and `[[`."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import ROOT_UID, FileError, FileSystem
from mockkube.shell.scripts.expansion import expand_to_pattern, expand_to_text, matches, require_known
from mockkube.shell.scripts.syntax import Text, Word

if TYPE_CHECKING:
    from mockkube.shell.scripts.shell import Shell

_NUMBER: Final = re.compile(r"\s*[-+]?\d+\s*$")
_NUMBER_OPERATORS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
}
_TEXT_OPERATORS: Final = ("=", "==", "!=", "<", ">")
_FILE_OPERATORS: Final = ("-e", "-f", "-r", "-w", "-x", "-s", "-d")
_ANY_EXECUTABLE: Final = 0o111
_TEXT_LENGTH_OPERATORS: Final = ("-n", "-z")


def run_test(shell: "Shell", words: Sequence[str]) -> int:
    """Return the exit code of `test` with these words."""
    for word in words:
        require_known(word)
    return int(not _ConditionEvaluator(shell, list(words)).evaluate()) if words else 1


def evaluate_double_brackets(shell: "Shell", words: Sequence[Word]) -> bool:
    """Return whether `[[ words ]]` is true."""
    texts: list[str] = []
    for index, word in enumerate(words):
        is_pattern = index > 0 and texts[-1] in ("=", "==", "!=")
        texts.append(require_known(expand_to_pattern(shell, word) if is_pattern else expand_to_text(shell, word)))
        if texts[-1] == "=~":
            raise Unsupported
    # In `[[ ]]` a quoted word is never an operator; in `[ ]` quotes are gone by then.
    signs = [len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted for word in words]
    return _ConditionEvaluator(shell, texts, signs).evaluate()


class _ConditionEvaluator:
    """Evaluator that consumes words from the front."""

    def __init__(self, shell: "Shell", words: list[str], signs: list[bool] | None = None) -> None:
        self._shell, self._words = shell, words
        self._patterns = signs is not None
        self._may_be_operator = signs or [True] * len(words)
        """For each word, whether it may be an operator."""
        self._at = 0

    def evaluate(self) -> bool:
        """Evaluate all words; raise Unsupported if some are left over."""
        held = self._evaluate_or()
        if self._at < len(self._words):
            raise Unsupported
        return held

    def _evaluate_or(self) -> bool:
        held = self._evaluate_and()
        while self._take_if("||", "-o"):
            # The operands are evaluated first: all words have to be consumed, whatever the result is.
            held = self._evaluate_and() or held
        return held

    def _evaluate_and(self) -> bool:
        held = self._evaluate_primary()
        while self._take_if("&&", "-a"):
            held = self._evaluate_primary() and held
        return held

    def _take_if(self, *signs: str) -> bool:
        if self._at < len(self._words) and self._may_be_operator[self._at] and self._words[self._at] in signs:
            self._at += 1
            return True
        return False

    def _remaining(self) -> int:
        return len(self._words) - self._at

    def _next(self) -> str:
        if not self._remaining():
            raise Unsupported
        self._at += 1
        return self._words[self._at - 1]

    def _evaluate_primary(self) -> bool:
        # POSIX: a binary operator in the middle takes precedence, so `[ ! = x ]` compares texts.
        if (
            self._remaining() >= 3
            and self._may_be_operator[self._at + 1]
            and self._words[self._at + 1] in (*_TEXT_OPERATORS, *_NUMBER_OPERATORS)
        ):
            return self._compare(self._next(), self._next(), self._next())
        if self._remaining() >= 2 and self._take_if("!"):
            return not self._evaluate_primary()
        if self._remaining() >= 2 and self._take_if("("):
            held = self._evaluate_or()
            if not self._take_if(")"):
                raise Unsupported
            return held
        if (
            self._remaining() >= 2
            and self._may_be_operator[self._at]
            and self._words[self._at] in (*_FILE_OPERATORS, *_TEXT_LENGTH_OPERATORS)
        ):
            return self._evaluate_unary(self._next(), self._next())
        word = self._next()
        if self._remaining() and word.startswith("-"):
            raise Unsupported
        return word != ""

    def _compare(self, left: str, operator: str, right: str) -> bool:
        if operator in _NUMBER_OPERATORS:
            if not (_NUMBER.match(left) and _NUMBER.match(right)):
                raise Unsupported
            return _NUMBER_OPERATORS[operator](int(left), int(right))
        if operator in "<>":
            return left < right if operator == "<" else left > right
        same = matches(left, right) if self._patterns else left == right
        return same if operator != "!=" else not same

    def _evaluate_unary(self, operator: str, word: str) -> bool:
        if operator in _TEXT_LENGTH_OPERATORS:
            return (word == "") == (operator == "-z")
        return _test_file(self._shell.machine.files, operator, word)


def _test_file(files: FileSystem, operator: str, path: str) -> bool:
    """Return whether a file has a property."""
    try:
        file = files.find(path)
    except FileError:
        return False
    if file is None:
        return False
    match operator:
        case "-d":
            return file.is_directory
        case "-f":
            return not file.is_directory
        case "-s":
            return file.is_directory or file.text != ""
        case "-r" | "-w" | "-x":
            # root may execute only files with some bit for it, but read and write all of them.
            if operator == "-x" and files.user.uid == ROOT_UID:
                return file.is_directory or bool(file.mode & _ANY_EXECUTABLE)
            return files.user.may(file, {"-r": 4, "-w": 2, "-x": 1}[operator])
    return True
