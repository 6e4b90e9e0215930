"""Client with a token bucket per controller, as upstream's clients have one.

A step must not sleep. So a controller may overdraw its bucket within a step, and its worker takes no further step until
the debt is repaid: the sustained rate is the same.
"""

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import (
    DELETE_DEFAULT,
    EVERYTHING,
    Client,
    DeleteOptions,
    Key,
    ObjectList,
    Selection,
    Watch,
)
from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import RateLimiter


class RateLimitedClient:
    """Client that takes one token per request; without a bucket there is no limit."""

    def __init__(self, client: Client, clock: Clock, bucket: RateLimiter | None) -> None:
        self._client, self._clock, self._bucket = client, clock, bucket
        # The controller may take its next step from this time on.
        self.ready_at = clock.monotonic()

    def _take_token(self) -> None:
        if self._bucket is not None:
            self.ready_at = self._clock.monotonic() + self._bucket.when(self)

    async def get(self, kind: str, key: Key) -> ReadOnlyObject:
        """Take a token, then `Client.get`."""
        self._take_token()
        return await self._client.get(kind, key)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Take a token, then `Client.list`."""
        self._take_token()
        return await self._client.list(kind, selection)

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        """Take a token, then `Client.watch`."""
        self._take_token()
        return await self._client.watch(kind, selection, after)

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Take a token, then `Client.create`."""
        self._take_token()
        return await self._client.create(kind, obj, subresource=subresource, name=name)

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Take a token, then `Client.update`."""
        self._take_token()
        return await self._client.update(kind, obj, subresource=subresource)

    async def patch(
        self, kind: str, key: Key, patch: object, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Take a token, then `Client.patch`."""
        self._take_token()
        return await self._client.patch(kind, key, patch, patch_type=patch_type, subresource=subresource)

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Take a token, then `Client.delete`."""
        self._take_token()
        await self._client.delete(kind, key, options)

    async def delete_collection(self, kind: str, selection: Selection, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Take a token, then `Client.delete_collection`."""
        self._take_token()
        await self._client.delete_collection(kind, selection, options)
