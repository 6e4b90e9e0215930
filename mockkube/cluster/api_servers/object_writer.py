"""Interface of an API server for objects that the cluster itself creates."""

from typing import Protocol

from mockkube.api.json_objects import Object


class ObjectWriter(Protocol):
    """Interface that writes objects through the API, with defaulting, admission and validation."""

    async def create_object(self, obj: Object) -> Object | None:
        """Create an object; return None and change nothing if its name exists."""
        ...

    async def update_object(self, obj: Object) -> Object:
        """Replace an existing object except its status."""
        ...

    async def update_status(self, obj: Object) -> Object:
        """Replace the status of an existing object."""
        ...
