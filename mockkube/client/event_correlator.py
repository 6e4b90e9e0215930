"""Correlator of events: counts equal ones, combines similar ones, limits the rate per object."""

# upstream 1.36: staging/src/k8s.io/client-go/tools/record/events_cache.go
from collections import OrderedDict
from collections.abc import Set
from typing import Any, Final, TypeVar

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.client.events import UID_BYTES, EventNames, digest_fields, digest_uid
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import BucketRateLimiter

CACHE_SIZE_MAX: Final = 4096
# Number of distinct messages from which on events are combined.
SIMILAR_MAX: Final = 10
SIMILAR_SECONDS: Final = 600
BURST: Final = 25
PER_SECOND: Final = 1 / 300
# How often records are removed that no longer have any effect.
SWEEP_SECONDS: Final = 300.0
_COMBINED: Final = "(combined from similar events): "

# Digests of the object's uid and of the other fields that distinguish events: components remember thousands of them,
# and the fields take more memory.
_Key = bytes
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class EventCorrelateResult:
    """Event to write: a new one, or the patch that raises the count of an existing one."""

    event: Object
    patch: Object | None = None


@dataclass(slots=True)
class _AggregateRecord:
    """Distinct messages with the same source, object and reason."""

    at: float
    messages: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class _EventLog:
    """Stored event that equal ones are counted in."""

    name: str
    first: str
    count: int


class EventCorrelator:
    """Events that one component recorded lately, by object and reason."""

    def __init__(self, clock: Clock, names: EventNames) -> None:
        self._clock, self._names = clock, names
        # All three: least recently used first.
        self._similar: OrderedDict[_Key, _AggregateRecord] = OrderedDict()
        self._observed: OrderedDict[_Key, _EventLog] = OrderedDict()
        self._rate_limiters: OrderedDict[_Key, BucketRateLimiter] = OrderedDict()
        self._sweep_at = clock.monotonic() + SWEEP_SECONDS

    def __len__(self) -> int:
        return len(self._observed)

    def forget_objects(self, uid_digests: Set[bytes]) -> None:
        """Forget the events about deleted objects: none that equals them can follow."""
        caches: tuple[OrderedDict[_Key, Any], ...] = (self._similar, self._observed, self._rate_limiters)
        for cache in caches:
            for key in [key for key in cache if key[:UID_BYTES] in uid_digests]:
                del cache[key]

    def correlate(self, event: Object) -> EventCorrelateResult | None:
        """Return the event to write for a recorded one; None if the object has too many events."""
        self._sweep()
        event, key = self._aggregate(event)
        correlated = self._observe(event, key)
        return correlated if self._rate_limiter(correlated.event).take() else None

    def update_state(self, event: ReadOnlyObject) -> None:
        """Remember an event as the server stored it."""
        self._remember(_event_key(event), event)

    def _sweep(self) -> None:
        """Remove records without effect now and then: messages of too long ago, and buckets that are full again."""
        now = self._clock.monotonic()
        if now < self._sweep_at:
            return
        self._sweep_at = now + SWEEP_SECONDS
        for key in [key for key, similar in self._similar.items() if now - similar.at > SIMILAR_SECONDS]:
            del self._similar[key]
        for key in [key for key, bucket in self._rate_limiters.items() if bucket.is_full()]:
            del self._rate_limiters[key]

    def _aggregate(self, event: Object) -> tuple[Object, _Key]:
        """Return the event, or one that combines all that differ only in the message, and its key."""
        now, key = self._clock.monotonic(), _aggregate_key(event)
        similar = self._similar.get(key)
        if similar is None or now - similar.at > SIMILAR_SECONDS:
            similar = _AggregateRecord(now)
        message = digest_fields(event["message"])
        if message not in similar.messages:
            similar.messages = (*similar.messages, message)
        similar.at = now
        _store(self._similar, key, similar)
        # Fewer than ten distinct messages within ten minutes are separate events; from the tenth on one event combines
        # them.
        if len(similar.messages) < SIMILAR_MAX:
            return event, _event_key(event)
        # Upstream keeps the set of messages at its maximum by dropping one: the next distinct message is combined
        # again.
        similar.messages = similar.messages[1:]
        return self._combine(event), key

    def _combine(self, event: Object) -> Object:
        """Return the event that combines similar ones."""
        about, moment = event["involvedObject"], render_time(self._clock.now())
        kept = {name: event[name] for name in ("kind", "apiVersion", "type", "reason", "source")}
        return {
            **kept,
            "metadata": {
                "name": self._names.generate(about.get("name", "")),
                "namespace": event["metadata"]["namespace"],
            },
            "involvedObject": about,
            "message": _COMBINED + event["message"],
            "count": 1,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "reportingComponent": "",
            "reportingInstance": "",
        }

    def _observe(self, event: Object, key: _Key) -> EventCorrelateResult:
        """Return the event as new, or as a patch of the equal one that was recorded before."""
        known = self._observed.get(key)
        if known is None:
            self._remember(key, event)
            return EventCorrelateResult(event)
        event = {
            **event,
            "metadata": {**event["metadata"], "name": known.name},
            "firstTimestamp": known.first,
            "count": known.count + 1,
        }
        self._remember(key, event)
        # Only what an equal event changes is patched: upstream sends the two-way merge patch of old and new event.
        return EventCorrelateResult(event, {name: event[name] for name in ("count", "lastTimestamp", "message")})

    def _remember(self, key: _Key, event: ReadOnlyObject) -> None:
        _store(self._observed, key, _EventLog(event["metadata"]["name"], event["firstTimestamp"], event["count"]))

    def _rate_limiter(self, event: ReadOnlyObject) -> BucketRateLimiter:
        # The type is part of the key, so a flood of normal events does not silence warnings.
        key = _make_key(event, *_source_fields(event), event["type"])
        budget = self._rate_limiters.get(key) or BucketRateLimiter(self._clock, PER_SECOND, BURST)
        _store(self._rate_limiters, key, budget)
        return budget


def _store(cache: "OrderedDict[_Key, ValueT]", key: _Key, value: ValueT) -> None:
    """Store a value as the most recently used, and drop the least recently used one beyond the bound."""
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > CACHE_SIZE_MAX:
        cache.popitem(last=False)


def _make_key(event: ReadOnlyObject, *fields: str) -> _Key:
    about = event["involvedObject"]
    names = (about.get(name, "") for name in ("kind", "namespace", "name", "apiVersion"))
    return digest_uid(about.get("uid", "")) + digest_fields(*names, *fields)


def _source_fields(event: ReadOnlyObject) -> tuple[str, ...]:
    source: Any = event.get("source", {})
    return source.get("component", ""), source.get("host", "")


def _aggregate_key(event: ReadOnlyObject) -> _Key:
    reporter = (event["reportingComponent"], event["reportingInstance"])
    return _make_key(event, *_source_fields(event), event["type"], event.get("reason", ""), *reporter)


def _event_key(event: ReadOnlyObject) -> _Key:
    path = event["involvedObject"].get("fieldPath", "")
    content = (event["type"], event.get("reason", ""), event.get("message", ""))
    return _make_key(event, *_source_fields(event), path, *content)
