"""Delivery of a watch's events: immediate, unless whoever stands before the handlers attaches another one."""

from typing import Any, Final, Protocol

from mockkube.apiserver.http import web
from mockkube.apiserver.registry.watching import CacheWatcher, CacheWatchEvent


class WatchDelivery(Protocol):
    """Decides which events of one watch its client gets, and when."""

    @property
    def start_revision(self) -> int:
        """Revision whose objects a watch begins with that would begin with the present ones; 0: the present ones."""
        ...

    @property
    def is_holding(self) -> bool:
        """True while the client does not get events that have happened."""
        ...

    async def wait(self, watch: CacheWatcher) -> None:
        """Return once there may be events to take, or the watch is over."""
        ...

    async def take_events(self, watch: CacheWatcher) -> list[CacheWatchEvent]:
        """Return the events to write now."""
        ...


class ImmediateDelivery:
    """Delivers every event as soon as it has happened."""

    start_revision = 0
    is_holding = False

    async def wait(self, watch: CacheWatcher) -> None:
        """Wait for events."""
        await watch.wait()

    async def take_events(self, watch: CacheWatcher) -> list[CacheWatchEvent]:
        """Return all events."""
        return await watch.take_converted_events()


_IMMEDIATE: Final = ImmediateDelivery()
# aiohttp 3.14 warns of plain names as keys; older versions have no other keys.
_DELIVERY: Final[Any] = (
    web.RequestKey("watch_delivery", WatchDelivery) if hasattr(web, "RequestKey") else "mockkube.watch_delivery"
)


def set_watch_delivery(request: web.BaseRequest, delivery: WatchDelivery) -> None:
    """Let a delivery decide about the events of the watch that a request opens."""
    request[_DELIVERY] = delivery


def get_watch_delivery(request: web.BaseRequest) -> WatchDelivery:
    """Return the delivery of the watch that a request opens."""
    delivery: WatchDelivery = request.get(_DELIVERY, _IMMEDIATE)
    return delivery
