"""Observers of request bodies: the audit log and the observer of a cluster see the body that a handler has read."""

from collections.abc import Callable
from typing import Any, Final

from mockkube.apiserver.http import web

BodyObserver = Callable[[bytes, str], None]
"""Function that is called with the body of a request and its media type."""

# aiohttp 3.14 warns of plain names as keys; older versions have no other keys.
_OBSERVERS: Final[Any] = (
    web.RequestKey("body_observers", list[BodyObserver]) if hasattr(web, "RequestKey") else "mockkube.body_observers"
)


def add_body_observer(request: web.BaseRequest, observer: BodyObserver) -> None:
    """Call the observer as soon as the body of the request has been read; never, if no handler reads it."""
    request.setdefault(_OBSERVERS, []).append(observer)


def notify_body_observers(request: web.BaseRequest, body: bytes) -> None:
    """Pass the body of a request to its observers."""
    if not len(request):  # nearly always: looking up a missing key raises an error within
        return
    for observer in request.get(_OBSERVERS, ()):
        observer(body, request.headers.get("Content-Type", ""))
