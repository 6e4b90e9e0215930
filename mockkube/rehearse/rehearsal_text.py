"""Report of a rehearsal for a terminal, as Markdown, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from mockkube.rehearse.findings import GATE, Finding, Topic
from mockkube.rehearse.order_player import OrderResult, UpgradeStepResult
from mockkube.rehearse.rehearsal import Rehearsal
from mockkube.rehearse.runbook import render_runbook
from mockkube.rehearse.upgrade_orders import UpgradeOrder

_CHANGES_SHOWN = 15
_WIDTH = 110


def render_table(rehearsal: Rehearsal) -> str:
    """Return the report for a terminal."""
    return "\n".join(_render_lines(rehearsal))


def _render_lines(rehearsal: Rehearsal) -> Iterator[str]:
    yield describe_verdict(rehearsal)
    for topic in Topic:
        found = [one for one in rehearsal.breaks if one.topic is topic]
        if found:
            yield ""
            yield f"{topic.upper()}"
            for one in found:
                yield from _render_finding(one)
    yield from _render_changes([one for one in rehearsal.findings if not one.breaks])
    yield ""
    yield f"ORDERS: {describe_orders(rehearsal)}"
    for result in rehearsal.results:
        yield f"  {format_verdict(result):<24} {format_order(result.order)}"
        for problem in list_problems(result):
            yield f"    {problem}"


def _render_changes(changes: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of what changes without breaking; gates share one."""
    if not changes:
        return
    gates = [one.field for one in changes if one.text.startswith(GATE)]
    others = [one for one in changes if not one.text.startswith(GATE)]
    yield ""
    yield "ALSO CHANGES"
    yield from (f"  {one.text}{_format_objects(one)}" for one in others[:_CHANGES_SHOWN])
    if len(others) > _CHANGES_SHOWN:
        yield f"  and {len(others) - _CHANGES_SHOWN} more: -o json lists them"
    if gates:
        text = f"gates with another default: {', '.join(gates)}"
        yield from wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")


def _render_finding(finding: Finding) -> Iterator[str]:
    field = f"{finding.field}: " if finding.field and finding.field not in finding.text else ""
    yield f"  {field}{finding.text}{_format_objects(finding)}"
    if finding.remedy:
        yield f"    -> {finding.remedy}"


def _format_objects(finding: Finding) -> str:
    return f" ({finding.describe_objects()})" if finding.objects else ""


def describe_verdict(rehearsal: Rehearsal) -> str:
    """Return the answer in one sentence."""
    head = f"From {rehearsal.before} to {rehearsal.after}, {rehearsal.objects} objects on {rehearsal.nodes} nodes: "
    count = len(rehearsal.breaks)
    if rehearsal.is_safe:
        return f"{head}nothing breaks"
    found = f"{count} {'thing breaks' if count == 1 else 'things break'}" if count else "the objects are fine"
    return f"{head}{found}{'' if rehearsal.safe_orders or not rehearsal.results else ', and no order is safe'}"


def describe_orders(rehearsal: Rehearsal) -> str:
    """Return how many orders there are, were played and are safe."""
    reversible = sum(one.is_reversible for one in rehearsal.safe_orders)
    return (
        f"{len(rehearsal.orders)} supported, {len(rehearsal.results)} played, {len(rehearsal.safe_orders)} safe, "
        f"{reversible} of these with a safe way back"
    )


def format_verdict(result: OrderResult) -> str:
    """Return the verdict on an order."""
    if not result.is_safe:
        return "unsafe"
    return "safe" if result.is_reversible else "safe, no way back"


def format_order(order: UpgradeOrder) -> str:
    """Return the steps of an order."""
    return ", ".join(map(str, order))


def list_problems(result: OrderResult) -> Iterator[str]:
    """Yield the problems of an order, by step."""
    for direction, steps in (("", result.up), ("back: ", result.back)):
        for one in steps:
            yield from (f"{direction}{one.step}: {problem}" for problem in one.list_problems())
            if one.skipped_nodes and not direction:
                yield f"{one.step}: {one.skipped_nodes} more nodes were not drained in the rehearsal"


def render_markdown(rehearsal: Rehearsal) -> str:
    """Return the report as Markdown, with the runbook."""
    return "\n".join(_render_markdown(rehearsal))


def _render_markdown(rehearsal: Rehearsal) -> Iterator[str]:
    yield f"# Upgrade from {rehearsal.before} to {rehearsal.after}"
    yield ""
    yield f"{describe_verdict(rehearsal)}."
    for title, breaks in (("What breaks", True), ("What else changes", False)):
        found = [one for one in rehearsal.findings if one.breaks is breaks]
        if not found:
            continue
        yield ""
        yield f"## {title}"
        yield ""
        yield "| topic | what | objects | before the upgrade |"
        yield "| --- | --- | --- | --- |"
        for one in found:
            cells = (
                one.topic,
                f"{one.field + ': ' if one.field else ''}{one.text}",
                one.describe_objects(),
                one.remedy,
            )
            yield f"| {' | '.join(str(cell).replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"
    yield ""
    yield "## Orders"
    yield ""
    yield f"{describe_orders(rehearsal)}."
    yield ""
    for result in rehearsal.results:
        yield f"* **{format_verdict(result)}**: {format_order(result.order)}"
        yield from (f"  * {problem}" for problem in list_problems(result))
    yield ""
    yield "## Runbook"
    yield ""
    yield "```sh"
    yield render_runbook(rehearsal).rstrip()
    yield "```"
    yield ""


def to_json(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return the report as JSON."""
    return {
        "from": str(rehearsal.before),
        "to": str(rehearsal.after),
        "objects": rehearsal.objects,
        "nodes": rehearsal.nodes,
        "safe": rehearsal.is_safe,
        "findings": [{**asdict(one), "objects": list(one.objects)} for one in rehearsal.findings],
        "pools": rehearsal.pools,
        "orders": [[str(step) for step in order] for order in rehearsal.orders],
        "played": [
            {
                "order": [str(step) for step in result.order],
                "safe": result.is_safe,
                "reversible": result.is_reversible,
                "up": [_step_to_json(one) for one in result.up],
                "back": [_step_to_json(one) for one in result.back],
            }
            for result in rehearsal.results
        ],
        "runbook": render_runbook(rehearsal),
    }


def _step_to_json(result: UpgradeStepResult) -> dict[str, Any]:
    return {
        "step": str(result.step),
        "evicted": result.evicted,
        "problems": list(result.list_problems()),
        "skippedNodes": result.skipped_nodes,
    }
