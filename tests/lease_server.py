"""Server of Leases and other objects in memory, and clients that tests cut off from it."""

from typing import Any

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import DELETE_DEFAULT, EVERYTHING, DeleteOptions, Key, ObjectList, Selection, key_of


class LeaseServer:
    """Keeps objects; an update needs the resourceVersion that is stored."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, Key], Object] = {}
        self.version = 0

    def write(self, kind: str, obj: Object) -> Object:
        """Store an object under a new resourceVersion."""
        self.version += 1
        metadata = {"uid": f"uid-{self.version}", **obj["metadata"], "resourceVersion": str(self.version)}
        stored = self.objects[kind, key_of(obj)] = {**obj, "metadata": metadata}
        return stored

    def get(self, kind: str, key: Key) -> Object:
        """Return the stored object."""
        if (kind, key) not in self.objects:
            raise NotFound.for_object("", kind, key.name)
        return self.objects[kind, key]


class LeaseServerClient:
    """Client of one process."""

    def __init__(self, server: LeaseServer) -> None:
        self.server = server
        # Raised instead of an answer, before anything is written.
        self.error: ApiError | None = None
        # Whether what is written gets no answer.
        self.loses_answers = False

    def cut_off(self) -> None:
        """Answer no request any more."""
        self.error = Unavailable("no route to the server")

    def connect(self) -> None:
        """Answer requests again."""
        self.error, self.loses_answers = None, False

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
        """Return the objects of a namespace with the one label that is selected."""
        self._check()
        name, _, value = selection.labels.partition("=")
        items = [
            obj
            for (stored, key), obj in self.server.objects.items()
            if stored == kind
            and key.namespace == selection.namespace
            and obj["metadata"].get("labels", {}).get(name) == value
        ]
        return ObjectList(items, str(self.server.version))

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

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        self._check()
        stored = self.server.get(kind, key)["metadata"]
        if options.resource_version not in ("", stored["resourceVersion"]):
            raise Conflict("the object has been modified")
        self.server.version += 1
        del self.server.objects[kind, key]
