"""HTTP client of an API server, for components that run in a process of their own."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import orjson
from yarl import URL

from mockkube.api.errors import NotFound, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.discovery import AGGREGATED, ROOTS, ServedResource, parse_discovery
from mockkube.client.http_watch import HttpWatch
from mockkube.client.kubeconfig import RestConfig
from mockkube.client.protocol import (
    DELETE_DEFAULT,
    EVERYTHING,
    NO_QUERY,
    DeleteOptions,
    Key,
    ObjectList,
    Selection,
    key_of,
)
from mockkube.client.status_errors import error_from_status
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import BucketRateLimiter

_REQUEST_SECONDS: Final = 60.0
# A watch has no total timeout: the server ends it when it likes.
_WATCH_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
_JSON: Final = "application/json"
_RETRIES_MAX: Final = 10
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERROR_MIN: Final = 500
_CONNECTION_ERRORS: Final = (aiohttp.ClientError, OSError, TimeoutError)


class HttpClient:
    """Client of an API server over HTTP, usable inside its `async with` block.

    `decoder`: decodes objects as the component's version does; None passes objects on as the server sends them.
    `rate_limiter`: client-side rate limit; None leaves limiting to the server. `request_seconds`: limit of one request.
    """

    def __init__(
        self,
        config: RestConfig,
        user_agent: str,
        *,
        decoder: VersionedDecoder | None = None,
        clock: Clock | None = None,
        rate_limiter: BucketRateLimiter | None = None,
        request_seconds: float = _REQUEST_SECONDS,
    ) -> None:
        assert rate_limiter is None or clock is not None, "a client with a rate limit needs a clock"
        self._config, self._decoder, self._clock, self._rate_limiter = config, decoder, clock, rate_limiter
        self._manager = user_agent.partition("/")[0]
        self._headers = {"User-Agent": user_agent, "Accept": _JSON, **config.headers}
        self._request_timeout = aiohttp.ClientTimeout(total=request_seconds)
        self._kinds: dict[str, ServedResource] = {}
        self._group = asyncio.TaskGroup()
        self._watches: dict[HttpWatch, None] = {}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        tls = self._config.tls()
        # No limit on connections: each open watch holds one, and a pool limit would let watches block requests.
        connector = aiohttp.TCPConnector(limit=0, ssl=True if tls is None else tls)
        self._session = aiohttp.ClientSession(connector=connector, headers=self._headers, auto_decompress=True)
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        # Closing a watch removes it from the dict through its done callback, so a copy is iterated.
        for watch in list(self._watches):
            await watch.close()
        await self._group.__aexit__(None, None, None)
        await self._session.close()
        self._session = None

    async def get(self, kind: str, key: Key, *, subresource: str = "") -> ReadOnlyObject:
        """Return the stored object, or its subresource `scale`."""
        served = await self._discover(kind)
        return _decode_answer(served, await self._request_json("GET", served.path(key, subresource)))

    async def get_path(self, path: str, query: Mapping[str, str] = NO_QUERY) -> Any:
        """Return the JSON at a path that names no object of a kind."""
        return await self._request_json("GET", path, query=query)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        """Return the selected objects, and the resourceVersion of the list."""
        served = await self._discover(kind)
        listed = await self._request_json("GET", served.path(Key(selection.namespace, "")), query=_query(selection))
        # Items of a list carry neither kind nor apiVersion, which decoding and owner references need.
        items = [served.decode(served.with_type_meta(item)) for item in listed.get("items") or ()]
        # Computed objects, such as PodMetrics, have no version.
        return ObjectList(items, listed["metadata"].get("resourceVersion", ""))

    async def watch(self, kind: str, selection: Selection, after: str) -> HttpWatch:
        """Watch from a resourceVersion on; raise Expired when that was compacted."""
        served = await self._discover(kind)
        query = {**_query(selection), "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": after}
        path = served.path(Key(selection.namespace, ""))
        # The first response is awaited here so that Expired and Forbidden are raised to the caller and not in the
        # reading task.
        response = await self._request("GET", path, query=query, client_timeout=_WATCH_TIMEOUT)
        if response.status != 200:
            raise error_from_status(await _read_body(response), response.status)
        watch = HttpWatch(response, served, after)
        self._watches[watch] = None
        watch.task = self._group.create_task(watch.read())
        watch.task.add_done_callback(lambda _: self._watches.pop(watch, None))
        return watch

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        """Create the object, or post it to the subresource of the object `name`."""
        served = await self._discover(kind)
        metadata = obj.get("metadata", {})
        about = (name or metadata.get("name", "")) if subresource else ""
        path = served.path(Key(metadata.get("namespace", ""), about), subresource)
        answer = await self._request_json("POST", path, body=served.with_type_meta(obj, subresource))
        return answer if subresource else served.decode(answer)

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        """Replace the object; Conflict if its resourceVersion is set and is not the stored one."""
        served = await self._discover(kind)
        body = served.with_type_meta(obj, subresource)
        answer = await self._request_json("PUT", served.path(key_of(obj), subresource), body=body)
        return _decode_answer(served, answer)

    async def patch(
        self, kind: str, key: Key, patch: object, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        """Patch the object."""
        served = await self._discover(kind)
        query = {"fieldManager": self._manager} if patch_type is PatchType.APPLY else {}
        path = served.path(key, subresource)
        return _decode_answer(
            served, await self._request_json("PATCH", path, query=query, body=patch, media=patch_type)
        )

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delete the object; it may stay until its finalizers are removed or its grace period is over."""
        served = await self._discover(kind)
        await self._request_json("DELETE", served.path(key), body=_delete_options(options))

    async def delete_collection(self, kind: str, selection: Selection, options: DeleteOptions = DELETE_DEFAULT) -> None:
        """Delete all selected objects."""
        served = await self._discover(kind)
        path = served.path(Key(selection.namespace, ""))
        await self._request_json("DELETE", path, query=_query(selection), body=_delete_options(options))

    async def _discover(self, kind: str) -> ServedResource:
        """Return the served kind; an unknown one is discovered again, for its CRD may be new."""
        if kind not in self._kinds:
            documents = [await self._request_json("GET", root, accept=AGGREGATED) for root in ROOTS]
            self._kinds = parse_discovery(documents, self._decoder)
        served = self._kinds.get(kind)
        if served is None:
            raise NotFound.for_path()
        return served

    async def _request_json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        media: str = _JSON,
        accept: str = _JSON,
    ) -> Any:
        """Send a request and return its JSON body; raise the API error of a failure."""
        headers = {"Accept": accept} | ({"Content-Type": media} if body is not None else {})
        response = await self._request(method, path, query=query, body=body, headers=headers)
        answer = await _read_body(response)
        if response.status >= 400:
            raise error_from_status(answer, response.status)
        return answer

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        client_timeout: aiohttp.ClientTimeout | None = None,
    ) -> aiohttp.ClientResponse:
        """Send a request, again if the server asks for it, and return the open response."""
        for _ in range(_RETRIES_MAX):
            response = await self._send(method, path, query, body, headers, client_timeout)
            seconds = _get_retry_seconds(response)
            if seconds is None or self._clock is None:
                return response
            response.release()
            await self._clock.sleep(seconds)
        return await self._send(method, path, query, body, headers, client_timeout)

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: object,
        headers: Mapping[str, str] | None,
        client_timeout: aiohttp.ClientTimeout | None,
    ) -> aiohttp.ClientResponse:
        """Send a request once; Unavailable if the server cannot be reached."""
        assert self._session is not None, "use the client inside its async with block"
        if self._rate_limiter is not None and self._clock is not None:
            await self._clock.sleep(self._rate_limiter.when(None))
        # Paths are quoted already; without `encoded` yarl would quote them a second time.
        url = URL(self._config.server + path, encoded=True).with_query(query or {})
        data = None if body is None else orjson.dumps(body)
        if self._config.token_file is not None:
            headers = {**(headers or {}), **self._config.headers}
        name = self._config.server_name or None
        limit = client_timeout or self._request_timeout
        try:
            return await self._session.request(
                method, url, data=data, headers=headers, timeout=limit, server_hostname=name
            )
        except _CONNECTION_ERRORS as error:
            raise Unavailable(f"{self._config.server}: {error or type(error).__name__}") from error


