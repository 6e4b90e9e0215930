"""What a store wants done from time to time: its past forgotten, and other processes' writes fetched."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from mockkube_storage import errors as store_errors
from mockkube_storage.store import Store

from mockkube.runtime.clock import Clock

COMPACT_SECONDS: Final = 300.0
"""How long the past is kept at least, and how often older one is forgotten."""
COMPACT_BYTES: Final = 64 * 1024 * 1024
"""How much may be written until then; beyond it the past is forgotten sooner."""
POLL_SECONDS: Final = 5.0
"""How long what another process committed may stay unseen when its announcement was lost."""

_LOG: Final = logging.getLogger("mockkube.apiserver")


class Housekeeping:
    """Looks after one store. `work` is run by whoever owns the tasks of the server."""

    # upstream 1.36: staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._seen = store.revision
        self._written = 0
        """Bytes written since the last compaction."""
        self._full = asyncio.Event()

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Return what is to run until it is cancelled."""
        return [
            self._every(COMPACT_SECONDS, self.compact),
            self._every(POLL_SECONDS, self.poll),
            self._whenever_full(),
        ]

    def wrote(self, count: int) -> None:
        """Take note of so many bytes written to the store."""
        self._written += count
        if self._written >= COMPACT_BYTES:
            self._full.set()

    async def compact(self) -> None:
        """Forget what was replaced before the last call; the next call forgets what is replaced up to now."""
        seen, self._seen = self._seen, self._store.revision
        self._written = 0
        await self._store.compact(seen)

    async def poll(self) -> None:
        """Fetch what other processes have committed."""
        await self._store.poll()

    async def _every(self, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._clock.sleep(seconds)
            await self._try(act, seconds)

    async def _whenever_full(self) -> None:
        while True:
            await self._full.wait()
            self._full.clear()
            await self._try(self.compact, COMPACT_SECONDS)

    async def _try(self, act: Callable[[], Awaitable[None]], seconds: float) -> None:
        try:
            await act()
        except store_errors.Unavailable as error:
            _LOG.warning("the store does not answer, next try in %.0f s: %s", seconds, error)
