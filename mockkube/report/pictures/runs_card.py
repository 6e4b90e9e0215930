"""Picture of scenario runs: a tile for each run, or the timeline of the only one."""

import shlex
from collections.abc import Sequence
from typing import Final

from mockkube.report.drawing.run_tiles import TILE_KEYS, list_tiles
from mockkube.report.drawing.run_timelines import find_only_timeline
from mockkube.report.drawing.tiles import TileKey
from mockkube.report.pictures.card import Card, render_card
from mockkube.report.sentences.run_headline import describe_headline, describe_scope, list_lines
from mockkube.report.wording import tool_name
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.run_pool import replay_command

# Narrower than on a page, because a picture is shown smaller.
_WIDTH: Final = 820
_LANES_MAX: Final = 11
_FILES_MAX: Final = 3
_TIMELINE_KEYS: Final = (
    TileKey("good", "pod Running"),
    TileKey("wait", "pod Pending"),
    TileKey("bad", "pod evicted or Failed"),
    TileKey("terminating", "pod being deleted"),
)


def render(results: Sequence[RunResult], paths: Sequence[str]) -> str:
    """Return the picture as SVG; the paths are those of the command line."""
    timeline = find_only_timeline(results, lanes_max=_LANES_MAX, width=_WIDTH)
    failed = any(one.outcome not in (RunOutcome.PASSED, RunOutcome.SKIPPED) for one in results)
    simulated = all(one.digest for one in results)
    return render_card(
        Card(
            "mockkube test",
            describe_scope(results),
            describe_headline(results),
            "bad" if failed else "good",
            replay_command(results[0]) if len(results) == 1 else shlex.join(["mockkube", "test", *paths[:_FILES_MAX]]),
            lines=list(list_lines(results)),
            tiles=[] if timeline is not None else list_tiles([(one, "") for one in results]),
            timeline=timeline,
            keys=TILE_KEYS if timeline is None else _TIMELINE_KEYS,
            footer="" if simulated else f"{tool_name()}, in real time",
        )
    )
