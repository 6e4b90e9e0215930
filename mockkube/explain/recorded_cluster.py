"""Recorded objects of a cluster, and schedulers that read them: decide again without writing anything."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any, Final

import orjson
from prometheus_client import CollectorRegistry

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import EVERYTHING, Client, ObjectList, Selection, WatchEvent, key_of
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import NEWEST, Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_extensions import make_schema
from mockkube.proposals.loading import trains_for
from mockkube.runtime.clock import Clock
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.scheduler import Scheduler, build

SCHEDULER_NAME: Final = "kube-scheduler"
_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class RecordedCluster:
    """All objects that schedulers read, by kind, as an API server returns them."""

    objects: Mapping[str, tuple[ReadOnlyObject, ...]]
    # The API server through which schedulers read the objects; None: objects are not decoded in between.
    server: Capabilities | None = None
    # Decoded objects by scheduler version and kind. Release trains need no key: one cluster has one set of them.
    _decoded: dict[tuple[Version, str], tuple[ReadOnlyObject, ...]] = field(default_factory=dict)

    @classmethod
    async def from_client(cls, client: Client, caps: Capabilities, clock: Clock) -> "RecordedCluster":
        """Record a cluster; the client should return objects without dropping fields."""
        objects = {}
        for kind in _recorded_kinds(caps):
            try:
                objects[kind] = tuple((await client.list(kind)).items)
            # A server of an older version does not serve every kind that the newest scheduler watches.
            except NotFound:
                objects[kind] = ()
        return cls(objects)

    def with_replaced(self, kind: str, changed: ReadOnlyObject) -> "RecordedCluster":
        """Return the same cluster with one object replaced."""
        key = key_of(changed)
        objects = tuple(changed if key_of(obj) == key else obj for obj in self.objects[kind])
        return self._with_objects(kind, objects)

    def with_added(self, kind: str, obj: ReadOnlyObject) -> "RecordedCluster":
        """Return the same cluster with one more object."""
        return self._with_objects(kind, (*self.objects[kind], obj))

    def without(self, kind: str, uid: str) -> "RecordedCluster":
        """Return the same cluster without one object."""
        objects = tuple(obj for obj in self.objects[kind] if obj["metadata"].get("uid") != uid)
        return self._with_objects(kind, objects)

    def _with_objects(self, kind: str, objects: tuple[ReadOnlyObject, ...]) -> "RecordedCluster":
        """Return the same cluster with other objects of one kind; decoded objects of other kinds stay cached."""
        decoded_others = {at: found for at, found in self._decoded.items() if at[1] != kind}
        return RecordedCluster({**self.objects, kind: objects}, self.server, decoded_others)

    def decoded(self, kind: str, caps: Capabilities) -> tuple[ReadOnlyObject, ...]:
        """Return the objects of a kind as a scheduler decodes them."""
        found = self._decoded.get((caps.version, kind))
        if found is None:
            objects = self.objects.get(kind, ())
            found = self._decoded[caps.version, kind] = tuple(self.decode(obj, caps) for obj in objects)
        return found

    def decode(self, obj: ReadOnlyObject, caps: Capabilities) -> Object:
        """Return an object of this cluster as a scheduler decodes it."""
        through = obj if self.server is None else decode_copy(obj, decoder_for(self.server))
        return decode_copy(through, decoder_for(caps))


def decoder_for(caps: Capabilities) -> VersionedDecoder:
    """Return the decoder of a component's version."""
    return VersionedDecoder(make_schema(caps.version, trains_for(caps)))


def decode_copy(obj: ReadOnlyObject, decoder: VersionedDecoder) -> Object:
    """Return a decoded copy of an object; the original is not changed."""
    group, _, version = obj["apiVersion"].rpartition("/")
    # The decoder drops fields in place, and recorded objects are shared; orjson copies faster than deepcopy.
    copy: Object = orjson.loads(orjson.dumps(obj))
    return decoder.decoder_for(group, version, obj["kind"])(copy)


def _recorded_kinds(caps: Capabilities) -> Iterable[str]:
    """Return the kinds that schedulers watch, at this version or the newest."""
    # Proposals of installed packages may not be hashable.
    return _find_kinds(caps) if caps.trains else _find_kinds_once(caps.version, caps.gates)


@lru_cache(maxsize=64)
def _find_kinds_once(version: Version, gates: frozenset[str]) -> Iterable[str]:
    return _find_kinds(Capabilities(version, gates))


def _find_kinds(caps: Capabilities) -> Iterable[str]:
    nothing: Any = _RecordedClient(RecordedCluster({}), caps)
    # Attempts with newer versions need kinds that this version does not watch, so they are recorded, too.
    newest = Capabilities(NEWEST, enabled_gates(NEWEST, component=SCHEDULER_NAME), caps.trains)
    schedulers = (build(_scheduler_dependencies(nothing, each, VirtualClock())) for each in (caps, newest))
    return tuple(dict.fromkeys(cache.kind for scheduler in schedulers for cache in scheduler.informers.workers))


async def build_scheduler(
    recording: RecordedCluster, caps: Capabilities, clock: Clock, configuration: ReadOnlyObject | None = None
) -> Scheduler:
    """Return a scheduler whose caches hold the recorded objects; it decides and writes nothing."""
    client: Any = _RecordedClient(recording, caps)
    scheduler = build(_scheduler_dependencies(client, caps, clock), configuration)
    # The first step of an informer lists; the watch behind it never delivers, so one step is enough.
    for cache in scheduler.informers.workers:
        await cache.step()
    return scheduler


def _scheduler_dependencies(
    client: Client, caps: Capabilities, clock: Clock
) -> ComponentDependencies[Client, Capabilities]:
    chance = Random.from_seed(_SEED, SCHEDULER_NAME)
    return ComponentDependencies(SCHEDULER_NAME, client, caps, clock, chance, CollectorRegistry(), lambda node: True)


class _RecordedClient:
    """As much of a client as informers need: lists the recorded objects, and no change follows."""

    def __init__(self, recording: RecordedCluster, caps: Capabilities) -> None:
        self._recording, self._caps = recording, caps

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Return the recorded objects of a kind."""
        return ObjectList(self._recording.decoded(kind, self._caps), "0")

    async def watch(self, kind: str, selection: Selection, after: str) -> "_EmptyWatch":
        """Return a watch without events."""
        return _EmptyWatch()


class _EmptyWatch:
    """Watch without events."""

    def __init__(self) -> None:
        self.signal = Signal()

    def is_ready(self) -> bool:
        return False

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        return []

    async def close(self) -> None: ...
