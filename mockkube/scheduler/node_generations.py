"""Which nodes have changed since when, for those who keep something about each."""

from collections.abc import Iterable


class ChangeLog:
    """Names with the generation of their last change; generations only grow."""

    def __init__(self) -> None:
        self._changes: dict[str, int] = {}
        """The latest last."""

    def note(self, name: str, generation: int) -> None:  # hot: per change
        """Note a change, later than all others."""
        self._changes.pop(name, None)
        self._changes[name] = generation

    def since(self, generation: int) -> Iterable[str]:
        """Return what changed after a generation, the latest first."""
        for name in reversed(self._changes):
            if self._changes[name] <= generation:
                return
            yield name
