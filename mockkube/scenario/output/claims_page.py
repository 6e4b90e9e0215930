"""Markdown page of all claims: the text, its source, the outcome, and the scenario that shows it."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from mockkube.scenario.claims import CLAIM_OUTCOMES, OUTCOME_MEANINGS, Claim
from mockkube.scenario.output.claim_results import ClaimResult, count_outcomes, decide_claims
from mockkube.scenario.runner.results import RunOutcome, RunResult

_COLUMNS: Final = "| scenario | quote | source | outcome | observed |\n| --- | --- | --- | --- | --- |\n"
_HEAD: Final = """# Conformance

Each row quotes a statement of a KEP, of an article about it or of a reviewer, and has the outcome of a scenario that
tests it on a simulated cluster. `[...]` stands for omitted words of the document.

| outcome | meaning |
| --- | --- |
{outcomes}
This page is generated: `mockkube test {paths} --summary {file}`.

"""


def render_claims_page(results: Iterable[RunResult], file: Path) -> str:
    """Return the page, with links relative to the directory of `file`."""
    claims = decide_claims(results)
    outcomes = "".join(f"| {one} | {OUTCOME_MEANINGS[one]} |\n" for one in CLAIM_OUTCOMES)
    head = _HEAD.format(outcomes=outcomes, paths=_common_directory(claims), file=file)
    return "".join([head, _render_counts(claims), *_render_groups(claims, file)])


def _render_counts(claims: Sequence[ClaimResult]) -> str:
    """Return the number of claims by outcome, in all and by directory."""
    rows = ["| | " + " | ".join(CLAIM_OUTCOMES) + " | not decided |", "| --- |" + " ---: |" * (len(CLAIM_OUTCOMES) + 1)]
    for group, members in _group_by_directory(claims):
        rows.append(f"| {group} | {_count_cells(members)} |")
    rows.append(f"| all | {_count_cells(claims)} |")
    quotes = {(one.claim.source, one.claim.quote) for one in claims if one.claim.quote}
    total = f"{len(claims)} claims: {count_outcomes(claims)}."
    repeated = (
        f"They quote {len(quotes)} different passages; a passage that is tested by several scenarios is counted once "
        "per scenario."
    )
    return f"{total}\n\n{repeated}\n\n" + "\n".join(rows) + "\n"


def _count_cells(claims: Sequence[ClaimResult]) -> str:
    return " | ".join(str(sum(one.outcome == outcome for one in claims)) for outcome in (*CLAIM_OUTCOMES, None))


def _render_groups(claims: Sequence[ClaimResult], file: Path) -> Iterator[str]:
    for group, members in _group_by_directory(claims):
        yield f"\n## {group}\n\n{_read_introduction(members[0])}{_COLUMNS}"
        yield from (_render_row(one, file) for one in members)


def _read_introduction(one: ClaimResult) -> str:
    """Return the text of the README.md beside a scenario, if there is one."""
    readme = Path(one.file).parent / "README.md"
    return f"{readme.read_text(encoding='utf-8').strip()}\n\n" if readme.is_file() else ""


def _group_by_directory(claims: Sequence[ClaimResult]) -> Iterator[tuple[str, list[ClaimResult]]]:
    """Yield claims by the directory of their scenarios."""
    for group, members in groupby(claims, key=lambda one: Path(one.file).parent.name):
        yield group, list(members)


def _render_row(one: ClaimResult, file: Path) -> str:
    link = os.path.relpath(one.file, file.parent)
    cells = (
        f"[{one.scenario}]({link})",
        _format_claim(one.claim),
        one.claim.location,
        _format_outcome(one),
        one.claim.observed,
    )
    return f"| {' | '.join(map(_escape_cell, cells))} |\n"


def _format_claim(claim: Claim) -> str:
    """Return question or claim in plain words, followed by the quote."""
    quote = f"“{claim.quote}”" if claim.quote else ""
    return " ".join(filter(None, (claim.question or claim.claim, quote)))


def _format_outcome(one: ClaimResult) -> str:
    if one.outcome is not None:
        return one.outcome if one.outcome == "holds" else f"**{one.outcome}**"
    return "not decided" if one.runs is RunOutcome.PASSED else f"not decided: {one.runs}"


def _escape_cell(text: str) -> str:
    return text.replace("|", r"\|").replace("<", "&lt;").replace("\n", " ")


def _common_directory(claims: Sequence[ClaimResult]) -> str:
    """Return the common directory of all scenarios."""
    return os.path.commonpath([one.file for one in claims]) if claims else "PATH"
