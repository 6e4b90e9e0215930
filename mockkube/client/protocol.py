"""Client protocol: requests that a component can send to an API server, and their guarantees."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.steps import Signal


class Key(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else f"{self.name}"


def key_of(obj: ReadOnlyObject) -> Key:
    """Return the key of an object."""
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


class WatchEventType(StrEnum):
    """Type of a watch event (of an Event in core/v1, the type is Normal or Warning)."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class WatchEvent(NamedTuple):
    """One change; a deletion carries the last state. The object is shared and never changed in place."""

    type: WatchEventType
    object: ReadOnlyObject


@dataclass(frozen=True, slots=True)
class ObjectList:
    """Objects of a collection, and the resourceVersion from which to watch."""

    items: Sequence[ReadOnlyObject]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of objects: namespace (empty: all), label and field selector in the API's syntax."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


EVERYTHING = Selection()
NO_QUERY: Mapping[str, str] = MappingProxyType({})


class Propagation(StrEnum):
    """Propagation policy of a deletion."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of a deletion; Conflict if the stored object has another `uid` or `resource_version`."""

    uid: str = ""
    resource_version: str = ""
    grace_seconds: int | None = None
    propagation: Propagation | None = None


DELETE_NOW = DeleteOptions(grace_seconds=0)
DELETE_DEFAULT = DeleteOptions()


class Watch(Protocol):
    """Open watch: changes in revision order, each once, without a gap, until it ends."""

    @property
    def signal(self) -> Signal:
        """Notified when there may be something to take; the watcher may replace it by its own."""
        ...

    @signal.setter
    def signal(self, signal: Signal) -> None: ...

    def is_ready(self) -> bool:
        """Return whether `take` returns events or raises."""
        ...

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        """Return the events that have arrived, in order, at most `count_max` of them (0: all).

        Raises Expired when changes were missed: list again. Raises WatchEnded when the watch is over with nothing
        missed: watch again from the last resourceVersion. Both only after all events that arrived were taken.
        """
        ...

    async def close(self) -> None:
        """Stop watching; nothing of the watch runs when this returns."""
        ...


class Heartbeats(NamedTuple):
    """Heartbeats that were sent together: updates that set times alone, the same for each object."""

    keys: Sequence[Key]
    change: ReadOnlyObject
    """Fields that were set, with their parents (`{"spec": {"renewTime": ...}}`)."""


@runtime_checkable
class HeartbeatSkippingWatch(Protocol):
    """Watch that can leave out heartbeats, after which most watchers have nothing to do."""

    def skip_heartbeats(self, *, keep: bool) -> None:
        """Leave out heartbeats from now on, at least some; with `keep`, `take_heartbeats` returns those."""
        ...

    def take_heartbeats(self) -> Sequence[Heartbeats]:
        """Return the heartbeats that were left out before the next event that `take` returns, in order."""
        ...


class WatchEnded(Exception):
    """End of a watch; nothing was missed so far.

    `resource_version` is the last one the server sent, if it is newer than that of the last event (a bookmark).
    """

    def __init__(self, resource_version: str = "") -> None:
        super().__init__(resource_version)
        self.resource_version = resource_version


class Client(Protocol):
    """API server as a component sees it, decoded by the codecs of the server and of the component's version.

    A kind is named as in manifests (`Pod`), or as `Event.events.k8s.io` where two groups have a kind of that name, and
    for custom resources. Server and component determine the API version in use. Returned objects are shared and must
    not be changed; sent objects are copied. Fields that the component's version does not know are missing from what it
    reads, and lost when it sends the object back with `update`.

    Raises the server's errors as `mockkube.api.errors`: NotFound, AlreadyExists, Conflict, Invalid, Forbidden,
    TooManyRequests, ...; Unavailable when the server cannot be reached (the write may have happened or not).
    """

    async def get(self, kind: str, key: Key, *, subresource: str = "") -> ReadOnlyObject:
        """Return the stored object, or its subresource `scale`."""
        ...

    async def get_path(self, path: str, query: Mapping[str, str] = NO_QUERY) -> ReadOnlyObject:
        """Return the JSON at a path that names no object of a kind, such as values of metrics."""
        ...

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Return the selected objects, and the resourceVersion of the list."""
        ...

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        """Watch from a resourceVersion on; raise Expired when that was compacted."""
        ...

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Create the object, or post it to the subresource (binding, eviction) of the object `name`."""
        ...

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Replace the object; Conflict if its resourceVersion is set and is not the stored one."""
        ...

    async def patch(
        self, kind: str, key: Key, patch: object, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Patch the object."""
        ...

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delete the object; it may stay until its finalizers are removed or its grace period is over."""
        ...

    async def delete_collection(self, kind: str, selection: Selection, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delete all selected objects."""
        ...
