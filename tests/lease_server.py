"""Server of Leases and other objects in memory, and clients that tests cut off from it."""

from typing import Any

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import (
    DELETE_DEFAULT,
    EVERYTHING,
    DeleteOptions,
    Key,
    ObjectList,
    Selection,
    WatchEnded,
    WatchEvent,
    WatchEventType,
    key_of,
)
from mockkube.runtime.steps import Signal


class LeaseServer:
    """Keeps objects; an update needs the resourceVersion that is stored."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, Key], Object] = {}
        self.version = 0
        self.events: list[tuple[str, WatchEvent]] = []
        self.watches: dict[LeaseWatch, None] = {}

    def write(self, kind: str, obj: Object) -> Object:
        """Store an object under a new resourceVersion."""
        self.version += 1
        metadata = {"uid": f"uid-{self.version}", **obj["metadata"], "resourceVersion": str(self.version)}
        is_new = (kind, key_of(obj)) not in self.objects
        stored = self.objects[kind, key_of(obj)] = {**obj, "metadata": metadata}
        self._send(kind, WatchEvent(WatchEventType.ADDED if is_new else WatchEventType.MODIFIED, stored))
        return stored

    def delete(self, kind: str, key: Key) -> None:
        """Delete a stored object."""
        self.version += 1
        obj = self.objects.pop((kind, key))
        last = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        self._send(kind, WatchEvent(WatchEventType.DELETED, last))

    def _send(self, kind: str, event: WatchEvent) -> None:
        self.events.append((kind, event))
        for watch in self.watches:
            watch.receive(kind, event)

    def get(self, kind: str, key: Key) -> Object:
        """Return the stored object."""
        if (kind, key) not in self.objects:
            raise NotFound.for_object("", kind, key.name)
        return self.objects[kind, key]


class LeaseWatch:
    """Watch of one client, which may hold its events back."""

    def __init__(self, client: "LeaseServerClient", kind: str, selection: Selection, after: str) -> None:
        self.signal = Signal()
        self.client, self._kind, self._selection = client, kind, selection
        self._pending: list[WatchEvent] = []
        self._is_broken = False
        for stored, event in client.server.events:
            if int(event.object["metadata"]["resourceVersion"]) > int(after):
                self.receive(stored, event)
        client.server.watches[self] = None

    def receive(self, kind: str, event: WatchEvent) -> None:
        """Keep an event that is selected."""
        if kind == self._kind and _is_selected(event.object, self._selection) and not self._is_broken:
            self._pending.append(event)
            self.signal.notify()

    def end(self) -> None:
        """Break the connection; events that have not arrived come with the next watch."""
        self._pending.clear()
        self._is_broken = True
        self.signal.notify()

    def is_ready(self) -> bool:
        return self._is_broken or (bool(self._pending) and not self.client.holds_events)

    def take(self, count_max: int = 0) -> list[WatchEvent]:
        if self._is_broken:
            raise WatchEnded
        events, self._pending = self._pending, []
        return events

    async def close(self) -> None:
        self.client.server.watches.pop(self, None)


def _is_selected(obj: ReadOnlyObject, selection: Selection) -> bool:
    """Return whether an object is in the namespace, with the one label and the name that are selected, if any."""
    label, _, value = selection.labels.partition("=")
    name = selection.fields.removeprefix("metadata.name=")
    return (
        obj["metadata"].get("namespace", "") == selection.namespace
        and (not label or obj["metadata"].get("labels", {}).get(label) == value)
        and name in ("", obj["metadata"]["name"])
    )


class LeaseServerClient:
    """Client of one process."""

    def __init__(self, server: LeaseServer) -> None:
        self.server = server
        # Raised instead of an answer to a list or a watch.
        self.watch_error: ApiError | None = None
        # Whether events of watches are held back.
        self.holds_events = False
        # Raised instead of an answer, before anything is written.
        self.error: ApiError | None = None
        # Whether what is written gets no answer.
        self.loses_answers = False

    def cut_off(self) -> None:
        """Answer no request any more, and let watches hang."""
        self.error, self.holds_events = Unavailable("no route to the server"), True

    def connect(self) -> None:
        """Answer requests again, and deliver events."""
        self.error, self.loses_answers = None, False
        self.deliver_events()

    def deliver_events(self) -> None:
        """Deliver events that were held back, and later ones when they happen."""
        self.holds_events = False

    def break_watches(self) -> None:
        """End all watches."""
        for watch in list(self.server.watches):
            if watch.client is self:
                watch.end()

    def _answer(self, stored: Object) -> Object:
        if self.loses_answers:
            raise Unavailable("the answer is lost")
        return stored

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    async def get(self, kind: str, key: Key, **_: Any) -> ReadOnlyObject:
        self._check()
        return self.server.get(kind, key)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Return the selected objects."""
        self._check()
        if self.watch_error is not None and selection.fields:
            raise self.watch_error
        items = [
            obj for (stored, _), obj in self.server.objects.items() if stored == kind and _is_selected(obj, selection)
        ]
        return ObjectList(items, str(self.server.version))

    async def watch(self, kind: str, selection: Selection, after: str) -> LeaseWatch:
        self._check()
        if self.watch_error is not None:
            raise self.watch_error
        return LeaseWatch(self, kind, selection, after)

    async def create(self, kind: str, obj: Object, **_: Any) -> ReadOnlyObject:
        self._check()
        if (kind, key_of(obj)) in self.server.objects:
            raise AlreadyExists.for_object("", kind, obj["metadata"]["name"])
        return self._answer(self.server.write(kind, obj))

    async def update(self, kind: str, obj: Object, **_: Any) -> ReadOnlyObject:
        self._check()
        stored = self.server.get(kind, key_of(obj))["metadata"]
        if stored["resourceVersion"] != obj["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified")
        return self._answer(self.server.write(kind, {**obj, "metadata": {**obj["metadata"], "uid": stored["uid"]}}))

    async def patch(self, kind: str, key: Key, patch: Any, **_: Any) -> ReadOnlyObject:
        """Replace fields of an object."""
        self._check()
        return self._answer(self.server.write(kind, {**self.server.get(kind, key), **patch}))

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        self._check()
        stored = self.server.get(kind, key)["metadata"]
        if options.resource_version not in ("", stored["resourceVersion"]):
            raise Conflict("the object has been modified")
        self.server.delete(kind, key)
