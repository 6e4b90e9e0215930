"""Orders of an exploration as pictures: a panel for each direction."""

from collections.abc import Sequence

from mockkube.explore.exploration import OrderVerdict, SafetyVerdict
from mockkube.explore.plans.plan import Direction
from mockkube.report.drawing.order_drawing import ROWS_MAX, OrderDrawing, OrderRow
from mockkube.report.sentences.answer import Answer
from mockkube.report.wording import BRIEF, count_noun

_TONES = {SafetyVerdict.SAFE: "good", SafetyVerdict.UNSAFE: "bad", SafetyVerdict.NOT_TRIED: "idle"}
_RESULTS = {SafetyVerdict.SAFE: "safe", SafetyVerdict.UNSAFE: "not safe", SafetyVerdict.NOT_TRIED: "not tried"}


def draw_orders(answer: Answer, rows_max: int = ROWS_MAX) -> list[OrderDrawing]:
    """Return the panel of each direction, with one scale of harm."""
    worst = max((one.worst.harm.score for one in answer.result.orders if not one.prepares), default=0)
    return [_draw(answer, direction, answer.unprepared(direction), worst, rows_max) for direction in Direction]


def _draw(
    answer: Answer, direction: Direction, orders: Sequence[OrderVerdict], worst: int, rows_max: int
) -> OrderDrawing:
    judged = [(one, answer.is_supported(direction, one.order)) for one in orders]
    # Orders that the version skew policy supports come first; without a change of version all do.
    judged.sort(key=lambda pair: not pair[1])
    rows = [_describe(one, supported=supported) for one, supported in judged]
    title = f"To {answer.words.verb(direction)}: {_count([one for one, supported in judged if supported], len(orders))}"
    return OrderDrawing(title, rows, score_max=worst, rows_max=rows_max)


def _count(supported: Sequence[OrderVerdict], total: int) -> str:
    """Return how many orders are safe, of those that the version skew policy supports."""
    if not supported:
        return f"none of {count_noun(total, 'order')} is supported"
    if all(one.verdict is SafetyVerdict.NOT_TRIED for one in supported):
        return f"{count_noun(len(supported), 'order')}, not tried"
    safe = sum(one.is_safe for one in supported)
    kind = "order" if len(supported) == total else "supported order"
    return f"{safe or 'none'} of {count_noun(len(supported), kind)} {'is' if safe <= 1 else 'are'} safe"


def _describe(one: OrderVerdict, *, supported: bool) -> OrderRow:
    unsafe = one.verdict is SafetyVerdict.UNSAFE
    return OrderRow(
        steps=[BRIEF.get(name, name) for name in one.order],
        tone=_TONES[one.verdict] if supported or unsafe else "none",
        result=_RESULTS[one.verdict] if supported or unsafe else "not supported",
        score=one.worst.harm.score if unsafe else 0,
        marked=bool(one.written_orders),
    )
