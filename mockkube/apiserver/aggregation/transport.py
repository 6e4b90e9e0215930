"""HTTP transport to aggregated API servers: TLS with the front proxy's certificate, and the user in headers."""

# upstream 1.36: kube-aggregator/pkg/controllers/status/remote, client-go/transport/round_trippers.go
import base64
import os
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from cachetools import LRUCache
from multidict import CIMultiDict
from yarl import URL

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.identity.request_header_options import EXTRA_PREFIX, GROUP_HEADER, USERNAME_HEADER
from mockkube.apiserver.identity.user import User
from mockkube.client.tls import make_client_tls_context
from mockkube.lazy_dataclasses import dataclass

_CONTEXTS_MAX: Final = 64
_UNESCAPED: Final = "!#$&'*+-.^_`|~"
_SKIPPED_HEADERS: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


@dataclass(frozen=True, slots=True)
class FrontProxyCredentials:
    """Client certificate of the front proxy and the authority that signed it."""

    authority: Path
    certificate: Path
    key: Path


class ServerUnreachable(Exception):
    """An aggregated API server did not answer, or its certificate could not be verified."""


class Transport:
    """Sends requests to aggregated API servers; its connections live until it is closed."""

    def __init__(self, proxy: FrontProxyCredentials | None) -> None:
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None
        self._contexts: LRUCache[tuple[str, bool], ssl.SSLContext] = LRUCache(_CONTEXTS_MAX)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: URL,
        spec: ReadOnlyObject,
        *,
        headers: Mapping[str, str],
        body: Any = None,
        seconds: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request to the server of an APIService's spec; raise ServerUnreachable if that fails."""
        if self._session is None:
            # Watches hold connections for long: with aiohttp's limit of 100 they would block other requests.
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(
                connector=connector,
                # Bodies are passed on with their Content-Encoding, byte for byte.
                auto_decompress=False,
                skip_auto_headers=_SKIPPED_HEADERS,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        service = spec["service"]
        pending = self._session.request(
            method,
            url,
            headers=headers,
            data=body,
            ssl=self._ssl_context(spec),
            # The connection goes to an endpoint's address, but the certificate is issued for the service's name.
            server_hostname=f"{service['name']}.{service['namespace']}.svc",
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=seconds),
        )
        try:
            response = await pending
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ServerUnreachable(_describe_error(error)) from error
        async with response:
            yield response

    def _ssl_context(self, spec: ReadOnlyObject) -> ssl.SSLContext:
        """Return the TLS context with the CA bundle, or the machine's authorities; unverified if the spec says so."""
        bundle, insecure = spec.get("caBundle") or "", bool(spec.get("insecureSkipTLSVerify"))
        context = self._contexts.get((bundle, insecure))
        if context is None:
            try:
                context = make_client_tls_context(base64.b64decode(bundle), insecure=insecure)
            except (ssl.SSLError, ValueError) as error:
                raise ServerUnreachable(f"unable to load root certificates: {error}") from error
            if self._proxy is not None:
                context.load_cert_chain(self._proxy.certificate, self._proxy.key)
            self._contexts[bundle, insecure] = context
        return context


def set_user_headers(headers: CIMultiDict[str], user: User) -> None:
    """Replace the X-Remote headers by those of the user."""
    # A client must not pass a user of its own choice to a server that trusts these headers.
    for name in tuple(dict.fromkeys(headers)):
        if name.lower().startswith("x-remote-"):
            headers.popall(name)
    headers[USERNAME_HEADER] = user.name
    if user.uid:
        headers["X-Remote-Uid"] = user.uid
    for name, value in _group_and_extra_headers(user):
        headers.add(name, value)


def _group_and_extra_headers(user: User) -> Iterator[tuple[str, str]]:
    for group in user.groups:
        yield GROUP_HEADER, group
    for key, values in user.extra.items():
        for value in values:
            yield f"{EXTRA_PREFIX}{quote(key, safe=_UNESCAPED)}", value


def _describe_error(error: Exception) -> str:
    """Return the text of a connection error in Go's words, if it is a common one."""
    match error:
        case aiohttp.ClientConnectorCertificateError(certificate_error=ssl.SSLCertVerificationError() as wrong):
            return f"tls: failed to verify certificate: x509: {_verification_error(wrong)}"
        case aiohttp.ClientConnectorError(os_error=OSError(errno=int() as number)) if number > 0:
            return f"dial tcp {error.host}:{error.port}: connect: {os.strerror(number).lower()}"
        case TimeoutError():
            return "context deadline exceeded"
        case _:
            return str(error) or "EOF"


def _verification_error(error: ssl.SSLCertVerificationError) -> str:
    text = error.verify_message
    unknown = ("self-signed" in text) or ("issuer" in text)
    return "certificate signed by unknown authority" if unknown else text
