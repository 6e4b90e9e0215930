"""A table of all that was claimed: who says so, whether it holds, and which scenario shows it."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from mockkube.scenario.results import Outcome, RunResult, worst

_HOLDS: Final = "holds"
_HOLDS_NOT: Final = "**does not hold**"
_COLUMNS: Final = "| scenario | claim | source | | what happens |\n| --- | --- | --- | --- | --- |\n"
_HEAD: Final = """# Conformance

Everything that the proposals, the articles about them and their reviewers claim, played on whole clusters. A claim
*holds* when what happens is what the text says. Where it does not, the scenario asserts what happens instead, and the
table says so. Nothing here is an opinion: each line is the outcome of the scenario it names, in virtual time.

This page is generated: `mockkube test {paths} --summary {file}`.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario: all its runs together."""

    file: str
    scenario: str
    source: str
    claim: str
    observed: str
    verdict: str

    @property
    def group(self) -> str:
        """What it belongs to: the directory it lies in."""
        return Path(self.file).parent.name


def rows(results: Iterable[RunResult]) -> list[Row]:
    """Return a row for each scenario that claims something, in the order in which people count."""
    known = sorted((one for one in results if one.claim), key=lambda one: _counted(one.file))
    return [_row(list(runs)) for _, runs in groupby(known, key=lambda one: (one.file, one.scenario))]


def render(results: Iterable[RunResult], file: Path) -> str:
    """Return the page, with links as they are from the place of `file`."""
    known = rows(results)
    parts = [_HEAD.format(paths=_top(known), file=file), _counts(known)]
    for group, members in groupby(known, key=lambda row: row.group):
        parts.append(f"\n## {group}\n\n{_COLUMNS}")
        parts += [_line(row, file) for row in members]
    return "".join(parts)


def _row(runs: Sequence[RunResult]) -> Row:
    first = runs[0]
    return Row(first.file, first.scenario, first.source, first.claim, first.observed, _verdict(runs))


def _verdict(runs: Sequence[RunResult]) -> str:
    outcome = worst(runs)
    if outcome is not Outcome.PASSED:
        return f"**{outcome}**"
    return _HOLDS if runs[0].holds is not False else _HOLDS_NOT


def _counts(known: Sequence[Row]) -> str:
    holding = sum(row.verdict == _HOLDS for row in known)
    refuted = sum(row.verdict == _HOLDS_NOT for row in known)
    rest = len(known) - holding - refuted
    open_ones = f", {rest} could not be played" if rest else ""
    return f"\n{len(known)} claims: {holding} hold, {refuted} do not{open_ones}.\n"


def _line(row: Row, file: Path) -> str:
    link = os.path.relpath(row.file, file.parent)
    cells = (f"[{row.scenario}]({link})", row.claim, row.source, row.verdict, row.observed)
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("<", "&lt;").replace("\n", " ")


def _top(known: Sequence[Row]) -> str:
    """Return the directory in which all of them lie."""
    return os.path.commonpath([row.file for row in known]) if known else "PATH"


def _counted(file: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts G2 before G10."""
    return tuple(_pieces(file))


def _pieces(file: str) -> Iterator[tuple[str, int]]:
    for text, digits in re.findall(r"(\D+)(\d*)", file):
        yield text, int(digits or 0)
