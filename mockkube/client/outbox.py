"""What is still to be written, where nobody waits for it: bounded, in order, tried again while no server answers."""

# upstream 1.36: staging/src/k8s.io/client-go/tools/record/event.go
import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Final

from mockkube.api.errors import NAMESPACE_TERMINATING, AlreadyExists, ApiError, Unavailable
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Bell

_LOG: Final = logging.getLogger("mockkube.client")
QUEUED_MAX: Final = 1000
"""How many events wait; further ones are dropped."""
TRIES_MAX: Final = 12
RETRY_SECONDS: Final = 10.0


class Outbox:
    """Events on their way. What the server refuses is dropped; while it cannot be reached all wait behind the first."""

    def __init__(self, clock: Clock, chance: Chance, write: Callable[[Object], Awaitable[None]]) -> None:
        self.bell = Bell()
        self.dropped = 0
        """How many events were lost to the bound."""
        self._clock, self._chance, self._write = clock, chance, write
        self._waiting: deque[Object] = deque()
        self._tries = 0
        self._retry_at: float | None = None
        self._crowded = False
        """Whether it has been told that events are dropped; told anew once half of those that wait are gone."""

    def put(self, event: Object) -> None:
        """Let the event be written by and by."""
        if len(self._waiting) >= QUEUED_MAX:
            self.dropped += 1
            if not self._crowded:
                self._crowded = True
                _LOG.warning("more than %d events wait to be written: others are dropped for now", QUEUED_MAX)
            return
        self._crowded = self._crowded and len(self._waiting) > QUEUED_MAX // 2
        self._waiting.append(event)
        self.bell.ring()

    def ready(self) -> bool:
        """Whether there is something to send now."""
        return bool(self._waiting) and (self._retry_at is None or self._clock.monotonic() >= self._retry_at)

    def wake_at(self) -> float | None:
        """Return when the server is asked again."""
        return self._retry_at

    async def send(self, at_once: int = 1) -> None:
        """Send the first event, or try to; with `at_once` also those behind it that are about other objects."""
        batch = self._batch(at_once)
        if len(batch) == 1:
            gone = [await self._try(batch[0])]
        else:
            async with asyncio.TaskGroup() as group:
                tries = [group.create_task(self._try(event)) for event in batch]
            gone = [one.result() for one in tries]
        left = [event for event, is_gone in zip(batch, gone, strict=True) if not is_gone]
        for _ in batch:
            self._waiting.popleft()
        self._waiting.extendleft(reversed(left))
        if left and self._postponed():
            return
        if left:
            event = self._waiting.popleft()
            _LOG.error("unable to write event %s: the server does not answer", event.get("reason"))
        self._tries, self._retry_at = 0, None

    def _batch(self, count_max: int) -> list[Object]:
        batch: dict[str, Object] = {}
        for event in islice(self._waiting, count_max):
            about = str((event.get("regarding") or event.get("involvedObject") or {}).get("uid", ""))
            if about in batch:
                break
            batch[about] = event
        return list(batch.values())

    async def _try(self, event: Object) -> bool:
        """Whether an event needs not be sent again."""
        try:
            await self._write(event)
        except Unavailable:
            return False
        except AlreadyExists:
            pass
        except ApiError as error:
            tell_rejected(event, error)
        except Exception:  # what it is about cannot be read; other events can
            _LOG.exception("unable to write event %s", event.get("reason"))
        return True

    def _postponed(self) -> bool:
        """Whether the first event is tried again, and if so, when; the first delay is random."""
        self._tries += 1
        if self._tries >= TRIES_MAX:
            return False
        delay = RETRY_SECONDS * self._chance.random.random() if self._tries == 1 else RETRY_SECONDS
        self._retry_at = self._clock.monotonic() + delay
        return True


def tell_rejected(event: ReadOnlyObject, error: ApiError) -> None:
    """Log that an event will never be written; in a namespace that is going this is no news."""
    level = logging.DEBUG if error.has_cause(NAMESPACE_TERMINATING) else logging.ERROR
    _LOG.log(level, "server rejected event %s: %s", event.get("reason"), error)
