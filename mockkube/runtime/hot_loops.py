"""Hot loops of a component: objects on which it works again and again without success."""

from collections.abc import Callable, Iterable

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.steps import Signal


@dataclass(frozen=True, slots=True)
class HotLoop:
    """A controller that does the same work for one object again and again without success."""

    controller: str
    object: str
    cause: str
    """Cause in one word: the work fails, its result is lost, or the reason of a rejection."""
    per_minute: int
    """Repetitions per minute; zero for work that is not retried before something changes."""
    message: str = ""
    """Message of the last failure."""


HotLoopSource = Callable[[], Iterable[HotLoop]]


class HotLoops:
    """Hot loops of one component, collected from its parts.

    The signal is notified when a loop may have begun or ended; several components may share one.
    """

    def __init__(self, signal: Signal | None = None) -> None:
        self.signal = signal or Signal()
        self._sources: list[HotLoopSource] = []

    def add_source(self, source: HotLoopSource) -> None:
        """Add a source, which is called on each `current`."""
        self._sources.append(source)

    def current(self) -> list[HotLoop]:
        """Return the present hot loops, the busiest first."""
        loops = [loop for source in self._sources for loop in source()]
        return sorted(loops, key=lambda loop: (-loop.per_minute, loop.controller, loop.object, loop.cause))
