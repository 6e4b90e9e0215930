"""Orders of an exploration as pictures: a panel for each direction."""

from collections.abc import Sequence

from mockkube.explore.exploration import OrderVerdict, SafetyVerdict
from mockkube.explore.plans.plan import Direction
from mockkube.report.drawing.order_drawing import ROWS_MAX, OrderDrawing, OrderRow
from mockkube.report.sentences.answer import Answer
from mockkube.report.wording import BRIEF

_TONES = {SafetyVerdict.SAFE: "good", SafetyVerdict.UNSAFE: "bad", SafetyVerdict.NOT_TRIED: "idle"}
_RESULTS = {SafetyVerdict.SAFE: "safe", SafetyVerdict.UNSAFE: "not safe", SafetyVerdict.NOT_TRIED: "not tried"}


def draw_orders(answer: Answer, rows_max: int = ROWS_MAX) -> list[OrderDrawing]:
    """Return the panel of each direction, with one scale of harm."""
    worst = max((one.worst.harm.score for one in answer.result.orders if not one.prepares), default=0)
    return [_draw(answer, direction, answer.unprepared(direction), worst, rows_max) for direction in Direction]


def _draw(
    answer: Answer, direction: Direction, orders: Sequence[OrderVerdict], worst: int, rows_max: int
) -> OrderDrawing:
    safe = sum(one.is_safe for one in orders)
    verb = answer.words.verb(direction)
    title = f"To {verb}: {safe or 'none'} of {len(orders)} orders {'is' if safe <= 1 else 'are'} safe"
    return OrderDrawing(title, [_describe(one) for one in orders], score_max=worst, rows_max=rows_max)


def _describe(one: OrderVerdict) -> OrderRow:
    return OrderRow(
        steps=[BRIEF.get(name, name) for name in one.order],
        tone=_TONES[one.verdict],
        result=_RESULTS[one.verdict],
        score=one.worst.harm.score if one.verdict is SafetyVerdict.UNSAFE else 0,
        marked=bool(one.written_orders),
    )
