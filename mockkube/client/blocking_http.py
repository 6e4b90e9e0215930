"""GET requests without an event loop, for commands that read a few pages and end: aiohttp is slow to import."""

from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ssl import SSLContext
from typing import Any
from urllib.parse import urlencode, urlsplit

from mockkube.api.json_objects import Object
from mockkube.client.kubeconfig import RestConfig
from mockkube.lazy_dataclasses import dataclass


class NoResponseError(Exception):
    """Error for a server that does not answer."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Status and body of a response."""

    status: int
    body: bytes


class _TlsConnection(HTTPSConnection):
    """Connection that expects the kubeconfig's name in the certificate of the server."""

    def __init__(self, host: str, port: int | None, seconds: float, tls: SSLContext, server_name: str) -> None:
        super().__init__(host, port, timeout=seconds, context=tls)
        self._tls, self._server_name = tls, server_name

    def connect(self) -> None:
        """Connect and verify the certificate."""
        HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)


class BlockingHttpClient:
    """Client of the server of a kubeconfig; raises KubeconfigError if its certificates cannot be read."""

    def __init__(self, config: RestConfig) -> None:
        self.server = config.server
        self._config = config
        self._tls = config.tls()

    def get(self, path: str, *, seconds: float, accept: str = "application/json") -> HttpResponse:
        """Return the response to a GET request; raise NoResponseError if there is none."""
        root = urlsplit(self.server).path.rstrip("/")
        try:
            with closing(self._connect(seconds)) as connection:
                connection.request("GET", root + path, headers={"Accept": accept, **self._config.headers})
                response = connection.getresponse()
                return HttpResponse(response.status, response.read())
        except (OSError, HTTPException, ValueError) as error:
            raise NoResponseError(f"{self.server} does not answer: {error or type(error).__name__}") from None

    def _connect(self, seconds: float) -> HTTPConnection:
        server = urlsplit(self.server)
        host = server.hostname or ""
        if self._tls is None:
            return HTTPConnection(host, server.port, timeout=seconds)
        return _TlsConnection(host, server.port, seconds, self._tls, self._config.server_name or host)


def list_objects(
    get: Callable[[str], Object | None], api_version: str, plural: str, kind: str, *, page_size: int
) -> Iterator[Object]:
    """Yield every object of a resource, page by page; stop where `get` returns None for a path."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    query: dict[str, Any] = {"limit": page_size}
    while (page := get(f"{root}/{plural}?{urlencode(query)}")) is not None:
        for item in page.get("items") or ():
            # Items of a list carry neither kind nor apiVersion.
            yield {**item, "apiVersion": api_version, "kind": kind}
        token = (page.get("metadata") or {}).get("continue")
        if not token:
            return
        query["continue"] = token
