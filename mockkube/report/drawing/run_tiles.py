"""Runs as tiles: a row for each file, or for each folder if there are many files."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from mockkube.report.drawing.tiles import Tile, TileKey, TileRow
from mockkube.scenario.output.claim_results import decide_claims
from mockkube.scenario.runner.results import RunOutcome, RunResult

_ROWS_MAX: Final = 12
_GOOD, _BROKEN_CLAIM, _BAD, _SKIPPED = (
    ("good", "as expected"),
    ("wait", "with a refuted claim"),
    ("bad", "not as expected"),
    ("none", "skipped"),
)
TILE_KEYS: Final = (
    TileKey("good", "as expected"),
    TileKey("wait", "as expected, and it refutes a claim"),
    TileKey("bad", "not as expected"),
    TileKey("none", "skipped"),
)


def list_tiles(results: Sequence[tuple[RunResult, str]]) -> list[TileRow]:
    """Return the rows of tiles of runs with their links; only runs with something to read become links."""
    by_file = len({one.file for one, _ in results}) <= _ROWS_MAX
    rows: dict[str, list[Tile]] = {}
    for one, link in sorted(results, key=lambda pair: pair[0].file):
        path = PurePath(one.file)
        label = path.name if by_file else (path.parent.name or ".")
        tone, text = _judge(one)
        href = link if tone in ("bad", "wait") else ""
        rows.setdefault(label, []).append(Tile(tone, text, one.title, href))
    return [TileRow(label, tiles) for label, tiles in rows.items()]


def _judge(run: RunResult) -> tuple[str, str]:
    if run.outcome is RunOutcome.SKIPPED:
        return _SKIPPED
    if run.outcome is not RunOutcome.PASSED:
        return _BAD
    holds = all(one.outcome not in ("false", "harmful advice") for one in decide_claims([run]))
    return _GOOD if holds else _BROKEN_CLAIM
