"""HTTP client for admission and conversion webhooks: post a review over TLS, parse the JSON response."""

# upstream 1.36: apiserver/pkg/util/webhook/client.go, client-go/rest/request.go
import base64
import os
import posixpath
import ssl
from collections.abc import Callable
from typing import Any, Final

import aiohttp
import orjson
from cachetools import LRUCache
from yarl import URL

from mockkube.api.decoding import documents
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.registry.webhook_calls import WebhookCallError
from mockkube.client.tls import make_client_tls_context
from mockkube.runtime.tracing import current_span

_CONTEXTS_MAX: Final = 64
_RESPONSE_BYTES_MAX: Final = 3 * 1024 * 1024
_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, */*",
    "User-Agent": "kube-apiserver-admission",
}
_PORT: Final = 443
_UNKNOWN_AUTHORITY_TEXTS: Final = ("self-signed certificate", "unable to get local issuer certificate")
_UNKNOWN_AUTHORITY_ERROR: Final = "x509: certificate signed by unknown authority"


class WebhookClient:
    """Calls the webhooks of one API server; its connections live until it is closed."""

    def __init__(self, resolve_service_url: Callable[[ReadOnlyObject], str]) -> None:
        """Take the function that returns a service's base URL; it raises WebhookCallError if there is none."""
        self._resolve_service_url = resolve_service_url
        self._session: aiohttp.ClientSession | None = None
        self._contexts: LRUCache[str, ssl.SSLContext] = LRUCache(_CONTEXTS_MAX)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, client: ReadOnlyObject, review: ReadOnlyObject, seconds: float, name: str = "") -> Any:
        """Return the response to a review; raise WebhookCallError if none can be parsed within the timeout."""
        from mockkube_cel.golang.gourl import UrlError

        span = current_span()
        query = f"?timeout={seconds:g}s"
        # Errors show the URL of the service, as upstream's do, although the connection goes to an endpoint of it.
        try:
            path = _escaped_path(client) + query
            url = _base_url(client) + path
        except UrlError as error:
            raise WebhookCallError(f"Unparsable URL: {error}") from error
        try:
            base, host = self._resolve_base(client)
        except WebhookCallError as error:
            raise WebhookCallError(f'Post "{url}": {error}') from error
        if self._session is None:
            self._session = aiohttp.ClientSession()
        try:
            async with self._session.post(
                # Escaped already; another round might change it.
                URL(base + path, encoded=True),
                data=orjson.dumps(review),
                headers=_HEADERS if span is None else {**_HEADERS, "traceparent": span.context.to_traceparent()},
                ssl=self._ssl_context(client.get("caBundle", "")),
                server_hostname=host,
                # upstream's client does not follow redirects either.
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds),
            ) as response:
                body = await _read_body(response)
        except TimeoutError as error:
            raise WebhookCallError(f'Post "{url}": context deadline exceeded') from error
        except (aiohttp.ClientError, OSError) as error:
            raise WebhookCallError(f'Post "{url}": {_describe_error(error)}') from error
        return _parse_response(response.status, body, response.headers.get("Content-Type", ""))

    def _resolve_base(self, client: ReadOnlyObject) -> tuple[str, str | None]:
        """Return the base URL to connect to, and the server name to verify if it is not the URL's host."""
        service = client.get("service")
        if service is None:
            return _base_url(client), None
        return self._resolve_service_url(service), f"{service['name']}.{service['namespace']}.svc"

    def _ssl_context(self, bundle: str) -> ssl.SSLContext:
        """Return the TLS context with the webhook's CA bundle, or else the machine's authorities."""
        context = self._contexts.get(bundle)
        if context is None:
            try:
                context = self._contexts[bundle] = make_client_tls_context(base64.b64decode(bundle))
            except (ssl.SSLError, ValueError) as error:
                raise WebhookCallError(f"unable to load root certificates: {error}") from error
        return context


async def _read_body(response: aiohttp.ClientResponse) -> bytes:
    """Return the response body, cut off soon after the largest allowed size."""
    body = bytearray()
    async for part in response.content.iter_any():
        # A single `read(n)` would return only what has arrived by then.
        body += part
        if len(body) > _RESPONSE_BYTES_MAX:
            break
    return bytes(body)


def _base_url(client: ReadOnlyObject) -> str:
    """Return scheme, host and port of a webhook."""
    service = client.get("service")
    if service is None:
        from mockkube_cel.golang import gourl  # only servers with webhooks need it

        url = gourl.parse(client["url"])
        return f"{url.scheme}://{url.host}"
    return f"https://{service['name']}.{service['namespace']}.svc:{service.get('port') or _PORT}"


def _escaped_path(client: ReadOnlyObject) -> str:
    """Return the path of a webhook without empty, `.` and `..` segments, and without a slash at its end."""
    from mockkube_cel.golang import gourl

    service = client.get("service")
    path = gourl.parse(client["url"]).path if service is None else service.get("path") or ""
    # Two slashes at the start would be kept.
    cleaned = "/" + posixpath.normpath(f"/{path}").lstrip("/")
    return gourl.escape(cleaned, gourl.EncodingMode.PATH)


def _describe_error(error: Exception) -> str:
    """Return the text of a connection error in Go's words, if it is a common one."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            why = str(error.certificate_error)
            unknown = any(text in why for text in _UNKNOWN_AUTHORITY_TEXTS)
            return f"tls: failed to verify certificate: {_UNKNOWN_AUTHORITY_ERROR if unknown else why}"
        case aiohttp.ClientConnectorError(os_error=OSError(errno=int() as number)) if number > 0:
            return f"dial tcp {error.host}:{error.port}: connect: {os.strerror(number).lower()}"
        case _:
            return str(error) or "EOF"


def _parse_response(status: int, body: bytes, media: str) -> Any:
    if status == 404:
        raise WebhookCallError("the server could not find the requested resource")
    # Redirects and other codes below 400 count as responses; their bodies are parsed like any other.
    if status >= 400 or status < 200:
        text = body[:200].decode(errors="replace").strip() if media.startswith("text/") else "unknown"
        raise WebhookCallError(f'an error on the server ("{text}") has prevented the request from succeeding')
    if len(body) > _RESPONSE_BYTES_MAX:
        raise WebhookCallError(f"response body is larger than {_RESPONSE_BYTES_MAX} bytes")
    if not body:
        raise WebhookCallError(f"0-length response with status code: {status} and content type: {media}")
    try:
        return documents.parse_json(body)
    except documents.InvalidDocument as error:
        raise WebhookCallError(f"couldn't get version/kind; {error}") from error
