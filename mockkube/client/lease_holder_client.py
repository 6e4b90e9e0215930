"""Client of what works under a Lease: it writes only while the Lease is held."""

from collections.abc import Callable
from typing import Final

from mockkube.api.errors import Unavailable
from mockkube.client.delegating_client import DelegatingClient
from mockkube.client.protocol import Client

_READS: Final = frozenset(("get", "list", "watch"))


class LeaseHolderClient(DelegatingClient):
    """Client whose writes raise Unavailable once the Lease is lost.

    The check stands before each request, so a process that was suspended for longer than the Lease lasts does not go on
    where it stood.
    """

    def __init__(self, client: Client, holds_lease: Callable[[], bool]) -> None:
        super().__init__(client)
        self._holds_lease = holds_lease

    def _before_request(self, verb: str, kind: str = "", namespace: str = "", name: str = "") -> None:
        if verb not in _READS and not self._holds_lease():
            raise Unavailable("this process does not hold its Lease any more: another one may do its work now")
