"""A cluster as it was at one moment, and schedulers that see it: to decide again, with one thing changed, as often as
one likes. Nothing of it writes anywhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from prometheus_client import CollectorRegistry

from mockkube.api.errors import NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import EVERYTHING, Client, Listed, Selection, WatchEvent, key_of
from mockkube.client.sight import VersionedDecoder
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import effective
from mockkube.features.versions import NEWEST, Version
from mockkube.proposals.lending import make_schema
from mockkube.proposals.outside import trains_for
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.part import Context
from mockkube.runtime.steps import Signal
from mockkube.scheduler.scheduler import Scheduler, build

NAME: Final = "kube-scheduler"
_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Recording:
    """All objects that schedulers look at, by kind, as an API server shows them."""

    objects: Mapping[str, tuple[ReadOnlyObject, ...]]
    server: Capabilities | None = None
    """The API server that schedulers see them through; None: one that shows them as they were recorded."""
    _seen: dict[tuple[Version, str], tuple[ReadOnlyObject, ...]] = field(default_factory=dict)
    """What schedulers of each version see of them; all go by the same trains."""

    @classmethod
    async def of(cls, client: Client, caps: Capabilities, clock: Clock) -> "Recording":
        """Record a cluster; the client should show objects as the server does, with nothing left out."""
        objects = {}
        for kind in _kinds(caps, clock):
            try:
                objects[kind] = tuple((await client.list(kind)).items)
            except NotFound:
                objects[kind] = ()
        return cls(objects)

    def replacing(self, kind: str, changed: ReadOnlyObject) -> "Recording":
        """Return the same cluster with one object as it might be."""
        key = key_of(changed)
        objects = tuple(changed if key_of(obj) == key else obj for obj in self.objects[kind])
        return self._with(kind, objects)

    def adding(self, kind: str, obj: ReadOnlyObject) -> "Recording":
        """Return the same cluster with one object more."""
        return self._with(kind, (*self.objects[kind], obj))

    def without(self, kind: str, uid: str) -> "Recording":
        """Return the same cluster without one object."""
        objects = tuple(obj for obj in self.objects[kind] if obj["metadata"].get("uid") != uid)
        return self._with(kind, objects)

    def _with(self, kind: str, objects: tuple[ReadOnlyObject, ...]) -> "Recording":
        """Return the same cluster with other objects of a kind; what is seen of the other kinds stays known."""
        seen = {at: found for at, found in self._seen.items() if at[1] != kind}
        return Recording({**self.objects, kind: objects}, self.server, seen)

    def seen(self, kind: str, caps: Capabilities) -> tuple[ReadOnlyObject, ...]:
        """Return what a scheduler sees of a kind."""
        found = self._seen.get((caps.version, kind))
        if found is None:
            objects = self.objects.get(kind, ())
            found = self._seen[caps.version, kind] = tuple(self.shown(obj, caps) for obj in objects)
        return found

    def shown(self, obj: ReadOnlyObject, caps: Capabilities) -> Object:
        """Return what a scheduler sees of an object of this cluster."""
        through = obj if self.server is None else see(obj, sight_of(self.server))
        return see(through, sight_of(caps))


def sight_of(caps: Capabilities) -> VersionedDecoder:
    """Return the types that a component knows."""
    return VersionedDecoder(make_schema(caps.version, trains_for(caps)))


def see(obj: ReadOnlyObject, sight: VersionedDecoder) -> Object:
    """Return what a component sees of an object; the object stays as it is."""
    group, _, version = obj["apiVersion"].rpartition("/")
    copy: Object = orjson.loads(orjson.dumps(obj))
    return sight.lens(group, version, obj["kind"])(copy)


def _kinds(caps: Capabilities, clock: Clock) -> Iterable[str]:
    """Return the kinds that schedulers look at, now and at any other version."""
    nothing: Any = _Still(Recording({}), caps)
    newest = Capabilities(NEWEST, effective(NEWEST, component=NAME), caps.trains)
    schedulers = (build(_context(nothing, each, clock)) for each in (caps, newest))
    return dict.fromkeys(cache.kind for scheduler in schedulers for cache in scheduler.caches.workers)


async def scheduler_of(
    recording: Recording, caps: Capabilities, clock: Clock, configuration: ReadOnlyObject | None = None
) -> Scheduler:
    """Return a scheduler that knows what was recorded, and decides without acting."""
    client: Any = _Still(recording, caps)
    scheduler = build(_context(client, caps, clock), configuration)
    for cache in scheduler.caches.workers:
        await cache.step()
    return scheduler


def _context(client: Client, caps: Capabilities, clock: Clock) -> Context[Client, Capabilities]:
    chance = Chance.from_seed(_SEED, NAME)
    return Context(NAME, client, caps, clock, chance, CollectorRegistry(), lambda node: True)


class _Still:
    """As much of a client as caches need: what was recorded is listed, and then nothing happens."""

    def __init__(self, recording: Recording, caps: Capabilities) -> None:
        self._recording, self._caps = recording, caps

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> Listed:
        """Return what was recorded."""
        return Listed(self._recording.seen(kind, self._caps), "0")

    async def watch(self, kind: str, selection: Selection, after: str) -> "_Silence":
        """Return a watch on which nothing arrives."""
        return _Silence()


class _Silence:
    def __init__(self) -> None:
        self.bell = Signal()

    def ready(self) -> bool:
        """Say that nothing has arrived."""
        return False

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        """Return nothing."""
        return []

    async def close(self) -> None:
        """Do nothing: there is nothing to stop."""
