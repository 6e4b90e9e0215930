"""Picture of a rehearsal: every order that was played."""

import shlex
from collections.abc import Sequence
from typing import Final

from mockkube.rehearse.rehearsal import Rehearsal
from mockkube.rehearse.rehearsal_text import describe_verdict
from mockkube.report.drawing.rehearsal_orders import draw_orders
from mockkube.report.drawing.tiles import TileKey
from mockkube.report.pictures.card import Card, render_card
from mockkube.report.wording import count_noun

_ROWS_MAX: Final = 14
_KEYS: Final = (
    TileKey("good", "safe, and so is the way back"),
    TileKey("wait", "safe, but the way back is not"),
    TileKey("bad", "something went wrong"),
)


def render(rehearsal: Rehearsal, arguments: Sequence[str]) -> str:
    """Return the picture as SVG; the arguments of the command line repeat it."""
    pools = f", {count_noun(len(rehearsal.pools), 'pool')}" if rehearsal.pools else ""
    return render_card(
        Card(
            "mockkube rehearse",
            f"{count_noun(rehearsal.objects, 'object')} on {count_noun(rehearsal.nodes, 'node')}{pools}",
            f"{describe_verdict(rehearsal)}.",
            "good" if rehearsal.is_safe else "bad",
            shlex.join(["mockkube", "rehearse", *arguments]),
            panels=[draw_orders(rehearsal, _ROWS_MAX)] if rehearsal.results else [],
            lines=[f"{one.text}: {one.remedy}" if one.remedy else one.text for one in rehearsal.breaks],
            keys=_KEYS if rehearsal.results else [],
        )
    )
