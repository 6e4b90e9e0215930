"""Traces in the data model of OpenTelemetry: spans, their context in the header `traceparent`, sampling.

A component without a tracer records nothing. What runs within a span finds it as `current_span()`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import field
from enum import IntEnum
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random

AttributeValue = str | int | float | bool
# https://www.w3.org/TR/trace-context/#traceparent-header
_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED: Final = 1
_INVALID_VERSION: Final = "ff"
_RATIO_BITS: Final = 63


class SpanKind(IntEnum):
    """Kind of a span, with its number in OTLP."""

    INTERNAL = 1
    SERVER = 2
    CLIENT = 3


@dataclass(frozen=True, slots=True)
class SpanContext:
    """Identity of a span, as it is passed on to other processes."""

    trace_id: str
    span_id: str
    is_sampled: bool

    def to_traceparent(self) -> str:
        """Return the value of the header."""
        return f"00-{self.trace_id}-{self.span_id}-{_SAMPLED if self.is_sampled else 0:02x}"


def parse_traceparent(text: str) -> SpanContext | None:
    """Return the context of a header; None if it is missing or malformed."""
    match = _TRACEPARENT.fullmatch(text.strip())
    if match is None or match[1] == _INVALID_VERSION or (match[1] == "00" and match[5]):
        return None
    if not (int(match[2], 16) and int(match[3], 16)):
        return None
    return SpanContext(match[2], match[3], bool(int(match[4], 16) & _SAMPLED))


@dataclass(slots=True)
class Span:
    """One operation of a trace, reported when it ends; times are nanoseconds since 1970."""

    name: str
    context: SpanContext
    tracer: "Tracer"
    start_nanos: int
    parent_id: str = ""
    kind: SpanKind = SpanKind.INTERNAL
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    link: SpanContext | None = None
    """Span of another trace that caused this one."""
    error: str | None = None
    """Message of a failure; None: there was none."""
    end_nanos: int = 0

    def end(self, *, at_nanos: int | None = None) -> None:
        """End the span and report it, once."""
        if not self.end_nanos:
            self.end_nanos = self.tracer.now_nanos() if at_nanos is None else at_nanos
            if self.context.is_sampled:
                self.tracer.report(self)


_CURRENT: Final[ContextVar[Span | None]] = ContextVar("mockkube_span", default=None)


def current_span() -> Span | None:
    """Return the span within which the caller runs; None without one."""
    return _CURRENT.get()


def set_current_span(span: Span) -> None:
    """Make a span the current one, within `keep_current_span`."""
    _CURRENT.set(span)


@contextmanager
def keep_current_span() -> Iterator[None]:
    """Restore the current span at the end of the block."""
    token = _CURRENT.set(_CURRENT.get())
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def within(span: Span) -> Iterator[Span]:
    """Make a span the current one, and end it at the end of the block."""
    token = _CURRENT.set(span)
    try:
        yield span
    except Exception as error:
        span.error = span.error or str(error) or type(error).__name__
        raise
    finally:
        _CURRENT.reset(token)
        span.end()


def child_span(name: str, **attributes: AttributeValue) -> AbstractContextManager[Span | None]:
    """Run a block within a new span below the current one; without a current one nothing is recorded."""
    parent = current_span()
    if parent is None:
        return nullcontext()
    return within(parent.tracer.start_span(name, parent=parent.context, attributes=attributes))


@dataclass(frozen=True, slots=True)
class Tracer:
    """Starts the spans of one service.

    A root span is sampled with the given rate; others are sampled if their parent is.
    """

    service: str
    attributes: Mapping[str, AttributeValue]
    """Attributes of the service, which OpenTelemetry calls its resource."""
    sampling_rate_per_million: int
    clock: Clock
    random: Random
    report: Callable[[Span], None]

    def start_span(
        self,
        name: str,
        *,
        parent: SpanContext | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        start_nanos: int | None = None,
        attributes: Mapping[str, AttributeValue] | None = None,
        link: SpanContext | None = None,
    ) -> Span:
        """Return a new span; without a parent it is the root of a trace."""
        generator = self.random.generator
        trace_id = f"{generator.getrandbits(128) or 1:032x}" if parent is None else parent.trace_id
        is_sampled = self._samples(trace_id) if parent is None else parent.is_sampled
        context = SpanContext(trace_id, f"{generator.getrandbits(64) or 1:016x}", is_sampled)
        return Span(
            name,
            context,
            self,
            self.now_nanos() if start_nanos is None else start_nanos,
            "" if parent is None else parent.span_id,
            kind,
            dict(attributes or {}),
            link,
        )

    def now_nanos(self) -> int:
        """Return the current time in nanoseconds since 1970."""
        return int(self.clock.now().timestamp() * 1_000_000) * 1000

    def _samples(self, trace_id: str) -> bool:
        """Return whether a trace is among the sampled ones: the same at each service, as for TraceIdRatioBased."""
        bound = self.sampling_rate_per_million * (1 << _RATIO_BITS) // 1_000_000
        return int(trace_id[16:], 16) >> 1 < bound


MakeTracer = Callable[[str, str], Tracer]
"""Function that returns the tracer of a component, by its name and version."""
