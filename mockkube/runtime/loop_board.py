"""Which work of a part gets nowhere: shown by whoever does it, read by whoever looks after the parts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mockkube.runtime.steps import Bell


@dataclass(frozen=True, slots=True)
class Loop:
    """Work that gets nowhere with one object, though it is done again and again."""

    controller: str
    object: str
    cause: str
    """Why it is called so, in a word: it fails, what it makes is lost, or the reason it is refused for."""
    per_minute: int
    """How often that happens; zero for what is not tried again before something changes."""
    message: str = ""
    """What the last failure said."""


Source = Callable[[], Iterable[Loop]]


class LoopBoard:
    """What one part shows. Its bell rings when a loop may have begun or ended; it may be shared with other boards."""

    def __init__(self, bell: Bell | None = None) -> None:
        self.bell = bell or Bell()
        self._sources: list[Source] = []

    def add(self, source: Source) -> None:
        """Show also what this source returns whenever somebody looks."""
        self._sources.append(source)

    def current(self) -> list[Loop]:
        """Return the loops of now, the busiest first."""
        loops = [loop for source in self._sources for loop in source()]
        return sorted(loops, key=lambda loop: (-loop.per_minute, loop.controller, loop.object, loop.cause))
