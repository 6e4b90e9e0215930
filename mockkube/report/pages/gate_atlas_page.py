"""HTML page of the atlas of gates: a table of all gates, then what was found about each."""

from collections.abc import Sequence

from mockkube.atlas.gate_entry import FlipVerdict, GateEntry, GateStatus
from mockkube.report.environment import render_page
from mockkube.report.gate_markdown import LINES_MAX, format_trouble
from mockkube.report.sentences.gate_answer import (
    describe_answer,
    describe_claim,
    describe_rollback,
    describe_verdict,
    find_tone,
)
from mockkube.report.wording import count_noun

_TONES = {
    FlipVerdict.SAFE: "good",
    FlipVerdict.DIFFERS: "wait",
    FlipVerdict.UNSAFE: "bad",
    FlipVerdict.NOT_TRIED: "",
}


def render(entries: Sequence[GateEntry]) -> str:
    """Return the page."""
    shown = [one for one in entries if one.status is not GateStatus.NOT_SIMULATED]
    tried = [one for one in shown if one.is_tried]
    reasons: dict[str, list[str]] = {}
    for one in entries:
        if one.status is GateStatus.NOT_SIMULATED:
            reasons.setdefault(one.reason, []).append(one.gate)
    return render_page(
        "gates.html.j2",
        headline=_describe(tried),
        lines=[
            f"{count_noun(len(entries), 'gate')} of Kubernetes {entries[0].stages[0].version} to "
            f"{entries[0].stages[-1].version}: {len(tried)} were tried, {len(shown) - len(tried)} are read by "
            f"simulated components but could not be tried, {len(entries) - len(shown)} change nothing here."
        ],
        entries=shown,
        reasons=reasons,
        links=[("gates", "All gates"), ("details", "Each gate"), ("others", "Not simulated")],
        lines_max=LINES_MAX,
        tones=_TONES,
        describe_answer=describe_answer,
        describe_claim=describe_claim,
        describe_rollback=describe_rollback,
        describe_verdict=describe_verdict,
        find_tone=find_tone,
        format_trouble=format_trouble,
    )


def _describe(tried: Sequence[GateEntry]) -> str:
    """Return the headline: how many gates can be turned on and off in any order."""
    safe = [one for one in tried if describe_verdict(one).startswith("safe")]
    partly = sum(bool(one.not_tried) for one in safe)
    return (
        f"{len(safe) - partly} of {count_noun(len(tried), 'feature gate')} can be turned on and off component by "
        f"component, in any order; {partly} as far as tried; {len(tried) - len(safe)} need care."
    )
