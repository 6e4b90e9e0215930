"""Retry queue: process keys one after the other; retry failed ones with backoff."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from mockkube_storage import errors as store_errors

from mockkube.api.errors import ApiError
from mockkube.client.bad_objects import BadObjects, reader_name
from mockkube.runtime.clock import Clock

# Delay of the first retry; it doubles with every further one.
RETRY_SECONDS: Final = 1.0
# Attempts in a row; afterwards the key rests until it is added again.
TRIES_MAX: Final = 10

_Key = TypeVar("_Key", bound=Hashable)
_LOG: Final = logging.getLogger("mockkube.apiserver")


class RetryQueue(Generic[_Key]):
    """Queue that calls `process` with every added key; a key added several times meanwhile is processed once."""

    def __init__(
        self, process: Callable[[_Key], Awaitable[None]], clock: Clock, bad_objects: BadObjects | None = None
    ) -> None:
        """Report keys that fail because of a stored object to `bad_objects`."""
        self._process = process
        self._name = reader_name(process)
        self._bad_objects = BadObjects() if bad_objects is None else bad_objects
        self._clock = clock
        self._pending: dict[_Key, None] = {}
        self._failures: dict[_Key, int] = {}
        # Earliest time at which each delayed key is added again.
        self._due: dict[_Key, float] = {}
        self._wake = asyncio.Event()
        self._is_running = False
        self._timers: asyncio.TaskGroup | None = None

    def add(self, *keys: _Key) -> None:
        """Add keys."""
        if keys:
            self._pending.update(dict.fromkeys(keys))
            self._wake.set()

    def add_after(self, seconds: float, key: _Key) -> None:
        """Add a key after a delay, or earlier if that was requested; without effect unless the queue runs."""
        due = self._clock.monotonic() + seconds
        # An earlier timer of the same key stays, so a key never has a later time than requested.
        if self._timers is not None and due < self._due.get(key, math.inf):
            self._due[key] = due
            self._timers.create_task(self._add_at(due, key))

    @property
    def is_busy(self) -> bool:
        """True if the queue runs, and a key is queued or being processed."""
        return self._is_running and self._wake.is_set()

    async def run(self) -> None:
        """Process keys until cancelled."""
        self._is_running = True
        try:
            async with asyncio.TaskGroup() as self._timers:
                while True:
                    await self._wake.wait()
                    await self._process_next()
        finally:
            self._is_running, self._timers = False, None
            self._due.clear()

    async def _process_next(self) -> None:
        key = next(iter(self._pending), None)
        if key is not None:
            del self._pending[key]
            try:
                await self._process(key)
            except (ApiError, store_errors.Unavailable) as error:
                self._retry(key, str(error))
            except Exception as error:  # what is stored under one key must not take the server down
                self._bad_objects.record_failure(self._name, "", key, error)
                self._retry(key, repr(error))
            else:
                self._failures.pop(key, None)
                if self._bad_objects:
                    self._bad_objects.forget("", key, self._name)
        # Cleared only after the key was processed, because `is_busy` reads it.
        if not self._pending:
            self._wake.clear()

    def _retry(self, key: _Key, why: str) -> None:
        """Retry a failed key later, unless it failed too often."""
        failures = self._failures.pop(key, 0) + 1
        if failures >= TRIES_MAX:
            _LOG.warning("%s: %s: not tried again", key, why)
            return
        self._failures[key] = failures
        seconds = RETRY_SECONDS * 2 ** (failures - 1)
        _LOG.info("%s: %s: next try in %.0f s", key, why, seconds)
        self.add_after(seconds, key)

    async def _add_at(self, due: float, key: _Key) -> None:
        await self._clock.sleep(due - self._clock.monotonic())
        # A timer that a sooner one has replaced does nothing.
        if self._due.get(key) == due:
            del self._due[key]
            self.add(key)
