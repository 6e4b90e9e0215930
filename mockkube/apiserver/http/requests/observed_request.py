"""A request and its answer, as an observer of a cluster sees them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiohttp import web


@dataclass(slots=True)
class ObservedRequest:
    """One request; `status` and `body` are filled in while it is answered."""

    at: datetime
    verb: str
    # User that it acts as: its own, or the one it impersonates; empty without valid credentials.
    user: str
    user_agent: str
    # Whether a component of the cluster sent it, without HTTP.
    is_from_component: bool
    path: str = ""
    # Fields that the request does not name are empty.
    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    # Code of the answer; 0 until there is one. A watch over HTTP is answered when it ends.
    status: int = 0
    body: bytes = b""
    content_type: str = ""


_CURRENT: Final[ContextVar[ObservedRequest | None]] = ContextVar("observed_request", default=None)


@contextmanager
def observing(observed: ObservedRequest | None) -> Iterator[None]:
    """Let the code that reads the body of a request find its observation."""
    token = _CURRENT.set(observed)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def set_body(request: web.BaseRequest, body: bytes) -> None:
    """Record the body of a request, if it is observed."""
    observed = _CURRENT.get()
    if observed is not None:
        observed.body, observed.content_type = body, request.headers.get("Content-Type", "")
