"""A cache as a worker of the controller manager: once it holds everything, those who wait for it are told."""

from collections.abc import Sequence

from mockkube.client.cache import ListWatch
from mockkube.runtime.steps import Bell


class Following:
    """Steps a cache. Its bell is the cache's own."""

    def __init__(self, cache: ListWatch, waiting: Sequence[Bell]) -> None:
        self._cache, self._waiting = cache, waiting
        self.name = cache.name

    @property
    def bell(self) -> Bell:
        """Rings when the cache may have become ready."""
        return self._cache.bell

    def ready(self) -> bool:
        """Whether the cache has something to do."""
        return self._cache.ready()

    def wake_at(self) -> float | None:
        """Return when the cache becomes ready by itself."""
        return self._cache.wake_at()

    async def step(self) -> None:
        """Step the cache; wake those who wait when this has filled it for the first time."""
        synced = self._cache.synced
        await self._cache.step()
        if self._cache.synced and not synced:
            for bell in self._waiting:
                bell.ring()
