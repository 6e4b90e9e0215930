"""Conditions: `test`, `[` and `[[`."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.expansion import matches, pattern_of, require_known, text_of
from mockkube.shell.syntax import Text, Unsupported, Word

if TYPE_CHECKING:
    from mockkube.shell.shell import Shell

_NUMBER: Final = re.compile(r"\s*[-+]?\d+\s*$")
_NUMBERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
}
_TEXTS: Final = ("=", "==", "!=", "<", ">")
_OF_FILES: Final = ("-e", "-f", "-r", "-w", "-s", "-d")
_OF_TEXTS: Final = ("-n", "-z")


def test(shell: "Shell", words: Sequence[str]) -> int:
    """Return the exit code of `test` with these words."""
    for word in words:
        require_known(word)
    return int(not _Reader(shell, list(words)).whole()) if words else 1


def holds_in_brackets(shell: "Shell", words: Sequence[Word]) -> bool:
    """Return whether `[[ words ]]` is true."""
    texts: list[str] = []
    for index, word in enumerate(words):
        is_pattern = index > 0 and texts[-1] in ("=", "==", "!=")
        texts.append(require_known(pattern_of(shell, word) if is_pattern else text_of(shell, word)))
        if texts[-1] == "=~":
            raise Unsupported
    # In `[[ ]]` a quoted word is never an operator; in `[ ]` quotes are gone by then.
    signs = [len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted for word in words]
    return _Reader(shell, texts, signs).whole()


class _Reader:
    """Evaluator that consumes words from the front."""

    def __init__(self, shell: "Shell", words: list[str], signs: list[bool] | None = None) -> None:
        self._shell, self._words = shell, words
        self._patterns = signs is not None
        self._signs = signs or [True] * len(words)
        """For each word, whether it may be an operator."""
        self._at = 0

    def whole(self) -> bool:
        """Evaluate all words; raise Unsupported if some are left over."""
        held = self._either()
        if self._at < len(self._words):
            raise Unsupported
        return held

    def _either(self) -> bool:
        held = self._both()
        while self._takes("||", "-o"):
            # The operands are evaluated first: all words have to be consumed, whatever the result is.
            held = self._both() or held
        return held

    def _both(self) -> bool:
        held = self._one()
        while self._takes("&&", "-a"):
            held = self._one() and held
        return held

    def _takes(self, *signs: str) -> bool:
        if self._at < len(self._words) and self._signs[self._at] and self._words[self._at] in signs:
            self._at += 1
            return True
        return False

    def _left(self) -> int:
        return len(self._words) - self._at

    def _next(self) -> str:
        if not self._left():
            raise Unsupported
        self._at += 1
        return self._words[self._at - 1]

    def _one(self) -> bool:
        # POSIX: a binary operator in the middle takes precedence, so `[ ! = x ]` compares texts.
        if self._left() >= 3 and self._signs[self._at + 1] and self._words[self._at + 1] in (*_TEXTS, *_NUMBERS):
            return self._compare(self._next(), self._next(), self._next())
        if self._left() >= 2 and self._takes("!"):
            return not self._one()
        if self._left() >= 2 and self._takes("("):
            held = self._either()
            if not self._takes(")"):
                raise Unsupported
            return held
        if self._left() >= 2 and self._signs[self._at] and self._words[self._at] in (*_OF_FILES, *_OF_TEXTS):
            return self._of_one(self._next(), self._next())
        word = self._next()
        if self._left() and word.startswith("-"):
            raise Unsupported
        return word != ""

    def _compare(self, left: str, operator: str, right: str) -> bool:
        if operator in _NUMBERS:
            if not (_NUMBER.match(left) and _NUMBER.match(right)):
                raise Unsupported
            return _NUMBERS[operator](int(left), int(right))
        if operator in "<>":
            return left < right if operator == "<" else left > right
        same = matches(left, right) if self._patterns else left == right
        return same if operator != "!=" else not same

    def _of_one(self, operator: str, word: str) -> bool:
        machine = self._shell.machine
        if operator in _OF_TEXTS:
            return (word == "") == (operator == "-z")
        if operator == "-d":
            return machine.is_directory(word)
        if machine.is_directory(word):
            return operator != "-f"
        text = machine.read(word)
        return bool(text) if operator == "-s" else text is not None
