"""Keys that are seen to one after the other, by whoever runs the rounds; what fails is seen to again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api.errors import ApiError
from mockkube.runtime.clock import Clock

RETRY_SECONDS: Final = 1.0

_LOG: Final = logging.getLogger("mockkube.apiserver")


class Rounds:
    """Calls `see_to` with every key that was added, once however often it was added meanwhile."""

    def __init__(self, see_to: Callable[[str], Awaitable[None]], clock: Clock) -> None:
        self._see_to = see_to
        self._clock = clock
        self._pending: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._running = False

    def add(self, *keys: str) -> None:
        """Have these seen to."""
        if keys:
            self._pending.update(dict.fromkeys(keys))
            self._wake.set()

    @property
    def busy(self) -> bool:
        """Whether somebody makes the rounds, and a key waits or is in hand."""
        return self._running and self._wake.is_set()

    async def run(self) -> None:
        """Make the rounds until cancelled."""
        self._running = True
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    await self._wake.wait()
                    await self._one(group)
        finally:
            self._running = False

    async def _one(self, group: asyncio.TaskGroup) -> None:
        key = next(iter(self._pending), None)
        if key is not None:
            del self._pending[key]
            try:
                await self._see_to(key)
            except (ApiError, store_errors.Unavailable) as error:
                _LOG.warning("%s: %s: next try in %.0f s", key, error, RETRY_SECONDS)
                group.create_task(self._again(key))
        if not self._pending:
            self._wake.clear()

    async def _again(self, key: str) -> None:
        await self._clock.sleep(RETRY_SECONDS)
        self.add(key)
