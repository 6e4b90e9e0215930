"""HTML page about a what-if: the variants side by side, their course, placement and disruption."""

from collections.abc import Iterator

from mockkube.report.drawing.whatif_charts import PlacementChart, draw_charts
from mockkube.report.environment import render_page
from mockkube.report.wording import count_noun
from mockkube.whatif.results import VariantResult, WhatIfResult
from mockkube.whatif.whatif_text import (
    SUMMARY_HEAD,
    WORKLOAD_HEAD,
    describe_verdict,
    format_cost,
    format_seconds,
    list_workload_cells,
    shorten,
    summarize,
)


def render(result: WhatIfResult) -> str:
    """Return the page."""
    baseline, variants = result.baseline, result.variants[1:]
    bad = [one for one in variants if not one.is_good]
    return render_page(
        "whatif.html.j2",
        title=f"What if: {result.base}",
        scope=f"{result.base} · Kubernetes {result.version} · {format_seconds(result.seconds)} of virtual time",
        headline=_make_headline(variants, bad),
        tone="bad" if bad else "good",
        lines=[f"**{one.name}**: {describe_verdict(one)}{_describe_cost(one, baseline)}." for one in variants],
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
    )


def _make_headline(variants: tuple[VariantResult, ...], bad: list[VariantResult]) -> str:
    if not bad:
        return f"The cluster bears {'the change' if len(variants) == 1 else f'all {len(variants)} changes'}."
    if len(bad) == len(variants):
        return f"The cluster does not bear {'the change' if len(variants) == 1 else 'any of the changes'}."
    return f"The cluster does not bear {len(bad)} of {count_noun(len(variants), 'change')}."


def _describe_cost(variant: VariantResult, baseline: VariantResult) -> str:
    difference = round(variant.last.cost_per_hour - baseline.last.cost_per_hour, 4)
    if not difference:
        return ""
    return f"; nodes cost {format_cost(abs(difference))} an hour {'more' if difference > 0 else 'less'}"


def _links(result: WhatIfResult) -> Iterator[tuple[str, str]]:
    """Yield the parts of the evidence: an anchor and a title."""
    yield "summary", "All variants"
    for index, one in enumerate(result.variants):
        yield f"variant-{index}", one.name
