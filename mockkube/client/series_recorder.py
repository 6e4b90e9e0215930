"""Event recorder for events of events.k8s.io/v1, as the scheduler uses it.

The second equal event starts a series; further ones are only counted. A series is written again every 30 minutes, and
for the last time when none of its events occurred for six minutes.
"""

# upstream 1.36: staging/src/k8s.io/client-go/tools/events/event_broadcaster.go
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, NotFound, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_micro_time
from mockkube.client.batches import create_all
from mockkube.client.event_sink import EventSink, catch, log_rejected_event
from mockkube.client.events import EventNames, digest_fields, namespace_of, reference_to
from mockkube.client.protocol import Client, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal

FINISH_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
HOST: Final = "mockkube"
_KIND: Final = "Event.events.k8s.io"
_REFERENCE_FIELDS: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_NO_REFERENCE: Final = ("",) * len(_REFERENCE_FIELDS)

# Digest of the fields that equal events share.
_Key = bytes


@dataclass(slots=True)
class _EventSeries:
    """Recorded event, with number and time of the equal ones since.

    Most events stay alone, and are remembered for up to twelve minutes: only what an equal one does not have is kept.
    """

    name: str
    event_time: str
    note: str
    # Time of the last equal event; times of one precision compare as texts.
    at: str
    # The last equal event until it is written: when it is sent again after a failure it must not be counted again.
    unwritten: Object | None
    count: int = 1
    # The first event, from the second occurrence on.
    first: Object | None = None

    @classmethod
    def start(cls, event: Object) -> "_EventSeries":
        """Return the series of a new event."""
        at = event["eventTime"]
        return cls(event["metadata"]["name"], at, event["note"], at, event)

    def count_event(self, event: Object, at: str) -> None:
        """Count an equal event."""
        metadata = {**event["metadata"], "name": self.name}
        self.first = {**event, "metadata": metadata, "eventTime": self.event_time, "note": self.note}
        self.unwritten, self.at, self.count = event, at, self.count + 1

    def to_object(self) -> Object:
        """Return the first event with the series; only from the second occurrence on."""
        assert self.first is not None
        return {**self.first, "series": {"count": self.count, "lastObservedTime": self.at}}


class SeriesRecorder:
    """Recorder of events.k8s.io/v1 events; events that differ only in the note are one event."""

    def __init__(
        self, client: Client, clock: Clock, random: Random, *, owner: str, host: str = HOST, batch_size: int = 1
    ) -> None:
        self.name = f"{owner}/events"
        # Number of events that one step writes concurrently, each about another object.
        self._batch_size = batch_size
        self._client, self._clock, self._host = client, clock, host
        self._names = EventNames(clock, random)
        self._sink = EventSink(clock, random, self._write_all)
        self._series: dict[_Key, _EventSeries] = {}
        now = clock.monotonic()
        self._finish_at, self._refresh_at = now + FINISH_SECONDS, now + REFRESH_SECONDS

    def record(
        self,
        regarding: ReadOnlyObject,
        event_type: str,
        reason: str,
        note: str,
        *,
        action: str,
        controller: str,
        related: ReadOnlyObject | None = None,
    ) -> None:
        """Record an event about an object; for the scheduler `controller` is the name of its profile."""
        reference, now = reference_to(regarding), self._clock.now()
        event: Object = {
            "kind": "Event",
            "apiVersion": "events.k8s.io/v1",
            "metadata": {
                "name": self._names.generate(reference.get("name", "")),
                "namespace": namespace_of(reference),
            },
            "eventTime": render_micro_time(now),
            "reportingController": controller,
            "reportingInstance": f"{controller}-{self._host}",
            "action": action,
            "reason": reason,
            "regarding": reference,
            "note": note,
            "type": event_type,
        }
        if related is not None:
            event["related"] = reference_to(related)
        self._sink.put(event)

    @property
    def signal(self) -> Signal:
        """Notified when an event was queued."""
        return self._sink.signal

    def is_ready(self) -> bool:
        """Return whether an event can be written, or series are to be refreshed."""
        return self._sink.is_ready() or (bool(self._series) and self._tick_at() <= self._clock.monotonic())

    def wake_at(self) -> float | None:
        """Return when a series is to be written again, or a retry is due."""
        moments = [moment for moment in (self._sink.wake_at(),) if moment is not None]
        if self._series:
            moments.append(self._tick_at())
        return min(moments, default=None)

    async def step(self) -> None:
        """Write one batch of events, or refresh and finish series."""
        if self._sink.is_ready():
            await self._sink.send(self._batch_size)
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

    async def _write_all(self, events: Sequence[Object]) -> Sequence[Exception | None]:
        """Write new events and the starts of series; count all further ones. Return what was raised for each event."""
        counted = [self._count(event) for event in events]
        errors: dict[int, Exception | None] = {}
        new = [number for number, series in enumerate(counted) if series.count == 1]
        created = await create_all(self._client, _KIND, [events[number] for number in new]) if new else ()
        errors.update(zip(new, created, strict=True))
        for number, series in enumerate(counted):
            # From the third on the count reaches the server only with the refresh, as upstream.
            if series.count == 2:
                errors[number] = await catch(self._send_series(series))
            if not isinstance(errors.get(number), Unavailable):
                series.unwritten = None
        return [errors.get(number) for number in range(len(events))]

    def _count(self, event: Object) -> _EventSeries:
        """Return the series of an event, which counts it unless it is sent again."""
        key = _series_key(event)
        known = self._series.get(key)
        if known is None:
            known = self._series[key] = _EventSeries.start(event)
        elif known.unwritten is not event:
            known.count_event(event, render_micro_time(self._clock.now()))
        return known

    async def _send_series(self, known: _EventSeries) -> None:
        event = known.to_object()
        try:
            await self._client.patch(_KIND, key_of(event), {"series": event["series"]})
        # The event's TTL is over; upstream creates it again, series included.
        except NotFound:
            await self._client.create(_KIND, event)

    async def _refresh(self) -> None:
        for known in list(self._series.values()):
            if known.count > 1:
                await self._try_send_series(known)

    async def _finish(self) -> None:
        """Forget events that did not occur for a while, after writing the final state of their series."""
        before = render_micro_time(self._clock.now() - timedelta(seconds=FINISH_SECONDS))
        for key, known in list(self._series.items()):
            if known.at < before and (known.count == 1 or await self._try_send_series(known)):
                del self._series[key]

    async def _try_send_series(self, known: _EventSeries) -> bool:
        """Write a series; return False if it must be tried again."""
        try:
            await self._send_series(known)
        except (Unavailable, AlreadyExists):
            return False
        except ApiError as error:
            log_rejected_event(known.to_object(), error)
        return True


def _next_tick(last: float, period: float, now: float) -> float:
    # Ticks stay on the grid of the start time even if a step came late, as those of a Go ticker.
    return last + period * (int((now - last) / period) + 1)


def _series_key(event: ReadOnlyObject) -> _Key:
    reporter = (event["reportingController"], event["reportingInstance"])
    return digest_fields(
        event["type"], event["action"], event["reason"], *reporter,
        *_reference_fields(event["regarding"]), *_reference_fields(event.get("related", {})),
    )  # fmt: skip


def _reference_fields(reference: ReadOnlyObject) -> Sequence[str]:
    return [str(reference.get(name, "")) for name in _REFERENCE_FIELDS] if reference else _NO_REFERENCE
