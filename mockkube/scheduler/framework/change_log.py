"""Change log: names with the generation of their last change."""

from collections.abc import Container, Iterable


class ChangeLog:
    """Names with the generation of their last change; generations only grow."""

    def __init__(self) -> None:
        # Ordered by generation, the latest last, so that `names_since` stops at the first older entry.
        self._changes: dict[str, int] = {}
        # Generation of the latest change that was forgotten.
        self.forgotten_generation = 0

    def __len__(self) -> int:
        return len(self._changes)

    def record(self, name: str, generation: int) -> None:  # hot: per change
        """Record a change that is later than all others."""
        self._changes.pop(name, None)
        self._changes[name] = generation

    def names_since(self, generation: int) -> Iterable[str]:
        """Yield the names that changed after a generation, latest first."""
        for name in reversed(self._changes):
            if self._changes[name] <= generation:
                return
            yield name

    def forget_others(self, names: Container[str]) -> None:
        """Forget the changes of all but these names."""
        for name, generation in list(self._changes.items()):
            if name not in names:
                del self._changes[name]
                self.forgotten_generation = generation
