"""Who goes next, tried in every way: a chooser that follows a path of choices, and the paths there are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mockkube.runtime.steps import Worker


@dataclass(slots=True)
class Enumerated:
    """Follows a path of choices, then always takes the first; notes how many ways there were at each choice.

    Moments at which only one worker is ready are no choices: they are not part of the path.
    """

    path: Sequence[int] = ()
    taken: list[int] = field(default_factory=list)
    ways: list[int] = field(default_factory=list)

    def choice(self, ready: Sequence[Worker]) -> Worker:
        """Return the worker of the path, or the first."""
        if len(ready) == 1:
            return ready[0]
        depth = len(self.taken)
        index = self.path[depth] if depth < len(self.path) else 0
        assert index < len(ready), "the same path leads to the same choices"
        self.taken.append(index)
        self.ways.append(len(ready))
        return ready[index]


def paths(depth_max: int) -> Iterator[Enumerated]:
    """Yield a chooser for each way to go on, up to a number of choices; each is to be played before the next.

    Depth first: the run of one chooser tells which choices there were, and so where the next turns off.
    """
    path: list[int] = []
    while True:
        chooser = Enumerated(tuple(path))
        yield chooser
        path, ways = chooser.taken[:depth_max], chooser.ways[:depth_max]
        while path and path[-1] + 1 >= ways[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1
