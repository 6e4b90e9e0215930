"""Event recorder for events of core/v1; the scheduler's recorder is in `series_recorder.py`.

A recorder is a worker: `record` only queues the event, a step writes one.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.client.event_correlator import EventCorrelateResult, EventCorrelator
from mockkube.client.event_sink import EventSink, catch
from mockkube.client.events import EventNames, namespace_of, reference_to
from mockkube.client.protocol import Client, key_of
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal

_KIND: Final = "Event"


class EventRecorder:
    """Recorder of core/v1 events: counts equal ones in one object, combines similar ones, limits floods."""

    # upstream 1.36: staging/src/k8s.io/client-go/tools/record/event.go
    def __init__(self, client: Client, clock: Clock, random: Random, *, component: str, owner: str = "") -> None:
        self.name = f"{owner or component}/events"
        self.component = component
        self._client, self._clock = client, clock
        self._names = EventNames(clock, random)
        self._correlator = EventCorrelator(clock, self._names)
        self._sink = EventSink(clock, random, self._write_all)
        # Result of the correlator for the first event in the queue: a retry must not count the event a second time.
        self._correlated: tuple[Object, EventCorrelateResult | None] | None = None

    def record(
        self,
        obj: ReadOnlyObject,
        event_type: str,
        reason: str,
        message: str,
        *,
        host: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Record an event about an object or reference; `host` is the node the component runs on."""
        reference = reference_to(obj)
        moment = render_time(self._clock.now())
        metadata: Object = {
            "name": self._names.generate(reference.get("name", "")),
            "namespace": namespace_of(reference),
        }
        if annotations:
            metadata["annotations"] = dict(annotations)
        self._sink.put({
            "kind": _KIND,
            "apiVersion": "v1",
            "metadata": metadata,
            "involvedObject": reference,
            "reason": reason,
            "message": message,
            "source": {"component": self.component, **({"host": host} if host else {})},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "type": event_type,
            "reportingComponent": self.component,
            "reportingInstance": host,
        })  # fmt: skip

    @property
    def remembered(self) -> int:
        """Number of events that are still to be written, or in which equal ones are counted."""
        return len(self._sink) + len(self._correlator)

    def forget_objects(self, uid_digests: Set[bytes]) -> None:
        """Forget the events about deleted objects."""
        self._correlator.forget_objects(uid_digests)

    @property
    def signal(self) -> Signal:
        """Notified when an event was queued."""
        return self._sink.signal

    def is_ready(self) -> bool:
        """Return whether an event can be written now."""
        return self._sink.is_ready()

    def wake_at(self) -> float | None:
        """Return when the next retry is due."""
        return self._sink.wake_at()

    async def step(self) -> None:
        """Write one event."""
        await self._sink.send()

    async def _write_all(self, events: Sequence[Object]) -> Sequence[Exception | None]:
        return [await catch(self._write(event)) for event in events]

    async def _write(self, event: Object) -> None:
        if self._correlated is None or self._correlated[0] is not event:
            self._correlated = (event, self._correlator.correlate(event))
        if (correlated := self._correlated[1]) is not None:
            # The stored name counts, not the sent one: an equal event later patches this object.
            self._correlator.update_state(await self._send(correlated))

    async def _send(self, correlated: EventCorrelateResult) -> ReadOnlyObject:
        event = correlated.event
        if correlated.patch is not None:
            try:
                return await self._client.patch(_KIND, key_of(event), correlated.patch)
            # The event's TTL is over. As upstream, it is created again with the count that it had.
            except NotFound:
                pass
        return await self._client.create(_KIND, event)
