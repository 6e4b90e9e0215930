"""Markdown page of all claims: the text, its source, the outcome, and the scenario that shows it."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from mockkube.scenario.claim_results import ClaimResult, count_outcomes, decide
from mockkube.scenario.claims import CLAIM_OUTCOMES, MEANINGS, Claim
from mockkube.scenario.results import Outcome, RunResult

_COLUMNS: Final = "| scenario | the text | where | outcome | what happens |\n| --- | --- | --- | --- | --- |\n"
_HEAD: Final = """# Conformance

The claims of the proposals, of the articles about them and of their reviewers, played on whole clusters in virtual
time. Each row has the words of the text, in quotation marks, and the outcome that the scenario shows. `[...]`
stands for words of the text that are left out.

| outcome | meaning |
| --- | --- |
{outcomes}
This page is generated: `mockkube test {paths} --summary {file}`.

"""


def render(results: Iterable[RunResult], file: Path) -> str:
    """Return the page, with links relative to the directory of `file`."""
    claims = decide(results)
    outcomes = "".join(f"| {one} | {MEANINGS[one]} |\n" for one in CLAIM_OUTCOMES)
    head = _HEAD.format(outcomes=outcomes, paths=_top(claims), file=file)
    return "".join([head, _counts(claims), *_groups(claims, file)])


def _counts(claims: Sequence[ClaimResult]) -> str:
    """Return the number of claims by outcome, in all and by directory."""
    rows = ["| | " + " | ".join(CLAIM_OUTCOMES) + " | not decided |", "| --- |" + " ---: |" * (len(CLAIM_OUTCOMES) + 1)]
    for group, members in _grouped(claims):
        rows.append(f"| {group} | {_numbers(members)} |")
    rows.append(f"| all | {_numbers(claims)} |")
    quotes = {(one.claim.source, one.claim.quote) for one in claims if one.claim.quote}
    total = f"{len(claims)} claims: {count_outcomes(claims)}."
    repeated = f"They quote {len(quotes)} passages: one that several scenarios try counts for each of them."
    return f"{total}\n\n{repeated}\n\n" + "\n".join(rows) + "\n"


def _numbers(claims: Sequence[ClaimResult]) -> str:
    return " | ".join(str(sum(one.outcome == outcome for one in claims)) for outcome in (*CLAIM_OUTCOMES, None))


def _groups(claims: Sequence[ClaimResult], file: Path) -> Iterator[str]:
    for group, members in _grouped(claims):
        yield f"\n## {group}\n\n{_introduction(members[0])}{_COLUMNS}"
        yield from (_line(one, file) for one in members)


def _introduction(one: ClaimResult) -> str:
    """Return the text of the README.md beside a scenario, if there is one."""
    readme = Path(one.file).parent / "README.md"
    return f"{readme.read_text(encoding='utf-8').strip()}\n\n" if readme.is_file() else ""


def _grouped(claims: Sequence[ClaimResult]) -> Iterator[tuple[str, list[ClaimResult]]]:
    """Yield claims by the directory of their scenarios."""
    for group, members in groupby(claims, key=lambda one: Path(one.file).parent.name):
        yield group, list(members)


def _line(one: ClaimResult, file: Path) -> str:
    link = os.path.relpath(one.file, file.parent)
    cells = (f"[{one.scenario}]({link})", _text(one.claim), one.claim.place, _outcome(one), one.claim.observed)
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _text(claim: Claim) -> str:
    """Return question or claim in plain words, followed by the quote."""
    quote = f"“{claim.quote}”" if claim.quote else ""
    return " ".join(filter(None, (claim.question or claim.claim, quote)))


def _outcome(one: ClaimResult) -> str:
    if one.outcome is not None:
        return one.outcome if one.outcome == "holds" else f"**{one.outcome}**"
    return "not decided" if one.runs is Outcome.PASSED else f"not decided: {one.runs}"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("<", "&lt;").replace("\n", " ")


def _top(claims: Sequence[ClaimResult]) -> str:
    """Return the common directory of all scenarios."""
    return os.path.commonpath([one.file for one in claims]) if claims else "PATH"
