"""Retry queue: a work queue that retries failed keys with backoff, and gives up after many failures."""

import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from mockkube_storage import errors as store_errors

from mockkube.api.errors import ApiError
from mockkube.client.bad_objects import BadObjects, reader_name
from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import ItemExponentialFailureRateLimiter
from mockkube.runtime.work_queue import WorkQueue

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
        self._rate_limiter = ItemExponentialFailureRateLimiter(RETRY_SECONDS)
        self._queue: WorkQueue[_Key] = WorkQueue(clock, self._rate_limiter)
        self._is_running = False

    def add(self, *keys: _Key) -> None:
        """Add keys."""
        for key in keys:
            self._queue.add(key)

    def add_after(self, key: _Key, seconds: float) -> None:
        """Add a key after a delay; of several times the earliest counts."""
        self._queue.add_after(key, seconds)

    @property
    def is_busy(self) -> bool:
        """True if the queue runs, and a key is queued or being processed."""
        return self._is_running and self._queue.is_busy()

    async def run(self) -> None:
        """Process keys until cancelled."""
        self._is_running = True
        try:
            await self._queue.run(self._process_key)
        finally:
            self._is_running = False

    async def _process_key(self, key: _Key) -> None:
        try:
            await self._process(key)
        except (ApiError, store_errors.Unavailable) as error:
            self._retry(key, str(error))
        except Exception as error:  # what is stored under one key must not take the server down
            self._bad_objects.record_failure(self._name, "", key, error)
            self._retry(key, repr(error))
        else:
            self._queue.forget(key)
            if self._bad_objects:
                self._bad_objects.forget("", key, self._name)

    def _retry(self, key: _Key, why: str) -> None:
        """Retry a failed key later, unless it failed too often."""
        if self._queue.num_requeues(key) >= TRIES_MAX - 1:
            self._queue.forget(key)
            _LOG.warning("%s: %s: not tried again", key, why)
            return
        seconds = self._rate_limiter.when(key)
        _LOG.info("%s: %s: next try in %.0f s", key, why, seconds)
        self._queue.add_after(key, seconds)
