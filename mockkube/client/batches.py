"""Requests for many objects, sent together by clients that can."""

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key


@runtime_checkable
class BatchClient(Protocol):
    """Client that sends many requests for less than one by one."""

    async def repeat_all(self, kind: str, keys: Sequence[Key], change: Object) -> Sequence[Key]:
        """Repeat this client's last update of each object with other times, which `change` has in their place.

        Returns the keys of the objects that have to be updated one by one, because somebody else has written them
        since, or for any other reason.
        """
        ...

    async def create_all(self, kind: str, objects: Sequence[Object]) -> Sequence[Exception | None]:
        """Create objects, each like `Client.create`; return what that raises for each."""
        ...


async def repeat_all(client: Client, kind: str, keys: Sequence[Key], change: Object) -> Sequence[Key]:
    """Repeat a client's last updates, like `BatchClient.repeat_all`; return all keys if the client cannot."""
    return await client.repeat_all(kind, keys, change) if isinstance(client, BatchClient) else keys


async def try_update(client: Client, kind: str, obj: Object) -> ReadOnlyObject | Exception:
    """Replace an object; return what `Client.update` returns or raises."""
    try:
        return await client.update(kind, obj)
    except Exception as error:  # the caller handles it as that of one object
        return error


async def create_all(client: Client, kind: str, objects: Sequence[Object]) -> Sequence[Exception | None]:
    """Create objects at the same time, each like `Client.create`; return what that raises for each."""
    if isinstance(client, BatchClient):
        return await client.create_all(kind, objects)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(try_create(client, kind, obj)) for obj in objects]
    return [task.result() for task in tasks]


async def try_create(client: Client, kind: str, obj: Object) -> Exception | None:
    """Create an object; return what `Client.create` raises."""
    try:
        await client.create(kind, obj)
    except Exception as error:  # the caller handles it as that of one object
        return error
    return None
