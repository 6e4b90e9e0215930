"""Result of a what-if as tables for the terminal, and as Markdown."""

from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.whatif.observer import count_disrupted, join_counts
from mockkube.whatif.results import PlacementRow, VariantResult, WhatIfResult

_REASON_MAX: Final = 240
_ROWS_MAX: Final = 20
SUMMARY_HEAD: Final = ("variant", "nodes", "running", "pending", "disrupted", "short", "recovered", "cost/hour")
PLACEMENT_HEAD: Final = ("zone", "group", "nodes", "pods", "cpu", "memory")
LEGEND: Final = (
    "disrupted: running pods that were evicted, preempted or lost after the change",
    "short: most ready replicas that workloads lacked at a time, beyond those before the change; looked at every 10 s",
    "recovered: time after the change from which on workloads lack no more replicas than before it",
)
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
            *(
                # A pod without a controller has no replicas to lack.
                ("-", "-", "-", "-")
                if one.is_pod
                else (
                    str(one.replicas),
                    str(one.unavailable_max),
                    format_seconds(one.unavailable_seconds) if one.unavailable_max else "-",
                    str(one.unavailable_at_end),
                )
            ),
            join_counts(one.disruptions) or "-",
        ]
        for one in variant.workloads
    ]


def describe_answer(result: WhatIfResult) -> str:
    """Return how many of the changes do lasting harm, and which, in one sentence."""
    changes = result.variants[1:]
    bad = [one for one in changes if not one.is_good]
    if not bad:
        subject = "The change does no" if len(changes) == 1 else f"None of the {len(changes)} changes does"
        return f"{subject} lasting harm: at the end no more pods are pending, and no workload lacks more replicas."
    harms = (
        ("pods stay pending", any(one.last.pending > one.first.pending for one in bad)),
        ("workloads stay short of replicas", any(one.recovered_after is None for one in bad)),
        ("pods without a controller are lost", any(one.lost_pods for one in bad)),
    )
    subject = "The change" if len(changes) == 1 else f"{len(bad)} of {len(changes)} changes"
    found = ", ".join(text for text, happens in harms if happens)
    return f"{subject} {'does' if len(bad) == 1 else 'do'} lasting harm: {found}."


def describe_verdict(variant: VariantResult) -> str:
    """Return the verdict about a variant in a sentence."""
    lost = variant.lost_pods
    text = f"; {lost} pod{'s' * (lost > 1)} without a controller {'are' if lost > 1 else 'is'} lost" if lost else ""
    return f"{_describe_replicas(variant)}{text}"


def _describe_replicas(variant: VariantResult) -> str:
    waiting = variant.last.pending - variant.first.pending
    if waiting > 0:
        return f"{waiting} more pod{'s wait' if waiting > 1 else ' waits'} for a node at the end"
    if variant.recovered_after is None:
        return "workloads lack replicas at the end"
    short = max(variant.unavailable_max - variant.first.unavailable, 0)
    if not short:
        # Replicas that are back before the next sample do not show.
        return "no workload lacks a replica"
    missing = f"workloads lack up to {short} replica{'s' * (short > 1)}"
    return f"{missing}, and recover after {format_seconds(variant.recovered_after)}"


def _capitalize(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def shorten(reason: str) -> str:
    """Return a reason of limited length."""
    return reason if len(reason) <= _REASON_MAX else f"{reason[: _REASON_MAX - 1]}…"


def render_table(result: WhatIfResult) -> str:
    """Return the tables for the terminal."""
    baseline = result.baseline
    rows = [summarize(one, baseline) for one in result.variants]
    lines = [describe_answer(result), "", *_align([SUMMARY_HEAD, *rows]), *_list_details(result), "", *LEGEND]
    return "\n".join(lines)


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
    lines = [f"# What if: {result.base}", "", describe_answer(result), ""]
    lines += _make_markdown_table(SUMMARY_HEAD, [summarize(one, baseline) for one in result.variants])
    lines += ["", *(f"* {text}" for text in LEGEND)]
    for variant in result.variants:
        lines += ["", f"## {variant.name}", "", f"{_capitalize(describe_verdict(variant))}.", ""]
        notes = [f"* {text}" for text in (*variant.changes, *map(shorten, variant.notes))]
        if notes:
            lines += [*notes, ""]
        if variant.pending:
            rows = [[one.workload, str(one.count), shorten(one.reason)] for one in variant.pending]
            lines += [*_make_markdown_table(("pending pods of", "count", "reason"), rows), ""]
        if variant.workloads:
            lines += [*_make_markdown_table(WORKLOAD_HEAD, list_workload_cells(variant)), ""]
        lines += [*_make_markdown_table(PLACEMENT_HEAD, list_placement_cells(variant.after))]
    return "\n".join([*lines, ""])


def _make_markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def make_row(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"

    return [make_row(head), make_row(["---"] * len(head)), *map(make_row, rows)]
