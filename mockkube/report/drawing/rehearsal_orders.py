"""Orders of a rehearsal as a picture."""

from mockkube.rehearse.order_player import OrderResult
from mockkube.rehearse.rehearsal import Rehearsal
from mockkube.rehearse.rehearsal_text import format_verdict
from mockkube.rehearse.upgrade_orders import UpgradeStep
from mockkube.report.drawing.order_drawing import ROWS_MAX, OrderDrawing, OrderRow
from mockkube.report.wording import BRIEF, count_noun

_WIDTH = 900.0
_RESULT_WIDTH = 115.0


def draw_orders(rehearsal: Rehearsal, rows_max: int = ROWS_MAX) -> OrderDrawing:
    """Return the picture of the orders that were played."""
    safe = len(rehearsal.safe_orders)
    played = count_noun(len(rehearsal.results), "simulated order")
    title = f"{safe or 'None'} of {played} {'is' if safe <= 1 else 'are'} safe"
    rows = [_describe(one) for one in rehearsal.results]
    return OrderDrawing(title, rows, rows_max=rows_max, width=_WIDTH, result_width=_RESULT_WIDTH)


def _describe(result: OrderResult) -> OrderRow:
    tone = "bad" if not result.is_safe else "good" if result.is_reversible else "wait"
    groups = [f"{one.component} {one.pool}" for one in result.order]
    return OrderRow([_name(one) for one in result.order], tone, format_verdict(result), groups=groups)


def _name(step: UpgradeStep) -> str:
    name = f"{step.pool} kubelets" if step.pool else BRIEF.get(step.component, step.component)
    return f"{name} {step.version}"
