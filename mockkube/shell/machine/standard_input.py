"""Standard input of a command: pieces with the time at which each arrived, and readers of them."""

from dataclasses import field
from typing import Protocol

from mockkube.lazy_dataclasses import dataclass

INPUT_MAX = 1 << 20
"""Characters of input that are kept."""


class InputPending(Exception):
    """The command waits for input that has not arrived yet."""

    def __init__(self, *, needs_end: bool) -> None:
        super().__init__(needs_end)
        self.needs_end = needs_end
        """True if the command waits for the end of its input, so that no single piece is enough."""


class Timeline(Protocol):
    """Time of the command that reads."""

    def wait_until(self, moment: float) -> None:
        """Advance the time to a moment; a moment in the past changes nothing."""
        ...

    def count_steps(self, steps: int = 1) -> None:
        """Count steps of the interpretation; raise Unsupported after too many."""
        ...


@dataclass(slots=True)
class StandardInput:
    """Input of a command, as far as it has arrived. Times are seconds since the command started."""

    pieces: list[tuple[float, str]] = field(default_factory=list)
    closed_at: float | None = None
    size: int = 0

    def add(self, moment: float, text: str) -> bool:
        """Add text that arrives now; return False, and ignore it, if there is too much or the input is closed."""
        if self.closed_at is not None or self.size + len(text) > INPUT_MAX:
            return False
        self.pieces.append((moment, text))
        self.size += len(text)
        return True

    def close(self, moment: float) -> None:
        """End the input."""
        if self.closed_at is None:
            self.closed_at = moment


class InputReader:
    """Position of one interpretation in an input. Every interpretation reads the input from its start."""

    def __init__(self, source: StandardInput) -> None:
        self._source = source
        self._next = 0
        self._rest = ""

    def read_some(self, timeline: Timeline) -> str:
        """Return what has arrived next, at most one piece; an empty text at the end."""
        if self._rest:
            text, self._rest = self._rest, ""
            return text
        return self._take_piece(timeline, needs_end=False)

    def read_line(self, timeline: Timeline) -> str:
        """Return the next line with its line end, or the rest; an empty text at the end."""
        while "\n" not in self._rest:
            piece = self._take_piece(timeline, needs_end=False)
            if not piece:
                break
            self._rest += piece
        line, ended, self._rest = self._rest.partition("\n")
        return line + ended

    def read_all(self, timeline: Timeline) -> str:
        """Return everything up to the end."""
        texts = [self._rest]
        self._rest = ""
        if self._source.closed_at is None:
            raise InputPending(needs_end=True)
        while piece := self._take_piece(timeline, needs_end=True):
            texts.append(piece)
        return "".join(texts)

    def _take_piece(self, timeline: Timeline, *, needs_end: bool) -> str:
        source = self._source
        if self._next < len(source.pieces):
            moment, text = source.pieces[self._next]
            timeline.wait_until(moment)
            timeline.count_steps()
            self._next += 1
            return text
        if source.closed_at is None:
            raise InputPending(needs_end=needs_end)
        timeline.wait_until(source.closed_at)
        return ""
