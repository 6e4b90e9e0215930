"""Recording events of events.k8s.io/v1, as the scheduler does: what repeats itself becomes a series.

The second equal event begins a series; further ones are only counted. A series is written again every half hour, and
for the last time when nothing of it was seen for six minutes.
"""

# upstream 1.36: staging/src/k8s.io/client-go/tools/events/event_broadcaster.go
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, NotFound, Unavailable
from mockkube.api.times import render_micro_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.events import EventNames, namespace_of, reference_to
from mockkube.client.outbox import Outbox, tell_rejected
from mockkube.client.protocol import Client, key_of
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Bell

FINISH_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
HOST: Final = "mockkube"
_KIND: Final = "Event.events.k8s.io"

_Key = tuple[str, ...]


@dataclass(slots=True)
class _Known:
    """An event, and how often and when its like was seen."""

    event: Object
    at: datetime
    latest: Object
    """The last of its like; one that is sent again is not counted again."""
    count: int = 1

    def written_out(self) -> Object:
        """The event with its series, if it has become one."""
        if self.count == 1:
            return self.event
        series = {"count": self.count, "lastObservedTime": render_micro_time(self.at)}
        return {**self.event, "series": series}


class SeriesRecorder:
    """Records events of events.k8s.io/v1. What is equal but for the note is one event."""

    def __init__(
        self, client: Client, clock: Clock, chance: Chance, *, owner: str, host: str = HOST, at_once: int = 1
    ) -> None:
        self.name = f"{owner}/events"
        self._at_once = at_once
        """How many events are written at once; each about another object."""
        self._client, self._clock, self._host = client, clock, host
        self._names = EventNames(clock, chance)
        self._outbox = Outbox(clock, chance, self._write)
        self._known: dict[_Key, _Known] = {}
        now = clock.monotonic()
        self._finish_at, self._refresh_at = now + FINISH_SECONDS, now + REFRESH_SECONDS

    def record(
        self,
        regarding: ReadOnlyObject,
        severity: str,
        reason: str,
        note: str,
        *,
        action: str,
        controller: str,
        related: ReadOnlyObject | None = None,
    ) -> None:
        """Record an event about an object, done by a controller (for the scheduler: the name of its profile)."""
        reference, now = reference_to(regarding), self._clock.now()
        event: Object = {
            "kind": "Event",
            "apiVersion": "events.k8s.io/v1",
            "metadata": {
                "name": self._names.name(reference.get("name", "")),
                "namespace": namespace_of(reference),
            },
            "eventTime": render_micro_time(now),
            "reportingController": controller,
            "reportingInstance": f"{controller}-{self._host}",
            "action": action,
            "reason": reason,
            "regarding": reference,
            "note": note,
            "type": severity,
        }
        if related is not None:
            event["related"] = reference_to(related)
        self._outbox.put(event)

    @property
    def bell(self) -> Bell:
        """Rings when an event was recorded."""
        return self._outbox.bell

    def ready(self) -> bool:
        """Whether something is to be written now."""
        return self._outbox.ready() or (bool(self._known) and self._tick_at() <= self._clock.monotonic())

    def wake_at(self) -> float | None:
        """Return when a series is written again, or a server that did not answer is asked again."""
        moments = [moment for moment in (self._outbox.wake_at(),) if moment is not None]
        if self._known:
            moments.append(self._tick_at())
        return min(moments, default=None)

    async def step(self) -> None:
        """Write one event, or what a tick brings."""
        if self._outbox.ready():
            await self._outbox.send(self._at_once)
            return
        now = self._clock.monotonic()
        if self._refresh_at <= now:
            self._refresh_at = _next_tick(self._refresh_at, REFRESH_SECONDS, now)
            await self._refresh()
        if self._finish_at <= now:
            self._finish_at = _next_tick(self._finish_at, FINISH_SECONDS, now)
            await self._finish()

    def _tick_at(self) -> float:
        return min(self._finish_at, self._refresh_at)

    async def _write(self, event: Object) -> None:
        """Write an event that is new, or the beginning of a series; count what goes on with one."""
        key, now = _key(event), self._clock.now()
        known = self._known.setdefault(key, _Known(event, now, event))
        if known.latest is not event:
            known.latest, known.at, known.count = event, now, known.count + 1
        if known.count == 1:
            await self._client.create(_KIND, event)
        elif known.count == 2:
            await self._send_series(known)

    async def _send_series(self, known: _Known) -> None:
        event = known.written_out()
        try:
            await self._client.patch(_KIND, key_of(event), {"series": event["series"]})
        except NotFound:  # it has expired since
            await self._client.create(_KIND, event)

    async def _refresh(self) -> None:
        for known in list(self._known.values()):
            if known.count > 1:
                await self._sent(known)

    async def _finish(self) -> None:
        """Forget what was not seen for a while; a series is told how long it became."""
        before = self._clock.now() - timedelta(seconds=FINISH_SECONDS)
        for key, known in list(self._known.items()):
            if known.at < before and (known.count == 1 or await self._sent(known)):
                del self._known[key]

    async def _sent(self, known: _Known) -> bool:
        """Whether the series was written, or will never be."""
        try:
            await self._send_series(known)
        except (Unavailable, AlreadyExists):
            return False
        except ApiError as error:
            tell_rejected(known.event, error)
        return True


def _next_tick(last: float, period: float, now: float) -> float:
    return last + period * (int((now - last) / period) + 1)


def _key(event: ReadOnlyObject) -> _Key:
    reporter = (event["reportingController"], event["reportingInstance"])
    return (
        event["type"], event["action"], event["reason"], *reporter,
        *_flat(event["regarding"]), *_flat(event.get("related", {})),
    )  # fmt: skip


def _flat(reference: ReadOnlyObject) -> _Key:
    names = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return tuple(reference.get(name, "") for name in names)
