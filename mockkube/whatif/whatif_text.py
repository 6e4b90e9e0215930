"""Result of a what-if as tables for the terminal, and as Markdown."""

from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.whatif.observer import count_disrupted, join_counts
from mockkube.whatif.results import PlacementRow, VariantResult, WhatIfResult

_REASON_MAX: Final = 160
_ROWS_MAX: Final = 20
SUMMARY_HEAD: Final = ("variant", "nodes", "running", "pending", "disrupted", "short", "recovered", "cost/hour")
PLACEMENT_HEAD: Final = ("zone", "group", "nodes", "pods", "cpu", "memory")
WORKLOAD_HEAD: Final = ("workload", "replicas", "most missing", "for", "missing now", "pods that ended")


def format_seconds(seconds: float | None) -> str:
    """Return a duration like `1m30s`; `never` for None."""
    if seconds is None:
        return "never"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "at once"


def format_cost(cost: float) -> str:
    """Return a cost with a few digits; empty if there are no prices."""
    return f"{cost:.2f}" if cost else ""


def summarize(variant: VariantResult, baseline: VariantResult) -> list[str]:
    """Return the row of a variant: what it has in the end, and what happened on the way."""
    first, last = variant.first, variant.last
    nodes = str(last.nodes) if first.nodes == last.nodes else f"{first.nodes} → {last.nodes}"
    cost = format_cost(last.cost_per_hour)
    if variant is not baseline and cost:
        cost += f" ({last.cost_per_hour - baseline.last.cost_per_hour:+.2f})"
    return [
        variant.name,
        nodes,
        str(last.running),
        str(last.pending),
        str(count_disrupted(variant.disruptions)),
        str(max(variant.unavailable_max - first.unavailable, 0)),
        "" if variant is baseline else format_seconds(variant.recovered_after),
        cost,
    ]


def list_placement_cells(rows: Sequence[PlacementRow]) -> list[list[str]]:
    """Return the cells of a placement."""
    return [
        [
            row.zone or "-",
            row.group or "-",
            str(row.nodes),
            str(row.pods),
            f"{row.cpu_percent}%",
            f"{row.memory_percent}%",
        ]
        for row in rows
    ]


def list_workload_cells(variant: VariantResult) -> list[list[str]]:
    """Return the cells of the workloads that a variant affects."""
    return [
        [
            one.name,
            str(one.replicas),
            str(one.unavailable_max),
            format_seconds(one.unavailable_seconds) if one.unavailable_max else "",
            str(one.unavailable_at_end),
            join_counts(one.disruptions),
        ]
        for one in variant.workloads
    ]


def describe_verdict(variant: VariantResult) -> str:
    """Return the verdict about a variant in a sentence."""
    waiting = variant.last.pending - variant.first.pending
    if waiting > 0:
        return f"{waiting} more pod{'s wait' if waiting > 1 else ' waits'} for a node at the end"
    if variant.recovered_after is None:
        return "workloads lack replicas at the end"
    short = max(variant.unavailable_max - variant.first.unavailable, 0)
    if not short:
        return "no workload lacks a replica at any time"
    missing = f"workloads lack up to {short} replica{'s' * (short > 1)}"
    return f"{missing}, and recover after {format_seconds(variant.recovered_after)}"


def shorten(reason: str) -> str:
    """Return a reason of limited length."""
    return reason if len(reason) <= _REASON_MAX else f"{reason[: _REASON_MAX - 1]}…"


def render_table(result: WhatIfResult) -> str:
    """Return the tables for the terminal."""
    baseline = result.baseline
    rows = [summarize(one, baseline) for one in result.variants]
    return "\n".join([*_align([SUMMARY_HEAD, *rows]), *_list_details(result), ""]).rstrip("\n")


def _list_details(result: WhatIfResult) -> Iterator[str]:
    for variant in result.variants:
        yield ""
        yield f"{variant.name}: {describe_verdict(variant)}"
        for change in variant.changes:
            yield f"  {change}"
        for note in variant.notes:
            yield f"  {shorten(note)}"
        for pending in variant.pending:
            yield f"  {pending.count} pending of {pending.workload}: {shorten(pending.reason)}"
        cells = list_workload_cells(variant)
        if cells:
            yield from (f"  {line}" for line in _align([WORKLOAD_HEAD, *cells[:_ROWS_MAX]]))
            if len(cells) > _ROWS_MAX:
                yield f"  and {len(cells) - _ROWS_MAX} more"
        if variant is result.baseline or variant.after != result.baseline.after:
            yield from (f"  {line}" for line in _align([PLACEMENT_HEAD, *list_placement_cells(variant.after)]))


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    first, *others = rows
    lines = [[cell.upper() for cell in first], *others]
    return ["   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def render_markdown(result: WhatIfResult) -> str:
    """Return a Markdown document."""
    baseline = result.baseline
    lines = [f"# What if: {result.base}", ""]
    lines += _make_markdown_table(SUMMARY_HEAD, [summarize(one, baseline) for one in result.variants])
    for variant in result.variants:
        lines += ["", f"## {variant.name}", "", f"{describe_verdict(variant).capitalize()}.", ""]
        lines += [f"* {text}" for text in (*variant.changes, *map(shorten, variant.notes))]
        if variant.pending:
            rows = [[one.workload, str(one.count), shorten(one.reason)] for one in variant.pending]
            lines += ["", *_make_markdown_table(("pending pods of", "count", "reason"), rows)]
        if variant.workloads:
            lines += ["", *_make_markdown_table(WORKLOAD_HEAD, list_workload_cells(variant))]
        lines += ["", *_make_markdown_table(PLACEMENT_HEAD, list_placement_cells(variant.after))]
    return "\n".join([*lines, ""])


def _make_markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def make_row(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"

    return [make_row(head), make_row(["---"] * len(head)), *map(make_row, rows)]
