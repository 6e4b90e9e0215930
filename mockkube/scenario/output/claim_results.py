"""Decide the outcomes of claims from the results of runs, and count them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.claims import Claim, ClaimOutcome
from mockkube.scenario.runner.results import RunOutcome, RunResult, worst_outcome

_NOT_HOLDING: Final[tuple[ClaimOutcome, ...]] = ("false", "harmful advice")
_OUTCOME_TEXTS: Final[dict[ClaimOutcome | None, str]] = {
    "not stated": "not stated by the text",
    "not tried": "not tried",
    None: "not decided",
}
# Failures first: a large number of passed runs must not hide them.
_ORDER: Final = (*(one for one in RunOutcome if one is not RunOutcome.PASSED), RunOutcome.PASSED)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """One claim of a scenario, after all runs of the scenario."""

    file: str
    scenario: str
    claim: Claim
    # Worst outcome of the runs: the claim is decided if all passed and no step was skipped.
    runs: RunOutcome

    @property
    def outcome(self) -> ClaimOutcome | None:
        """Outcome of the claim; None if it is not decided, or if the file gives none."""
        # A claim that is not tried needs no run to be decided: the file says why it cannot be played.
        if self.claim.outcome == "not tried" or self.runs is RunOutcome.PASSED:
            return self.claim.outcome
        return None


def decide_claims(results: Iterable[RunResult]) -> list[ClaimResult]:
    """Return each claim of the runs once, by file name in natural order (G2 before G10)."""
    known = sorted((one for one in results if one.claims), key=lambda one: _natural_sort_key(one.file))
    return [
        ClaimResult(file, scenario, claim, _combine_outcomes(runs))
        for (file, scenario), runs in _group_by_scenario(known)
        for claim in runs[0].claims
    ]


def _group_by_scenario(results: Iterable[RunResult]) -> Iterator[tuple[tuple[str, str], list[RunResult]]]:
    for key, runs in groupby(results, key=lambda one: (one.file, one.scenario)):
        yield key, list(runs)


def _combine_outcomes(runs: Sequence[RunResult]) -> RunOutcome:
    """Return the worst outcome of some runs; skipped steps or runs are worse than passed ones."""
    found = worst_outcome(runs)
    skipped = any(RunOutcome.SKIPPED in (run.outcome, *(step.outcome for step in run.steps)) for run in runs)
    return RunOutcome.SKIPPED if found is RunOutcome.PASSED and skipped else found


def _natural_sort_key(file: str) -> list[tuple[str, int]]:
    """Return a sort key that orders numbers by value."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D+)(\d*)", file)]


def count_outcomes(claims: Sequence[ClaimResult], noun: str = "") -> str:
    """Return the number of claims by outcome, like `35 hold, 2 do not (1 false, 1 harmful advice)`.

    `noun`, if given, follows the first number: `35 claims hold`.
    """
    counts = Counter(one.outcome for one in claims)
    broken = [f"{counts[one]} {one}" for one in _NOT_HOLDING if counts[one]]
    not_holding = sum(counts[one] for one in _NOT_HOLDING)
    one = counts["holds"] == 1
    subject = f"{noun}{'s' * (not one)} " if noun else ""
    text = f"{counts['holds']} {subject}{'holds' if one else 'hold'}, "
    text += f"{not_holding} {'does' if not_holding == 1 else 'do'} not"
    text += f" ({', '.join(broken)})" if broken else ""
    return "; ".join([text, *(f"{counts[one]} {word}" for one, word in _OUTCOME_TEXTS.items() if counts[one])])


def count_runs(results: Sequence[RunResult]) -> str:
    """Return the number of runs by outcome, like `60 runs as expected`."""
    runs = f"{len(results)} run{'s' * (len(results) != 1)}"
    counts = Counter(one.outcome for one in results)
    if not results or counts[RunOutcome.PASSED] == len(results):
        return f"{runs} as expected" if results else f"{runs}: none"
    words = {one: "as expected" if one is RunOutcome.PASSED else str(one) for one in RunOutcome}
    return f"{runs}: {', '.join(f'{counts[one]} {words[one]}' for one in _ORDER if counts[one])}"


def summarize(results: Sequence[RunResult]) -> str:
    """Return the totals of all runs and claims in one line."""
    runs, claims = count_runs(results), decide_claims(results)
    if not claims:
        return runs
    return f"{runs}{'; ' if ':' in runs else ': '}{count_outcomes(claims, 'claim')}"
