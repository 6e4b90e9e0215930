"""Choosers that enumerate every order of workers: each follows one path of choices."""

from collections.abc import Iterator, Sequence
from dataclasses import field

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.steps import Worker


@dataclass(slots=True)
class EnumeratedChooser:
    """Follows a path of choices, then always takes the first; records how many options each choice had.

    A moment at which only one worker is ready is no choice and not part of the path.
    """

    path: Sequence[int] = ()
    taken: list[int] = field(default_factory=list)
    option_counts: list[int] = field(default_factory=list)

    def choose(self, ready: Sequence[Worker]) -> Worker:
        """Return the worker of the path, or the first."""
        if len(ready) == 1:
            return ready[0]
        depth = len(self.taken)
        index = self.path[depth] if depth < len(self.path) else 0
        assert index < len(ready), "the same path leads to the same choices"
        self.taken.append(index)
        self.option_counts.append(len(ready))
        return ready[index]


def enumerate_choosers(depth_max: int) -> Iterator[EnumeratedChooser]:
    """Yield a chooser for each path, up to a number of choices; run with each before taking the next.

    Depth first: the run with one chooser records which choices there were, and so where the next path branches off.
    """
    path: list[int] = []
    while True:
        chooser = EnumeratedChooser(tuple(path))
        yield chooser
        path, option_counts = chooser.taken[:depth_max], chooser.option_counts[:depth_max]
        while path and path[-1] + 1 >= option_counts[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1
