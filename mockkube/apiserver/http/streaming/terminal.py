"""Terminal of a command: echo, line editing and control characters, as a pseudoterminal does it before a program."""

from typing import Final

from mockkube.lazy_dataclasses import dataclass

_ERASE: Final = ("\x7f", "\b")
_END_OF_INPUT: Final = "\x04"
_INTERRUPT: Final = "\x03"
_KILL_LINE: Final = "\x15"
_ESCAPE: Final = "\x1b"
_PRINTABLE_FROM: Final = " "
LINE_MAX: Final = 4096
"""Characters of a line that is being edited, as in Linux."""


@dataclass(frozen=True, slots=True)
class TerminalInput:
    """Result of typed characters: the echo, complete input for the program, and what else they ask for."""

    echo: str = ""
    text: str = ""
    is_end: bool = False
    is_interrupt: bool = False


class LineDiscipline:
    """Collects typed characters into lines."""

    def __init__(self) -> None:
        self._line = ""
        self._sequence = ""

    def type(self, typed: str) -> TerminalInput:
        """Return the result of these characters; those after an end or interrupt are dropped."""
        echo, text = list[str](), list[str]()
        for character in typed:
            if self._is_in_sequence(character):
                continue
            if character == _INTERRUPT:
                self._line = ""
                return TerminalInput("".join((*echo, "^C\r\n")), "", is_interrupt=True)
            if character == _END_OF_INPUT:
                # In the middle of a line the character only passes on what was typed so far.
                if not self._line:
                    return TerminalInput("".join(echo), "".join(text), is_end=True)
                text.append(self._line)
                self._line = ""
            elif character in _ERASE:
                if self._line:
                    self._line = self._line[:-1]
                    echo.append("\b \b")
            elif character == _KILL_LINE:
                echo.append("\b \b" * len(self._line))
                self._line = ""
            elif character in "\r\n":
                text.append(f"{self._line}\n")
                self._line = ""
                echo.append("\r\n")
            elif (character >= _PRINTABLE_FROM or character == "\t") and len(self._line) < LINE_MAX:
                self._line += character
                echo.append(character)
        return TerminalInput("".join(echo), "".join(text))

    def _is_in_sequence(self, character: str) -> bool:
        """Return whether a character belongs to an escape sequence, like that of an arrow key; these are ignored."""
        if character == _ESCAPE:
            self._sequence = character
            return True
        if not self._sequence:
            return False
        self._sequence += character
        # `ESC [` and parameters up to a letter, or `ESC O` and one letter; anything else is one character.
        is_open = character in "[O" if len(self._sequence) == 2 else not (character.isalpha() or character == "~")
        if not is_open:
            self._sequence = ""
        return True


def to_terminal(text: str) -> str:
    """Return the output of a program as a terminal receives it."""
    return text.replace("\n", "\r\n")
