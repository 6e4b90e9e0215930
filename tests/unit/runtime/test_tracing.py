import pytest

from mockkube.runtime.random import Random
from mockkube.runtime.tracing import (
    Span,
    SpanContext,
    Tracer,
    child_span,
    current_span,
    keep_current_span,
    parse_traceparent,
    set_current_span,
    within,
)
from mockkube.runtime.virtual_time import VirtualClock

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def make_tracer(reported: list[Span], rate: int = 1_000_000) -> Tracer:
    return Tracer("kube-apiserver", {}, rate, VirtualClock(), Random.from_seed(1, "test"), reported.append)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(f"00-{TRACE}-{PARENT}-01", SpanContext(TRACE, PARENT, is_sampled=True), id="sampled"),
        pytest.param(f"00-{TRACE}-{PARENT}-00", SpanContext(TRACE, PARENT, is_sampled=False), id="not sampled"),
        pytest.param(f"01-{TRACE}-{PARENT}-01-more", SpanContext(TRACE, PARENT, is_sampled=True), id="later version"),
        pytest.param(f"00-{TRACE}-{PARENT}-01-more", None, id="version 0 has four parts"),
        pytest.param(f"ff-{TRACE}-{PARENT}-01", None, id="invalid version"),
        pytest.param(f"00-{'0' * 32}-{PARENT}-01", None, id="no trace"),
        pytest.param(f"00-{TRACE}-{'0' * 16}-01", None, id="no span"),
        pytest.param(f"00-{TRACE.upper()}-{PARENT}-01", None, id="upper case"),
        pytest.param("", None, id="missing"),
    ],
)
def test_a_header_is_parsed_as_the_recommendation_says(header: str, expected: SpanContext | None) -> None:
    assert parse_traceparent(header) == expected


def test_a_context_survives_the_header() -> None:
    context = make_tracer([]).start_span("a").context
    assert parse_traceparent(context.to_traceparent()) == context


def test_spans_below_a_span_belong_to_its_trace() -> None:
    reported: list[Span] = []
    with within(make_tracer(reported).start_span("cycle")) as outer, child_span("step", pod="p") as inner:
        assert current_span() is inner
    assert current_span() is None
    assert [one.name for one in reported] == ["step", "cycle"]
    assert (reported[0].parent_id, reported[0].context.trace_id) == (outer.context.span_id, outer.context.trace_id)
    assert reported[0].attributes == {"pod": "p"}


def test_without_a_current_span_nothing_is_recorded() -> None:
    with child_span("step") as span:
        assert span is None


def test_an_error_is_the_status_of_its_span() -> None:
    reported: list[Span] = []

    def fail() -> None:
        with within(make_tracer(reported).start_span("a")):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert reported[0].error == "no"


def test_the_current_span_is_restored() -> None:
    with keep_current_span():
        set_current_span(make_tracer([]).start_span("a"))
    assert current_span() is None


def test_a_root_is_sampled_with_the_rate_and_others_like_their_parent() -> None:
    reported: list[Span] = []
    tracer = make_tracer(reported, rate=250_000)
    sampled = sum(tracer.start_span("a").context.is_sampled for _ in range(2000))
    assert 400 < sampled < 600
    never = make_tracer(reported, rate=0)
    never.start_span("root").end()
    never.start_span("child", parent=SpanContext(TRACE, PARENT, is_sampled=True)).end()
    never.start_span("other", parent=SpanContext(TRACE, PARENT, is_sampled=False)).end()
    assert [one.name for one in reported] == ["child"]


def test_a_span_is_reported_once() -> None:
    reported: list[Span] = []
    span = make_tracer(reported).start_span("a")
    span.end()
    span.end()
    assert len(reported) == 1
