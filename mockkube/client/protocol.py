"""What a component may ask of an API server, and what it can count on."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.runtime.steps import Bell


class Key(NamedTuple):
    """Which object of a kind; the namespace is empty for kinds without one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else f"{self.name}"


def key_of(obj: ReadOnlyObject) -> Key:
    """Return the key of an object."""
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


class EventType(StrEnum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class WatchEvent(NamedTuple):
    """One change; a deletion shows the last state. The object is shared: it is never changed in place."""

    type: EventType
    object: ReadOnlyObject


@dataclass(frozen=True, slots=True)
class Listed:
    """The objects of a collection, and the resourceVersion from which a watch goes on."""

    items: Sequence[ReadOnlyObject]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind: a namespace (empty: all), label and field selectors in the syntax of the API."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


EVERYTHING = Selection()


class PatchType(StrEnum):
    """The media types of patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Propagation(StrEnum):
    """What becomes of dependents when their owner is deleted."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Deletion:
    """How to delete; a `uid` or `resource_version` that is not that of the stored object is a Conflict."""

    uid: str = ""
    resource_version: str = ""
    grace_seconds: int | None = None
    propagation: Propagation | None = None


NOW = Deletion(grace_seconds=0)
DEFAULT = Deletion()


class Watch(Protocol):
    """An open watch: changes in revision order, each once, without a gap, until it ends."""

    @property
    def bell(self) -> Bell:
        """Rings when there may be something to take. Whoever takes may put a bell of its own here."""
        ...

    @bell.setter
    def bell(self, bell: Bell) -> None: ...

    def ready(self) -> bool:
        """Whether `take` has something, or would raise."""
        ...

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        """Return what has arrived, in order, at most `count_max` of it (0: all).

        Raises Expired when changes were missed: list again. Raises Ended when the watch is over with nothing missed:
        watch again from the last resourceVersion seen. Either only after everything that arrived was taken.
        """
        ...

    async def close(self) -> None:
        """Stop; nothing of it runs afterwards."""
        ...


class Ended(Exception):
    """A watch is over; nothing was missed so far.

    `resource_version` is how far it came, where the server told more than the events did; empty where it did not.
    """

    def __init__(self, resource_version: str = "") -> None:
        super().__init__(resource_version)
        self.resource_version = resource_version


class Client(Protocol):
    """An API server as a component sees it: through the server's codec, then through that of the component's version.

    A kind is named as in manifests (`Pod`); where two groups have one of the same name, or for a custom resource, as
    `Event.events.k8s.io`. Which version is spoken follows from the server and the component. Objects returned are
    shared and only read; what is sent is copied. Fields the component's version does not know are absent from what it
    sees, and lost when it sends the object back with `update`.

    Raises what the server answers, as `mockkube.api.errors`: NotFound, AlreadyExists, Conflict, Invalid, Forbidden,
    TooManyRequests, ...; Unavailable when the server cannot be reached (then it is unknown whether a write happened).
    """

    async def get(self, kind: str, key: Key) -> ReadOnlyObject:
        """Return the object as it is at the server now."""
        ...

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> Listed:
        """Return the selected objects as of now."""
        ...

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        """Watch from a resourceVersion on. Raises Expired when that is too long ago."""
        ...

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Create the object, or post it to the subresource of the object called `name` (binding, eviction)."""
        ...

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Replace the object; Conflict unless its resourceVersion, if it has one, is the stored one."""
        ...

    async def patch(
        self, kind: str, key: Key, patch: object, *, media: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Change the object."""
        ...

    async def delete(self, kind: str, key: Key, how: Deletion = DEFAULT) -> None:
        """Ask for the deletion; the object may stay for its finalizers or its grace period."""
        ...

    async def delete_collection(self, kind: str, selection: Selection, how: Deletion = DEFAULT) -> None:
        """Delete all selected objects."""
        ...
