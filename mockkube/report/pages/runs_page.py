"""HTML page about scenario runs: what failed first, with the line, what was asserted and what was found."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.report.drawing.run_tiles import TILE_KEYS, list_tiles
from mockkube.report.drawing.run_timelines import find_only_timeline
from mockkube.report.environment import render_page
from mockkube.report.pages.run_view import LAST, RunView
from mockkube.report.sentences import step_descriptions, trust
from mockkube.report.sentences.run_headline import describe_headline, describe_scope, list_lines
from mockkube.report.sentences.workloads import to_yaml
from mockkube.scenario.claims import CLAIM_OUTCOMES, OUTCOME_MEANINGS, ClaimOutcome
from mockkube.scenario.output.claim_results import decide_claims, summarize
from mockkube.scenario.runner.results import RunOutcome, RunResult

_TONES: Final = {RunOutcome.PASSED: "good", RunOutcome.SKIPPED: "wait"}
_CLAIM_TONES: Final[Mapping[ClaimOutcome, str]] = {
    "holds": "good",
    "false": "bad",
    "harmful advice": "bad",
    "not stated": "wait",
    "not tried": "wait",
}
_CLAIM_TEXTS: Final = {
    "holds": "claims that hold",
    "false": "claims that are false",
    "harmful advice": "claims that are harmful advice",
}
_LINKS_MAX: Final = 5


def render(results: Sequence[RunResult]) -> str:
    """Return the page; runs that did not pass stand first, in full."""
    ordered = sorted(results, key=lambda one: LAST.index(one.outcome) if one.outcome in LAST else -1)
    runs = [RunView(f"run-{index}", one) for index, one in enumerate(ordered)]
    return render_page(
        "runs.html.j2",
        title=f"mockkube test: {summarize(results)}",
        headline=describe_headline(results),
        lines=list(list_lines(results)),
        only_trial=find_only_timeline(results),
        page_tone="bad" if any(one.failed for one in runs) else "good",
        scope=describe_scope(results),
        tile_rows=list_tiles([(view.run, f"#{view.anchor}") for view in runs]) if len(runs) > 1 else [],
        tile_keys=TILE_KEYS,
        links=list(_links(runs)),
        counts=list(_figures(results)),
        runs=runs,
        failed=[one for one in runs if one.failed],
        others=[one for one in runs if not one.failed],
        engine=trust.describe_engine() if any(one.digest for one in results) else "",
        has_real_time=any(one.steps and not one.digest for one in results),
        meanings="; ".join(f"*{one}*: {OUTCOME_MEANINGS[one]}" for one in CLAIM_OUTCOMES),
        describe_step=step_descriptions.describe_step,
        claim_tones=_CLAIM_TONES,
        to_yaml=to_yaml,
        tone=lambda outcome: _TONES.get(outcome, "bad"),
    )


def _links(runs: Sequence[RunView]) -> Iterator[tuple[str, str]]:
    """Yield the parts of the evidence: an anchor and a title."""
    yield from ((one.anchor, one.run.title) for one in runs[:_LINKS_MAX] if one.failed)
    yield "runs", "All runs"
    yield "trust", "How far to trust this"


def _figures(results: Sequence[RunResult]) -> Iterator[tuple[int, str]]:
    """Yield how many runs ended how, and how many claims have which outcome."""
    runs = Counter(one.outcome for one in results)
    claims: Counter[str] = Counter(one.outcome or "not decided" for one in decide_claims(results))
    for outcome in RunOutcome:
        if outcome is not RunOutcome.PASSED:
            yield runs[outcome], f"run{'s' * (runs[outcome] != 1)} {outcome}"
    yield runs[RunOutcome.PASSED], "as expected"
    for name in (*CLAIM_OUTCOMES, "not decided"):
        yield claims[name], _CLAIM_TEXTS.get(name, f"claims: {name}")
