"""HTML page about the rehearsal of an upgrade: what breaks, the orders, and the runbook."""

from mockkube.rehearse.rehearsal import Rehearsal
from mockkube.rehearse.rehearsal_text import (
    describe_orders,
    describe_verdict,
    format_order,
    format_verdict,
    list_problems,
)
from mockkube.rehearse.runbook import render_runbook
from mockkube.report.environment import render_page


def render(rehearsal: Rehearsal) -> str:
    """Return the page."""
    return render_page(
        "rehearsal.html.j2",
        title=f"Upgrade from {rehearsal.before} to {rehearsal.after}",
        verdict=describe_verdict(rehearsal),
        orders=describe_orders(rehearsal),
        parts=[
            ("What breaks", rehearsal.breaks),
            ("What else changes", [one for one in rehearsal.findings if not one.breaks]),
        ],
        results=rehearsal.results,
        runbook=render_runbook(rehearsal),
        format_order=format_order,
        format_verdict=format_verdict,
        list_problems=list_problems,
    )
