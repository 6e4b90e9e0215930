"""HTML page about the rehearsal of an upgrade: what breaks, the orders, and the runbook."""

from collections.abc import Iterator
from typing import Final

from mockkube.rehearse.rehearsal import Rehearsal
from mockkube.rehearse.rehearsal_text import (
    describe_orders,
    describe_scope,
    describe_verdict,
    format_order,
    format_verdict,
    list_problems,
)
from mockkube.rehearse.runbook import render_runbook
from mockkube.report.drawing.rehearsal_orders import draw_orders
from mockkube.report.environment import render_page
from mockkube.report.wording import count_noun

_ORDER_TEXT: Final = (
    "Read a row from left to right: the step that is first, second, and so on. Green: safe, and so is the way back. "
    "Amber: safe, but the way back is not. Red: something went wrong; the [table of orders](#orders) says what."
)
_LINES_MAX: Final = 3


def render(rehearsal: Rehearsal, command: str = "") -> str:
    """Return the page; the command repeats the rehearsal."""
    changes = [one for one in rehearsal.findings if not one.breaks]
    return render_page(
        "rehearsal.html.j2",
        title=f"Upgrade from {rehearsal.before} to {rehearsal.after}",
        headline=f"{describe_verdict(rehearsal)}.",
        scope=f"{count_noun(rehearsal.objects, 'object')} checked, {len(rehearsal.results)} of "
        f"{count_noun(len(rehearsal.orders), 'supported order')} simulated",
        tone="good" if rehearsal.is_safe else "bad",
        lines=list(list_lines(rehearsal)),
        panels=[draw_orders(rehearsal)] if rehearsal.results else [],
        order_text=_ORDER_TEXT,
        links=list(_links(rehearsal)),
        orders=describe_orders(rehearsal),
        checked=describe_scope(rehearsal),
        parts=[
            ("breaks", "What breaks", "What fails after the upgrade, or keeps it from ending", rehearsal.breaks),
            ("changes", "What else changes", "Changes that break nothing in this cluster", changes),
        ],
        results=rehearsal.results,
        runbook=render_runbook(rehearsal),
        command=command,
        format_order=format_order,
        format_verdict=format_verdict,
        list_problems=list_problems,
    )


def list_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """Yield what breaks, the first findings only, and what to do before the upgrade."""
    for one in rehearsal.breaks[:_LINES_MAX]:
        field = f"`{one.field}`: " if one.field and one.field not in one.text else ""
        objects = f" ({one.describe_objects()})" if one.objects else ""
        text = f"{field}{one.text}{objects}"
        remedy = f" **Before the upgrade:** {one.remedy}." if one.remedy else ""
        yield f"{text[:1].upper()}{text[1:]}.{remedy}"
    if (more := len(rehearsal.breaks) - _LINES_MAX) > 0:
        yield f"And {count_noun(more, 'thing')} more, [below](#breaks)."


def _links(rehearsal: Rehearsal) -> Iterator[tuple[str, str]]:
    """Yield the parts of the evidence: an anchor and a title."""
    if rehearsal.breaks:
        yield "breaks", "What breaks"
    if any(not one.breaks for one in rehearsal.findings):
        yield "changes", "What else changes"
    yield "orders", "Orders"
    yield "runbook", "Runbook"
