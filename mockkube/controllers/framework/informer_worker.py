"""Worker that steps an informer and notifies controllers when it has synced."""

from collections.abc import Sequence

from mockkube.client.cache import ListWatch
from mockkube.runtime.steps import Bell


class Following:
    """Worker of one informer; it shares the informer's signal."""

    def __init__(self, cache: ListWatch, waiting: Sequence[Bell]) -> None:
        self._cache, self._waiting = cache, waiting
        self.name = cache.name

    @property
    def bell(self) -> Bell:
        """Notified when the informer may have become ready."""
        return self._cache.bell

    def ready(self) -> bool:
        """Return whether the informer has something to do."""
        return self._cache.ready()

    def wake_at(self) -> float | None:
        """Return when the informer's next retry is due."""
        return self._cache.wake_at()

    async def step(self) -> None:
        """Step the informer; wake the waiting controllers when it has synced."""
        # Controllers are woken once only: afterwards their queues wake them for each key.
        synced = self._cache.synced
        await self._cache.step()
        if self._cache.synced and not synced:
            for signal in self._waiting:
                signal.ring()
