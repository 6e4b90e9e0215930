"""Perturbations as tiles: a row for each kind."""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.perturb.session import PerturbationResult, SessionResult
from mockkube.report.drawing.tiles import Tile, TileKey, TileRow

_BAD, _MISSED, _GOOD, _NOT_TRIED = (
    ("bad", "finding"),
    ("wait", "did not take place"),
    ("good", "ok"),
    ("none", "not tried"),
)
_KNOWN: Final = ("good", "known finding")
_TILE_KEYS: Final = (
    TileKey("bad", "finding: the controller does not recover"),
    TileKey("wait", "did not take place"),
    TileKey("good", "ok: ends as undisturbed, or as is known to be right"),
    TileKey("none", "not tried for lack of time"),
)


def list_tiles(result: SessionResult, links: Mapping[str, str]) -> list[TileRow]:
    """Return a row for each kind of perturbation; those with findings come first, and link by signature."""
    rows: dict[str, list[Tile]] = {}
    for one in result.results:
        tone, text = _judge(one)
        href = links.get(one.finding.signature, "") if one.finding is not None else ""
        rows.setdefault(one.perturbation.kind, []).append(Tile(tone, text, one.perturbation.text, href))
    for perturbation in result.not_tried:
        rows.setdefault(perturbation.kind, []).append(Tile(*_NOT_TRIED, perturbation.text))
    ordered = sorted(rows.items(), key=lambda row: all(one.tone != "bad" for one in row[1]))
    return [TileRow(kind, tiles) for kind, tiles in ordered]


def list_keys(rows: Sequence[TileRow]) -> list[TileKey]:
    """Return what the colours of these tiles mean."""
    tones = {tile.tone for row in rows for tile in row.tiles}
    return [key for key in _TILE_KEYS if key.tone in tones]


def _judge(one: PerturbationResult) -> tuple[str, str]:
    if one.finding is not None:
        return _BAD
    if one.known_reason:
        return _KNOWN
    return _GOOD if one.is_reached else _MISSED
