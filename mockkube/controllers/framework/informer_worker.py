"""Worker that steps an informer and notifies controllers when it has synced."""

from collections.abc import Sequence

from mockkube.client.informer import Informer
from mockkube.runtime.steps import Signal


class InformerWorker:
    """Worker of one informer; it shares the informer's signal."""

    def __init__(self, informer: Informer, signals: Sequence[Signal]) -> None:
        self.informer, self._controller_signals = informer, signals
        self.name = informer.name

    @property
    def signal(self) -> Signal:
        """Notified when the informer may have become ready."""
        return self.informer.signal

    def is_ready(self) -> bool:
        """Return whether the informer has something to do."""
        return self.informer.is_ready()

    def wake_at(self) -> float | None:
        """Return when the informer's next retry is due."""
        return self.informer.wake_at()

    async def step(self) -> None:
        """Step the informer; wake the waiting controllers when it has synced."""
        # Controllers are woken once only: afterwards their queues wake them for each key.
        synced = self.informer.has_synced
        await self.informer.step()
        if self.informer.has_synced and not synced:
            for signal in self._controller_signals:
                signal.notify()
