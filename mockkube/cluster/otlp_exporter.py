"""Sends spans to a collector: OTLP over HTTP, encoded as JSON."""

# https://opentelemetry.io/docs/specs/otlp/#otlphttp, opentelemetry-proto/opentelemetry/proto/trace/v1/trace.proto
import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import orjson

from mockkube.cluster.configuration.tracing_options import TracingOptions
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random
from mockkube.runtime.tracing import AttributeValue, Span, Tracer

# Spans that wait; further ones are dropped, as by OpenTelemetry's batch processor.
SPANS_MAX: Final = 4096
BATCH_MAX: Final = 512
PERIOD_SECONDS: Final = 2.0
_REQUEST_SECONDS: Final = 10.0
# The cluster must end within a second, also if the collector does not answer.
_LAST_FLUSH_SECONDS: Final = 0.4
_SCOPE: Final = {"name": "mockkube"}
_STATUS_ERROR: Final = 2
_LOG: Final = logging.getLogger("mockkube.cluster")


class OtlpExporter:
    """Exports the spans of a cluster, as a context: what is left is sent when it is left."""

    def __init__(self, options: TracingOptions, resource: Mapping[str, AttributeValue]) -> None:
        """Take attributes that all services share, such as the name of the cluster."""
        self._options, self._resource = options, resource
        self._spans: deque[Span] = deque()
        self._has_batch = asyncio.Event()
        self._random = Random()
        self._session: aiohttp.ClientSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._group = asyncio.TaskGroup()
        self._has_failed = False
        self.dropped = 0
        """Number of spans that were not sent: too many, or no collector."""

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
        self._session = aiohttp.ClientSession(headers=dict(self._options.headers), timeout=timeout)
        await self._group.__aenter__()
        self._task = self._group.create_task(self._run(), name="traces")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        assert self._session is not None
        self._task.cancel()
        await self._group.__aexit__(None, None, None)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_FLUSH_SECONDS):
                await self.flush()
        await self._session.close()

    def make_tracer(self, service: str, version: str) -> Tracer:
        """Return the tracer of a component."""
        attributes = {"service.name": service, "service.version": version, **self._resource}
        # Real time, also for a cluster in virtual time: spans say how long the work takes.
        return Tracer(
            service, attributes, self._options.sampling_rate_per_million, RealClock(), self._random, self._report
        )

    def _report(self, span: Span) -> None:
        if len(self._spans) >= SPANS_MAX:
            self.dropped += 1
            return
        self._spans.append(span)
        if len(self._spans) >= BATCH_MAX:
            self._has_batch.set()

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(PERIOD_SECONDS):
                    await self._has_batch.wait()
            except TimeoutError:
                pass
            self._has_batch.clear()
            await self.flush()

    async def flush(self) -> None:
        """Send all spans that wait; one attempt each."""
        while self._spans:
            batch = [self._spans.popleft() for _ in range(min(BATCH_MAX, len(self._spans)))]
            if not await self._send(batch):
                self.dropped += len(batch)
                return

    async def _send(self, batch: list[Span]) -> bool:
        assert self._session is not None
        body, headers = orjson.dumps(encode_spans(batch)), {"Content-Type": "application/json"}
        try:
            async with self._session.post(
                self._options.url, data=body, headers=headers, allow_redirects=False
            ) as response:
                problem = "" if response.status < 300 else f"status {response.status}"
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            problem = str(error) or type(error).__name__
        # Once per outage: a collector that is away for long would fill the log.
        if problem and not self._has_failed:
            _LOG.warning(
                "traces are dropped: %s: %s: start a collector there, or turn tracing off",
                self._options.url,
                problem,
            )
        self._has_failed = bool(problem)
        return not problem


def encode_spans(spans: Iterable[Span]) -> dict[str, Any]:
    """Return an ExportTraceServiceRequest with the spans by service."""
    by_service: dict[str, tuple[Tracer, list[dict[str, Any]]]] = {}
    for span in spans:
        by_service.setdefault(span.tracer.service, (span.tracer, []))[1].append(_encode_span(span))
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _encode_attributes(tracer.attributes)},
                "scopeSpans": [{"scope": _SCOPE, "spans": encoded}],
            }
            for tracer, encoded in by_service.values()
        ]
    }


def _encode_span(span: Span) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "traceId": span.context.trace_id,
        "spanId": span.context.span_id,
        "name": span.name,
        "kind": int(span.kind),
        "startTimeUnixNano": str(span.start_nanos),
        "endTimeUnixNano": str(max(span.end_nanos, span.start_nanos)),
        "attributes": _encode_attributes(span.attributes),
        "status": {} if span.error is None else {"code": _STATUS_ERROR, "message": span.error},
    }
    if span.parent_id:
        encoded["parentSpanId"] = span.parent_id
    if span.link is not None:
        encoded["links"] = [{"traceId": span.link.trace_id, "spanId": span.link.span_id}]
    return encoded


def _encode_attributes(attributes: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _encode_value(value)} for name, value in attributes.items()]


def _encode_value(value: AttributeValue) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}
