"""HTML page about a what-if: the variants side by side, their course, placement and disruption."""

from collections.abc import Iterator

from mockkube.report.drawing.whatif_charts import PlacementChart, draw_charts
from mockkube.report.environment import render_page
from mockkube.report.sentences.whatif_answer import describe_variant
from mockkube.whatif.results import WhatIfResult
from mockkube.whatif.whatif_text import (
    LEGEND,
    SUMMARY_HEAD,
    WORKLOAD_HEAD,
    describe_answer,
    describe_verdict,
    format_seconds,
    list_workload_cells,
    shorten,
    summarize,
)


def render(result: WhatIfResult, command: str = "") -> str:
    """Return the page; the command repeats the what-if."""
    baseline, variants = result.baseline, result.variants[1:]
    return render_page(
        "whatif.html.j2",
        title=f"What if: {result.base}",
        scope=f"{result.base} · Kubernetes {result.version} · {format_seconds(result.seconds)} of virtual time",
        headline=describe_answer(result),
        tone="good" if result.is_good else "bad",
        lines=[describe_variant(one, baseline) for one in sorted(variants, key=lambda one: one.is_good)],
        head=[one.capitalize() for one in SUMMARY_HEAD],
        rows=[(one, summarize(one, baseline)) for one in result.variants],
        charts=draw_charts(result.variants),
        links=list(_links(result)),
        variants=[
            (f"variant-{index}", one, describe_verdict(one), PlacementChart(one.after), list_workload_cells(one))
            for index, one in enumerate(result.variants)
        ],
        workload_head=[one.capitalize() for one in WORKLOAD_HEAD],
        shorten=shorten,
        legend=LEGEND,
        command=command,
    )


def _links(result: WhatIfResult) -> Iterator[tuple[str, str]]:
    """Yield the parts of the evidence: an anchor and a title."""
    yield "summary", "All variants"
    for index, one in enumerate(result.variants):
        yield f"variant-{index}", one.name