def _get_retry_seconds(response: aiohttp.ClientResponse) -> int | None:
    """Return the seconds after which the server wants the request again; None if it does not."""
    # upstream 1.36: client-go/rest/with_retry.go, checkWait
    after = response.headers.get("Retry-After", "")
    wants_retry = response.status == _TOO_MANY_REQUESTS or response.status >= _SERVER_ERROR_MIN
    return int(after) if wants_retry and after.isdecimal() else None


async def _read_body(response: aiohttp.ClientResponse) -> Any:
    """Return the body as JSON, or as text if it is not JSON."""
    try:
        body = await response.read()
    except _CONNECTION_ERRORS as error:
        raise Unavailable(f"the response was cut off: {error}") from error
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace").strip()


def _decode_answer(served: ServedResource, answer: Object) -> ReadOnlyObject:
    """Return the answer as the component's version decodes it; a Scale is returned undecoded."""
    return served.decode(answer) if answer.get("kind") == served.kind else answer


def _query(selection: Selection) -> dict[str, str]:
    given = {"labelSelector": selection.labels, "fieldSelector": selection.fields}
    return {name: value for name, value in given.items() if value}


def _delete_options(options: DeleteOptions) -> Object:
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    wanted = {
        "gracePeriodSeconds": options.grace_seconds,
        "propagationPolicy": options.propagation,
        "preconditions": {name: value for name, value in preconditions.items() if value} or None,
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    return {"kind": "DeleteOptions", "apiVersion": "v1", **given}
