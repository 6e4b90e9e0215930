"""Picture of a what-if: the course of each change."""

import shlex
from typing import Final

from mockkube.report.drawing.tiles import TileKey
from mockkube.report.drawing.whatif_charts import draw_charts
from mockkube.report.pictures.card import Card, render_card
from mockkube.report.sentences.whatif_answer import describe_variant
from mockkube.report.wording import count_noun
from mockkube.whatif.results import WhatIfResult
from mockkube.whatif.whatif_text import describe_answer, format_seconds

_CHARTS_MAX: Final = 2
# Wider than on a page, so that two charts fill the picture.
_WIDTH: Final = 1000.0
_KEYS: Final = (
    TileKey("bad", "replicas that workloads lack"),
    TileKey("wait", "pods without a node"),
    TileKey("", "blue line: ready nodes"),
)


def render(result: WhatIfResult, arguments: list[str]) -> str:
    """Return the picture as SVG, with changes that do lasting harm first; the arguments repeat it."""
    changes = sorted(result.variants[1:], key=lambda one: one.is_good)
    nodes = count_noun(result.baseline.first.nodes, "node")
    return render_card(
        Card(
            "mockkube whatif",
            f"Kubernetes {result.version} · {nodes} · {format_seconds(result.seconds)} of virtual time",
            describe_answer(result),
            "good" if result.is_good else "bad",
            shlex.join(["mockkube", "whatif", *arguments]),
            lines=[describe_variant(one, result.baseline) for one in changes],
            charts=draw_charts(changes[:_CHARTS_MAX], _WIDTH),
            keys=_KEYS,
        )
    )
