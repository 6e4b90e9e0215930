"""History of a cluster's objects, read from the store."""

from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final

import orjson
from mockkube_storage.model import Entry, EventType
from mockkube_storage.store import Store

from mockkube.api.json_objects import Object
from mockkube.apiserver.registry import encoding
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.normalization import NOISE, ObjectId, make_fingerprint
from mockkube.runtime.clock import Clock

_PREFIX: Final = "/registry/"
_STATIC_GROUPS: Final = (".rbac.authorization.k8s.io", ".flowcontrol.apiserver.k8s.io", ".apiregistration.k8s.io")
# Keys of the store that hold no objects of users.
_INTERNAL: Final = ("/registry/mockkube", "/registry/ranges/")


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One change of an object."""

    at: float
    revision: int
    identity: ObjectId
    # The last state, if it was deleted.
    object: Object
    is_deletion: bool
    # Whether more than times and versions has changed.
    has_new_content: bool
    # Whether the object was there before.
    is_known: bool = False

    @property
    def uid(self) -> str:
        """Uid of the object."""
        return str(self.object["metadata"].get("uid", ""))

    @property
    def is_terminating(self) -> bool:
        """True if its deletion has begun, but not ended."""
        return not self.is_deletion and "deletionTimestamp" in self.object["metadata"]


class ObjectHistory:
    """Changes of all objects since the history began."""

    def __init__(self, clock: Clock, on_change: Callable[[RecordedChange], None]) -> None:
        self.changes: list[RecordedChange] = []
        self._clock, self._on_change = clock, on_change
        self._fingerprints: dict[ObjectId, bytes] = {}
        self._current: dict[ObjectId, Object] = {}
        self._revision = 0

    @property
    def current(self) -> Mapping[ObjectId, Object]:
        """Objects as they are now; of the many that API servers create for themselves, only those that have changed."""
        return self._current

    async def start(self, store: Store) -> None:
        """Begin with what the store holds."""
        page = await store.list(_PREFIX)
        self._revision = page.revision
        for entry in page.entries:
            if (decoded := _decode(entry)) is not None:
                if not decoded[0].resource.endswith(_STATIC_GROUPS):
                    self._current[decoded[0]] = decoded[1]
                self._fingerprints[decoded[0]] = make_fingerprint(decoded[1])

    async def follow(self, store: Store) -> None:
        """Record changes until cancelled."""
        async with aclosing(store.watch(_PREFIX, after=self._revision)) as watch:
            async for events in watch:
                for event in events:
                    self._revision = event.revision
                    self._record(event.entry, is_deletion=event.type is EventType.DELETE)

    def _record(self, entry: Entry, *, is_deletion: bool) -> None:
        if (decoded := _decode(entry)) is None:
            return
        identity, obj = decoded
        is_known = identity in self._fingerprints
        if is_deletion:
            self._current.pop(identity, None)
            has_new_content = True
            self._fingerprints.pop(identity, None)
        else:
            self._current[identity] = obj
            fingerprint = make_fingerprint(obj)
            has_new_content = self._fingerprints.get(identity) != fingerprint
            self._fingerprints[identity] = fingerprint
        change = RecordedChange(
            self._clock.monotonic(), entry.revision, identity, obj, is_deletion, has_new_content, is_known
        )
        self.changes.append(change)
        self._on_change(change)

    @property
    def revision(self) -> int:
        """Revision of the last change."""
        return self._revision

    def find_last(self, identity: ObjectId) -> RecordedChange | None:
        """Return the last change of an object."""
        return next((one for one in reversed(self.changes) if one.identity == identity), None)


def _decode(entry: Entry) -> tuple[ObjectId, Object] | None:
    """Return identity and object of an entry; None for what is no object."""
    if entry.key.startswith(_INTERNAL) or entry.key.count("/") < 4:
        return None
    try:
        obj = orjson.loads(encoding.decode_stored(entry.value, entry.revision)[1])
    except ValueError:
        return None
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict) or "kind" not in obj:
        return None
    identity = ObjectId.from_key(entry.key)
    return identity, obj


def is_noise(identity: ObjectId) -> bool:
    """Return whether changes of an object say nothing about the work of a controller."""
    return identity.resource in NOISE
