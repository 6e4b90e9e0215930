"""Client of what works under a Lease: it writes only while the Lease is held."""

from collections.abc import Callable

from mockkube.api.errors import Unavailable
from mockkube.client.delegating_client import DelegatingClient
from mockkube.client.protocol import Client


class LeaseHolderClient(DelegatingClient):
    """Client whose writes raise Unavailable once the Lease is lost.

    The check stands before each request, so a process that was suspended for longer than the Lease lasts does not go on
    where it stood.
    """

    def __init__(self, client: Client, holds_lease: Callable[[], bool]) -> None:
        super().__init__(client)
        self._holds_lease = holds_lease

    def _before_request(self, *, is_write: bool) -> None:
        if is_write and not self._holds_lease():
            raise Unavailable("this process does not hold its Lease any more: another one may do its work now")
