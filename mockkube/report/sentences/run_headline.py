"""The answer of scenario runs in one sentence, and what was run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.report.sentences.step_descriptions import find_failed_step
from mockkube.report.wording import count_noun, join_words, shorten_words
from mockkube.scenario.claims import ClaimOutcome
from mockkube.scenario.output.claim_results import ClaimResult, decide_claims
from mockkube.scenario.runner.results import RunOutcome, RunResult

_FAILED_MAX = 3
_QUOTE_MAX = 160
_OUTCOMES: Final[Mapping[ClaimOutcome | None, str]] = {
    "holds": "holds",
    "false": "is false",
    "harmful advice": "is harmful advice",
    "not stated": "is not stated",
    "not tried": "was not tried",
}
_BROKEN: Final[tuple[ClaimOutcome, ...]] = ("false", "harmful advice")


def describe_headline(results: Sequence[RunResult]) -> str:
    """Return how many runs ended as expected, and how many claims of documents hold; of one claim, the claim."""
    if (only := _find_only_claim(results)) is not None:
        claim, text = only.claim, only.claim.claim or only.claim.quote
        if claim.question:
            return f"{shorten_words(claim.question, _QUOTE_MAX)} {shorten_words(claim.observed, _QUOTE_MAX)}".strip()
        return f"The claim “{shorten_words(text, _QUOTE_MAX)}” {_OUTCOMES[only.outcome]}."
    return " ".join([_describe_runs(results), *_describe_claims(results)])


def _find_only_claim(results: Sequence[RunResult]) -> ClaimResult | None:
    """Return the claim that is decided, if there is only one."""
    claims = decide_claims(results)
    passed = all(one.outcome is RunOutcome.PASSED for one in results)
    return claims[0] if passed and len(claims) == 1 and claims[0].outcome is not None else None


def list_lines(results: Sequence[RunResult]) -> Iterator[str]:
    """Yield what happens, if there is one claim only, else why runs failed."""
    only = _find_only_claim(results)
    if only is None:
        yield from list_failures(results)
    elif only.claim.observed and not only.claim.question:
        yield f"**What happens:** {only.claim.observed}"


def _describe_runs(results: Sequence[RunResult]) -> str:
    counts = Counter(one.outcome for one in results)
    skipped = counts[RunOutcome.SKIPPED]
    played, passed = len(results) - skipped, counts[RunOutcome.PASSED]
    left = f"; {count_noun(skipped, 'run')} skipped" if skipped else ""
    if passed < played:
        return f"{played - passed} of {count_noun(played, 'run')} did not end as expected{left}."
    if not played:
        return f"Nothing was run{left}."
    which = {1: "The run", 2: "Both runs"}.get(played, f"All {played} runs")
    return f"{which} ended as expected{left}."


def _describe_claims(results: Sequence[RunResult]) -> Iterator[str]:
    outcomes = Counter(one.outcome for one in decide_claims(results))
    if not outcomes:
        return
    holds, false = outcomes["holds"], sum(outcomes[one] for one in _BROKEN)
    parts = [f"{holds or 'none'} {'holds' if holds <= 1 else 'hold'}"]
    parts += [f"{false} {'does' if false == 1 else 'do'} not"] if false else []
    rest = outcomes.total() - holds - false
    parts += [f"{rest} {'is' if rest == 1 else 'are'} open"] if rest else []
    yield f"Of {count_noun(outcomes.total(), 'claim')} that documents make, {join_words(parts)}."


def list_failures(results: Sequence[RunResult]) -> Iterator[str]:
    """Yield where the first runs failed that did not end as expected, and why."""
    failed = [one for one in results if one.outcome not in (RunOutcome.PASSED, RunOutcome.SKIPPED)]
    for run in failed[:_FAILED_MAX]:
        index = find_failed_step(run)
        step = run.steps[index] if index is not None else None
        message = (step.message if step is not None else run.message).strip()
        where = f" at line {step.line}" if step is not None else ""
        reason = message.replace("\n", " ")
        yield f"**{run.title}** {run.outcome}{where}{f': {reason}' if reason else ''}"
    if len(failed) > _FAILED_MAX:
        yield f"And {count_noun(len(failed) - _FAILED_MAX, 'run')} more."


def describe_scope(results: Sequence[RunResult]) -> str:
    """Return the number of files and runs, and the versions of Kubernetes at their start."""
    files = count_noun(len({one.file for one in results}), "file")
    versions = sorted({start.version for one in results for start in one.initial_components if start.version})
    simulated = "simulated clusters" if all(one.digest for one in results) else "clusters in real time"
    kubernetes = f", Kubernetes {join_words(versions)}" if versions else ""
    return f"{files}, {count_noun(len(results), 'run')}{kubernetes}, {simulated}"
