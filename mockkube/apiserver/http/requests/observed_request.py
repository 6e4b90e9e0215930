"""A request and its answer, as an observer of a cluster sees them."""

from datetime import datetime

from mockkube.lazy_dataclasses import dataclass


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
    # Whether it allows an answer from a cache that lags behind: resourceVersion=0.
    from_cache: bool = False
    # Code of the answer; 0 until there is one. A watch over HTTP is answered when it ends.
    status: int = 0
    body: bytes = b""
    content_type: str = ""

    def set_body(self, body: bytes, content_type: str) -> None:
        """Record the body."""
        self.body, self.content_type = body, content_type
