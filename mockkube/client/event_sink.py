"""Event sink: bounded queue of events still to be written, in order and with retries."""

# upstream 1.36: staging/src/k8s.io/client-go/tools/record/event.go
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Final

from mockkube.api.errors import NAMESPACE_TERMINATING, AlreadyExists, ApiError, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal

_LOG: Final = logging.getLogger("mockkube.client")
# Upstream's queue length; further events are dropped.
QUEUED_MAX: Final = 1000
TRIES_MAX: Final = 12
RETRY_SECONDS: Final = 10.0

# Writes events, each about another object, and returns what was raised for each.
WriteEvents = Callable[[Sequence[Object]], Awaitable[Sequence[Exception | None]]]


class EventSink:
    """Queue of events to write.

    An event that the server rejects is dropped; while the server cannot be reached all wait behind the first.
    """

    def __init__(self, clock: Clock, random: Random, write_all: WriteEvents) -> None:
        self.signal = Signal()
        # Number of events dropped because the queue was full.
        self.dropped = 0
        self._clock, self._random, self._write_all = clock, random, write_all
        self._queue: deque[Object] = deque()
        self._tries = 0
        self._retry_at: float | None = None
        # Whether dropping was logged already; reset once half of the queue is written, so that each flood is logged
        # once.
        self._overflow_logged = False

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, event: Object) -> None:
        """Queue an event, or drop it if the queue is full."""
        if len(self._queue) >= QUEUED_MAX:
            self.dropped += 1
            if not self._overflow_logged:
                self._overflow_logged = True
                _LOG.warning("%d events wait to be written; further ones are dropped until some are", QUEUED_MAX)
            return
        self._overflow_logged = self._overflow_logged and len(self._queue) > QUEUED_MAX // 2
        self._queue.append(event)
        self.signal.notify()

    def is_ready(self) -> bool:
        """Return whether an event can be written now."""
        return bool(self._queue) and (self._retry_at is None or self._clock.monotonic() >= self._retry_at)

    def wake_at(self) -> float | None:
        """Return when the next retry is due."""
        return self._retry_at

    async def send(self, batch_size: int = 1) -> None:
        """Write the first event, and with `batch_size` up to so many in total, each about another object."""
        batch = self._next_batch(batch_size)
        errors = await self._write_all(batch)
        left = [event for event, error in zip(batch, errors, strict=True) if _must_send_again(event, error)]
        # The batch stayed in the queue while it was written: `put` counts it towards the bound, and a cancelled step
        # loses nothing.
        for _ in batch:
            self._queue.popleft()
        self._queue.extendleft(reversed(left))
        if left and self._schedule_retry():
            return
        if left:
            event = self._queue.popleft()
            _LOG.error("unable to write event %s: the server does not answer", event.get("reason"))
        self._tries, self._retry_at = 0, None

    def _next_batch(self, count_max: int) -> list[Object]:
        batch: dict[str, Object] = {}
        for event in islice(self._queue, count_max):
            about = str((event.get("regarding") or event.get("involvedObject") or {}).get("uid", ""))
            # Events about one object must be written in order: the second may be a patch of the first.
            if about in batch:
                break
            batch[about] = event
        return list(batch.values())

    def _schedule_retry(self) -> bool:
        """Schedule the next retry; return False after the last."""
        self._tries += 1
        if self._tries >= TRIES_MAX:
            return False
        # The first delay is random, as upstream: components that lost one server do not all come back in the same
        # moment.
        delay = RETRY_SECONDS * self._random.generator.random() if self._tries == 1 else RETRY_SECONDS
        self._retry_at = self._clock.monotonic() + delay
        return True


async def catch(write: Awaitable[None]) -> Exception | None:
    """Return what a write raises."""
    try:
        await write
    except Exception as error:
        return error
    return None


def _must_send_again(event: ReadOnlyObject, error: Exception | None) -> bool:
    """Return whether an event is to be sent again, after what its write raised."""
    match error:
        # An attempt that ended in a timeout was stored after all.
        case None | AlreadyExists():
            return False
        case Unavailable():
            return True
        case ApiError():
            log_rejected_event(event, error)
        # A malformed object raises anything here; it must not stop the events about other objects.
        case _:
            _LOG.error("unable to write event %s", event.get("reason"), exc_info=error)
    return False


def log_rejected_event(event: ReadOnlyObject, error: ApiError) -> None:
    """Log that the server rejected an event; rejections by a terminating namespace are logged for debugging only."""
    level = logging.DEBUG if error.has_cause(NAMESPACE_TERMINATING) else logging.ERROR
    _LOG.log(level, "server rejected event %s: %s", event.get("reason"), error)
