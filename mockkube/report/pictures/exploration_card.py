"""Picture of an exploration: every order, and which are safe."""

from typing import Final

from mockkube.explore.conclusions import changes_versions
from mockkube.explore.exploration import Exploration
from mockkube.explore.plans.plan import Direction
from mockkube.report.drawing.exploration_orders import draw_orders
from mockkube.report.drawing.tiles import TileKey
from mockkube.report.pictures.card import Card, render_card
from mockkube.report.sentences.answer import Answer
from mockkube.report.sentences.headline import describe_answer, describe_setting, find_tone, list_refuted_claims

_ROWS_MAX: Final = 14
_KEYS: Final = (
    TileKey("good", "safe: nothing broke"),
    TileKey("bad", "something broke; a longer bar is more harm"),
)
_UNTRIED: Final = TileKey("idle", "not tried")
_UNSUPPORTED: Final = TileKey("none", "not supported by the version skew policy")
_WRITTEN: Final = TileKey("", "★ an order from the document")


def render(result: Exploration) -> str:
    """Return the picture as SVG."""
    answer = Answer(result)
    untried = any(answer.untried(direction) for direction in Direction)
    written = any(not one.prepares for _, one in result.list_written())
    return render_card(
        Card(
            "mockkube explore",
            describe_setting(answer),
            describe_answer(answer),
            find_tone(answer),
            f"mockkube explore {result.plan.name}.yaml --seed {result.plan.seed}",
            lines=list(list_refuted_claims(answer)),
            panels=draw_orders(answer, _ROWS_MAX),
            keys=[
                *_KEYS,
                *([_UNTRIED] if untried else []),
                *([_UNSUPPORTED] if changes_versions(result.plan) else []),
                *([_WRITTEN] if written else []),
            ],
        )
    )
