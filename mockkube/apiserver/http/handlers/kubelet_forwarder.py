"""Forward requests that connect to a pod to the API server whose process runs the kubelet of the pod's node.

What a command has changed in a container is known to one process, that of the kubelet. Upstream's API servers connect
to the kubelet itself, whichever of them a client asks.
"""

import asyncio
import hashlib
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.streaming.spdy_connection import UpgradedConnection
from mockkube.apiserver.http.streaming.streams import ClientGone
from mockkube.apiserver.http.streaming.websocket_streams import is_upgrade
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.registry import Registry
from mockkube.lazy_dataclasses import dataclass

# Marks a forwarded request: only the server that runs the kubelet is to answer, or any server is.
HEADER: Final = "X-Mockkube-Forwarded"
TO_KUBELET: Final = "kubelet"
TO_ANY: Final = "any"
CONNECT_SECONDS_MAX: Final = 5.0
_SUBRESOURCES: Final = ("attach", "exec", "log", "portforward")
_MISDIRECTED: Final = 421
_SWITCHING: Final = 101
_HEAD_BYTES_MAX: Final = 64 << 10
_PART_BYTES: Final = 64 << 10
# Headers of one connection, and those that name the user, who is passed on in other ones.
_OWN_HEADERS: Final = ("Authorization", "Host", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding")
_UNESCAPED: Final = "!#$&'*+-.^_`|~"


@dataclass(frozen=True, slots=True)
class PeerServers:
    """Other API servers of the control plane, and how to ask them."""

    own_url: str
    # Returns the URLs of the other live servers.
    find_urls: Callable[[], Awaitable[Sequence[str]]]
    # Token by which a server may impersonate the user of a request.
    token: str
    # Returns the TLS context that trusts the servers; None without TLS.
    make_tls_context: Callable[[], ssl.SSLContext | None]


class KubeletForwarder:
    """Finds the API server that answers for a pod, and passes requests on to it."""

    def __init__(self, registry: Registry, peers: PeerServers) -> None:
        self._registry = registry
        self._peers = peers
        self._tls: ssl.SSLContext | None = None

    async def respond(self, context: RequestContext, info: RequestInfo) -> web.StreamResponse | None:
        """Return the response of the server that answers for a pod; None if that is this server."""
        if info.group or info.resource != "pods" or info.subresource not in _SUBRESOURCES:
            return None
        node = await self._find_node(info)
        asked = context.request.headers.get(HEADER, "")
        if not node or asked == TO_ANY:
            return None
        if self._registry.dependencies.simulated_kubelets.container_states.serves(node):
            return None
        if asked == TO_KUBELET:
            return web.Response(status=_MISDIRECTED)
        try:
            async with asyncio.timeout(None) as deadline:
                # The server's stop ends it as if the client had closed it.
                with context.open_watches.track(deadline):
                    return await self._forward(context, node)
        except TimeoutError:
            if context.request.transport is not None:
                context.request.transport.close()
            return web.Response()

    async def _find_node(self, info: RequestInfo) -> str:
        """Return the node of a pod; empty if it has none, or does not exist."""
        await self._registry.dependencies.watch_cache.wait_until_fresh()
        pods = self._registry.find_storage_resource("", "pods")
        cached = None if pods is None else pods.get_cached(info.namespace, info.name)
        return "" if cached is None else str(cached.load()["spec"].get("nodeName") or "")

    async def _forward(self, context: RequestContext, node: str) -> web.StreamResponse | None:
        urls = sorted(await self._peers.find_urls(), key=lambda url: _rank(url, node))
        for url in urls:
            if (response := await self._send(context, url, TO_KUBELET)) is not None:
                return response
        # The kubelet runs by itself. One server, the same for all, keeps what commands change on the node.
        own = _rank(self._peers.own_url, node)
        for url in urls:
            if _rank(url, node) < own and (response := await self._send(context, url, TO_ANY)) is not None:
                return response
        return None

    async def _send(self, context: RequestContext, url: str, marker: str) -> web.StreamResponse | None:
        """Return the response of another server; None if it cannot be reached, or does not run the kubelet."""
        headers = _make_headers(context, self._peers.token, marker)
        if self._tls is None:
            self._tls = self._peers.make_tls_context()
        send = self._send_upgrade if is_upgrade(context.request) else self._send_plain
        return await send(context, URL(url + context.request.raw_path, encoded=True), headers)

    async def _send_plain(
        self, context: RequestContext, url: URL, headers: CIMultiDict[str]
    ) -> web.StreamResponse | None:
        """Pass a request without a body on, and stream the response."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS_MAX)
        connector = aiohttp.TCPConnector(ssl=True if self._tls is None else self._tls)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False, timeout=timeout) as session:
            try:
                response = await session.request(context.request.method, url, headers=headers, allow_redirects=False)
            except (aiohttp.ClientError, OSError, TimeoutError):
                return None
            async with response:
                if response.status == _MISDIRECTED:
                    return None
                answer = web.StreamResponse(status=response.status, reason=response.reason)
                for name in ("Content-Type", "Cache-Control", "Content-Encoding", "Content-Length", "Audit-Id"):
                    if name in response.headers:
                        answer.headers[name] = response.headers[name]
                await answer.prepare(context.request)
                with suppress(aiohttp.ClientError, ConnectionError):
                    async for part in response.content.iter_any():
                        await answer.write(part)
                await answer.write_eof()
                return answer

    async def _send_upgrade(
        self, context: RequestContext, url: URL, headers: CIMultiDict[str]
    ) -> web.StreamResponse | None:
        """Pass a request for another protocol on; then pass on bytes, in both directions, whatever they mean."""
        request = context.request
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                reader, writer = await asyncio.open_connection(url.host, url.port, ssl=self._tls)
        except (OSError, TimeoutError):
            return None
        try:
            headers["Host"] = url.authority
            head = [f"{request.method} {url.raw_path_qs} HTTP/1.1"]
            head += [f"{name}: {value}" for name, value in headers.items()]
            writer.write("\r\n".join([*head, "", ""]).encode("utf-8", "surrogateescape"))
            try:
                response = await _read_response(reader)
            except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                return None
            if response.status == _MISDIRECTED:
                return None
            if response.status != _SWITCHING or not isinstance(request.protocol, web.RequestHandler):
                return await _pass_refusal(response, reader)
            return await _connect(context, request.protocol, response, reader, writer)
        finally:
            writer.close()


@dataclass(frozen=True, slots=True)
class _ResponseHead:
    """Status and headers of a response."""

    status: int
    headers: CIMultiDict[str]


async def _read_response(reader: asyncio.StreamReader) -> _ResponseHead:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers: CIMultiDict[str] = CIMultiDict()
    for line in lines:
        name, _, value = line.partition(":")
        headers.add(name.strip(), value.strip())
    return _ResponseHead(int(first.split(" ", 2)[1]), headers)


async def _pass_refusal(response: _ResponseHead, reader: asyncio.StreamReader) -> web.StreamResponse:
    """Return the response to an upgrade that the other server refuses."""
    length = min(int(response.headers.get("Content-Length", "0")), _HEAD_BYTES_MAX)
    body = await reader.readexactly(length)
    for name in ("Connection", "Content-Length", "Date", "Server"):
        response.headers.popall(name, None)
    answer = web.Response(status=response.status, body=body, headers=response.headers)
    answer.force_close()
    return answer


async def _connect(
    context: RequestContext,
    protocol: web.RequestHandler,
    head: _ResponseHead,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> web.StreamResponse:
    """Upgrade the client's connection, and pass bytes on until one of the two ends."""
    for name in ("Date", "Server"):
        head.headers.popall(name, None)
    response = web.StreamResponse(status=_SWITCHING, headers=head.headers)
    response.force_close()
    connection = UpgradedConnection(response, protocol)
    parser: Any = connection
    protocol.set_parser(parser)
    await response.prepare(context.request)
    await _pass_bytes(connection, reader, writer)
    if context.request.transport is not None:
        context.request.transport.close()
    return response


async def _pass_bytes(
    connection: UpgradedConnection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    async def pass_up() -> None:
        while True:
            writer.write(await connection.read())
            await writer.drain()

    async def pass_down() -> None:
        while data := await reader.read(_PART_BYTES):
            await connection.write(data)

    tasks = [asyncio.ensure_future(pass_up()), asyncio.ensure_future(pass_down())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception) and not isinstance(outcome, ClientGone | OSError):
                raise outcome


def _make_headers(context: RequestContext, token: str, marker: str) -> CIMultiDict[str]:
    """Return the headers of a forwarded request, which acts as the user of the original one."""
    headers: CIMultiDict[str] = CIMultiDict(context.request.headers)
    for name in tuple(dict.fromkeys(headers)):
        if name.lower().startswith(("impersonate-", "x-remote-")):
            headers.popall(name)
    for name in (*_OWN_HEADERS, HEADER):
        headers.popall(name, None)
    headers["Authorization"] = f"Bearer {token}"
    headers[HEADER] = marker
    _add_user(headers, context.user)
    return headers


def _add_user(headers: CIMultiDict[str], user: User) -> None:
    headers["Impersonate-User"] = user.name
    if user.uid:
        headers["Impersonate-Uid"] = user.uid
    for group in user.groups:
        headers.add("Impersonate-Group", group)
    for key, values in user.extra.items():
        for value in values:
            headers.add(f"Impersonate-Extra-{quote(key, safe=_UNESCAPED)}", value)


def _rank(url: str, node: str) -> bytes:
    return hashlib.blake2b(f"{url}/{node}".encode(), digest_size=8).digest()
