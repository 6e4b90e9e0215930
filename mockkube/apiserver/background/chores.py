"""All an API server does unasked, to be started and stopped as one."""

from collections.abc import Coroutine
from typing import Any

from mockkube.apiserver.background.registrations import Registrations
from mockkube.apiserver.registry.registry import Registry


class Chores:
    """What runs beside the answering of requests. `work` is run by whoever owns the tasks of the server."""

    def __init__(self, registry: Registry) -> None:
        self._registrations = Registrations(registry)

    async def start(self) -> None:
        """Do what is to be done before the server answers, and follow what is stored."""
        await self._registrations.start()

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Return what is to run until it is cancelled."""
        return [self._registrations.rounds.run()]

    @property
    def busy(self) -> bool:
        """Whether something that was stored is still to be acted upon."""
        return self._registrations.rounds.busy

    def stop(self) -> None:
        """Follow no longer."""
        self._registrations.stop()
