"""Context of one HTTP request: reads its body and builds its response."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from multidict import CIMultiDict

from mockkube.api.decoding import documents
from mockkube.api.decoding.documents import NO_DUPLICATES, DuplicateFields
from mockkube.api.errors import ApiError, BadRequest, Timeout, TooLarge
from mockkube.api.json_objects import Object
from mockkube.api.protobuf.envelope import GroupVersionKind, ProtobufSerializer
from mockkube.apiserver.audit.auditor import AuditEvent
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.body_observers import notify_body_observers
from mockkube.apiserver.http.requests.open_watches import OpenWatches
from mockkube.apiserver.http.responses import negotiation, rendering, warning_headers
from mockkube.apiserver.http.responses.large_bodies import CompressedBody, LargeBody, total_size
from mockkube.apiserver.http.responses.negotiation import JSON, PLAIN_JSON, PROTOBUF, YAML, Representation
from mockkube.apiserver.http.responses.rendering import OutputOptions
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.compressible_bytes import CompressibleBytes
from mockkube.apiserver.registry.options import Query, first_value, parse_bool
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.apiserver.http.requests.request_tracing import RequestTrace

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
# Longest time in which a body must arrive completely.
BODY_SECONDS_MAX: Final = 60.0
# upstream 1.36: apiserver/pkg/server/config.go, RequestTimeout
# Longest pause of a client within a body: a shorter bound than that of the whole body frees connections of clients that
# have vanished.
BODY_PAUSE_SECONDS_MAX: Final = 20.0
_CONTINUE: Final = "100-continue"
GZIP_BYTES_MIN: Final = 128 * 1024
LARGE_BYTES_MIN: Final = 64 * 1024
TEXT: Final = "text/plain; charset=utf-8"


@dataclass(slots=True)
class RequestContext:
    """HTTP request, its user, and the warnings for its response."""

    request: web.BaseRequest
    user: User
    query: Query
    warnings: list[str] = field(default_factory=list)
    open_watches: OpenWatches = field(default_factory=OpenWatches)
    protobuf: ProtobufSerializer | None = None
    """Encoder of objects that are not stored, for clients that prefer protobuf; None: JSON."""
    audit_id: str = ""
    """Id of the request in logs, returned in the Audit-Id header of every response."""
    audit_event: AuditEvent | None = None
    """Event of the request in the audit log; None if it is not logged."""
    trace: "RequestTrace | None" = None
    """Trace of the request; None without a tracer."""

    @property
    def accept(self) -> str:
        """Accept header."""
        return self.request.headers.get("Accept", "")

    @property
    def user_agent(self) -> str:
        """User-Agent header."""
        return self.request.headers.get("User-Agent", "")

    def output_options(self) -> OutputOptions:
        """Return the output options of the query; browsers and curl get indented JSON by default."""
        if "pretty" in self.query:
            pretty = parse_bool(self.query, "pretty")
        else:
            # upstream guesses from the user agent that a person reads the response.
            pretty = self.user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))
        return OutputOptions(pretty=pretty, include=first_value(self.query, "includeObject"))

    async def prepare(self, response: web.StreamResponse) -> None:
        """Send the headers of a response whose body follows in parts."""
        await response.prepare(self.request)
        if self.audit_event is not None:
            self.audit_event.start_response(response.status)

    async def read_body(self) -> bytes:
        """Return the whole request body; raise TooLarge beyond 3 MiB."""
        request = self.request
        if not request.body_exists:
            return b""
        # A declared length is refused before anything is read; a chunked body has none and is counted below.
        if (request.content_length or 0) > BODY_BYTES_MAX:
            raise _too_large()
        # Nearly every body has arrived with its head: neither timers nor a generator are needed to read it.
        if request.content.is_eof() and "Expect" not in request.headers:
            body = await self._read_arrived()
        else:
            body = await self._read_arriving()
        notify_body_observers(request, body)
        return body

    async def _read_arrived(self) -> bytes:
        """Return a body that has arrived completely."""
        try:
            body: bytes = await self.request.content.readany()
        except web.RequestPayloadError as error:
            raise BadRequest("the request body is incomplete") from error
        if len(body) > BODY_BYTES_MAX:
            raise _too_large()
        return body

    async def _read_arriving(self) -> bytes:
        parts, size = [], 0
        async with aclosing(self.read_parts()) as coming:
            async for part in coming:
                size += len(part)
                if size > BODY_BYTES_MAX:
                    raise _too_large()
                parts.append(part)
        return b"".join(parts)

    async def read_parts(self) -> AsyncGenerator[bytes, None]:
        """Yield the request body as it arrives.

        Raise Timeout if the client pauses or takes too long, BadRequest if the connection breaks off.
        """
        request = self.request
        if request.headers.get("Expect", "").lower() == _CONTINUE and request.version.minor:
            # aiohttp.web.Server does not answer Expect by itself. Without this line curl waits a second before it sends
            # its body.
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            # aiohttp takes a response with written bytes for one that has begun, so the bytes of 100 Continue are not
            # counted.
            request.writer.output_size = 0
        now = asyncio.get_running_loop().time
        ends_at = now() + BODY_SECONDS_MAX
        while not request.content.at_eof():
            try:
                async with asyncio.timeout(min(BODY_PAUSE_SECONDS_MAX, ends_at - now())):
                    part = await request.content.readany()
            except web.RequestPayloadError as error:
                raise BadRequest("the request body is incomplete") from error
            except TimeoutError as error:
                raise Timeout("Timeout: request did not complete within the allotted timeout", details={}) from error
            yield part

    def respond(
        self, body: bytes | Sequence[CompressibleBytes], *, status: int = 200, media: str = JSON
    ) -> web.Response:
        """Build a response with the common headers, compressed if the client accepts gzip and the body is large."""
        headers: CIMultiDict[str] = CIMultiDict()
        headers["Content-Type"] = media
        headers["Cache-Control"] = "no-cache, private"
        if self.audit_id:
            headers["Audit-Id"] = self.audit_id
        if self.warnings:
            headers.extend(("Warning", header) for header in warning_headers.format_warning_headers(self.warnings))
        if isinstance(body, bytes) and len(body) < LARGE_BYTES_MIN:
            return web.Response(body=body, status=status, headers=headers)
        parts = (CompressibleBytes(body),) if isinstance(body, bytes) else body
        return web.Response(body=self._large_body(parts, headers), status=status, headers=headers)

    def _large_body(self, parts: Sequence[CompressibleBytes], headers: CIMultiDict[str]) -> bytes | LargeBody:
        size = total_size(parts)
        # upstream 1.36: apiserver/pkg/endpoints/handlers/responsewriters/writers.go, defaultGzipThresholdBytes
        if size >= GZIP_BYTES_MIN and "gzip" in self.request.headers.get("Accept-Encoding", ""):
            headers["Vary"] = "Accept-Encoding"
            headers["Content-Encoding"] = "gzip"
            return CompressedBody(parts)
        return LargeBody(parts) if size >= LARGE_BYTES_MIN else b"".join(part.data for part in parts)

    def respond_json(
        self, value: Any, *, status: int = 200, representation: Representation = PLAIN_JSON
    ) -> web.Response:
        """Build a response with a JSON value in the negotiated format."""
        if representation.media == PROTOBUF:
            if self.protobuf is not None and self.protobuf.supports(value.get("apiVersion", ""), value["kind"]):
                return self.respond(self.protobuf.encode(value), status=status, media=PROTOBUF)
            representation = PLAIN_JSON
        body = rendering.encode_value(value, representation, pretty=self.output_options().pretty)
        return self.respond(body, status=status, media=representation.media)

    def respond_not_found(self) -> web.Response:
        """Build the plain text response of a path that does not exist."""
        response = self.respond(b"404 page not found\n", status=404, media=TEXT)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    def respond_error(self, error: ApiError) -> web.Response:
        """Build a response with the Status of an error."""
        response = self.respond_json(
            error.status(), status=error.code, representation=negotiation.negotiate_error(self.accept)
        )
        if error.retry_after_seconds:
            response.headers["Retry-After"] = str(error.retry_after_seconds)
        return response


def _too_large() -> TooLarge:
    return TooLarge(f"Request entity too large: limit is {BODY_BYTES_MAX}")


def parse_query(text: str) -> Query:
    """Return the query parameters, each with its values in order."""
    if not text:
        return {}

    return parse_qs(text, keep_blank_values=True)


@dataclass(frozen=True, slots=True)
class RequestDocument:
    """Request body and its parsed value."""

    text: bytes
    value: Any
    media: str
    yaml_repeats: DuplicateFields = NO_DUPLICATES

    def find_repeats(self) -> DuplicateFields:
        """Return the fields that occur more than once."""
        # The YAML parser reports repeated keys itself; JSON is only searched for them when field validation needs it.
        return documents.find_duplicate_fields(self.text, self.value) if self.media == JSON else self.yaml_repeats


def parse_document(
    text: bytes, content_type: str, protobuf: ProtobufSerializer, expected: GroupVersionKind
) -> RequestDocument:
    """Parse a body in the format of its content type.

    Raise documents.Unreadable, or wire.Malformed for protobuf, if it cannot be parsed.
    """
    media = negotiation.parse_content_type(content_type)
    if media == PROTOBUF:
        return RequestDocument(text, protobuf.decode(text, expected).value, media)
    # The YAML parser finds repeated keys while it reads; for JSON see `find_repeats`.
    if media == YAML:
        read = documents.parse_yaml(text)
        return RequestDocument(text, read.value, media, read.duplicates)
    return RequestDocument(text, documents.parse_json(text), media)


def status_success(details: Mapping[str, Any] | None = None, *, code: int = 0) -> Object:
    """Return a Status of success."""
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        status["details"] = dict(details)
    if code:
        status["code"] = code
    return status
