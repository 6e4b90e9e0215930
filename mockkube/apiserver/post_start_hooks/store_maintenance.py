"""Store maintenance: compact old revisions, and poll for writes of other processes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from mockkube_storage import errors as store_errors
from mockkube_storage.store import Store

from mockkube.runtime.clock import Clock

# Interval of compaction, and the minimum age of the revisions it removes.
COMPACT_SECONDS: Final = 300.0
# Bytes written, or found at the start, after which a compaction follows early: the store must not grow without bound.
COMPACT_BYTES: Final = 64 * 1024 * 1024
# Maximum delay of another process's commit whose notification was lost.
POLL_SECONDS: Final = 5.0

_LOG: Final = logging.getLogger("mockkube.apiserver")


class StoreMaintenance:
    """Maintenance of one store. The owner of the server's tasks runs `coroutines`."""

    # upstream 1.36: staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go

    def __init__(self, store: Store, clock: Clock, on_compacted: Callable[[int], None] = lambda revision: None) -> None:
        """Call `on_compacted` with each revision up to which the store has been compacted."""
        self._on_compacted = on_compacted
        self._store = store
        self._clock = clock
        self._last_revision = store.revision
        # Bytes written since the last compaction.
        self._written = 0
        self._needs_compaction = asyncio.Event()
        # Processes that ended before their first compaction may have left a lot.
        self.count_written(store.past_bytes)

    def coroutines(self) -> list[Coroutine[Any, Any, None]]:
        """Return coroutines that run until they are cancelled."""
        return [
            self._run_every(COMPACT_SECONDS, self.compact),
            self._run_every(POLL_SECONDS, self.poll),
            self._compact_when_needed(),
        ]

    def count_written(self, count: int) -> None:
        """Count bytes written to the store."""
        self._written += count
        if self._written >= COMPACT_BYTES:
            self._needs_compaction.set()

    async def compact(self) -> None:
        """Compact up to the revision of the last call."""
        # As upstream's compactor: revisions stay readable for at least one interval, for watches and lists that
        # continue.
        revision, self._last_revision = self._last_revision, self._store.revision
        self._written = 0
        await self._store.compact(revision)
        self._on_compacted(revision)

    async def poll(self) -> None:
        """Fetch what other processes have committed."""
        await self._store.poll()

    async def _run_every(self, seconds: float, call: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._clock.sleep(seconds)
            await self._try(call, seconds)

    async def _compact_when_needed(self) -> None:
        while True:
            await self._needs_compaction.wait()
            self._needs_compaction.clear()
            await self._try(self.compact, COMPACT_SECONDS)

    async def _try(self, call: Callable[[], Awaitable[None]], seconds: float) -> None:
        try:
            await call()
        except store_errors.Unavailable as error:
            _LOG.warning("the store does not answer, next try in %.0f s: %s", seconds, error)
