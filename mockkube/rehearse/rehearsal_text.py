"""Report of a rehearsal for a terminal, as Markdown, and as JSON."""

from collections import Counter
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
_NAMES_MAX = 5
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
    for results in group_results(rehearsal.results):
        yield from (f"  {format_verdict(one):<17} {format_order(one.order)}" for one in results)
        yield from (f"    {problem}" for problem in list_problems(results[0]))
    yield ""
    yield describe_scope(rehearsal)


def group_results(results: Sequence[OrderResult]) -> list[list[OrderResult]]:
    """Return the orders with those together on which the same went wrong; safe ones first."""
    groups: dict[tuple[str, ...], list[OrderResult]] = {}
    for one in sorted(results, key=lambda one: (not one.is_safe, not one.is_reversible)):
        groups.setdefault(tuple(list_problems(one)), []).append(one)
    return list(groups.values())


def _render_changes(changes: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of what changes without breaking; gates share one."""
    if not changes:
        return
    gates = [one for one in changes if one.text.startswith(GATE)]
    others = [one for one in changes if not one.text.startswith(GATE)]
    yield ""
    yield "ALSO CHANGES"
    yield from (f"  {one.text}{_format_objects(one)}" for one in others[:_CHANGES_SHOWN])
    if len(others) > _CHANGES_SHOWN:
        yield f"  and {len(others) - _CHANGES_SHOWN} more: -o json lists them"
    for state, flag in (("on", "false"), ("off", "true")):
        names = [one.field for one in gates if f" is {state} by default" in one.text]
        if names:
            text = f"gates that are {state} by default now (--gates NAME={flag} tries it without): {', '.join(names)}"
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
    nodes = f"{rehearsal.nodes} node{'s' * (rehearsal.nodes != 1)}"
    head = f"From {rehearsal.before} to {rehearsal.after} on {nodes}: "
    count = len(rehearsal.breaks)
    if rehearsal.is_safe:
        return f"{head}nothing breaks{'' if rehearsal.results else ', but no order was simulated'}"
    found = f"{count} {'thing breaks' if count == 1 else 'things break'}" if count else "the objects are fine"
    return f"{head}{found}{'' if rehearsal.safe_orders or not rehearsal.results else ', and no order is safe'}"


def describe_scope(rehearsal: Rehearsal) -> str:
    """Return what was checked, and what the import lacks."""
    text = f"Checked: {rehearsal.objects:,} objects, with those that every cluster has."
    if not rehearsal.absent:
        return text
    return (
        f"{text} The import has no {', '.join(rehearsal.absent)}: if the cluster has some, import them, too; "
        "they can break an upgrade."
    )


def describe_orders(rehearsal: Rehearsal) -> str:
    """Return how many orders there are, were played and are safe."""
    reversible = sum(one.is_reversible for one in rehearsal.safe_orders)
    return (
        f"{len(rehearsal.orders)} supported, {len(rehearsal.results)} simulated, {len(rehearsal.safe_orders)} safe, "
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
    """Yield the problems of an order: the same one of several pods, or in several steps, once."""
    names: dict[tuple[str, str, str], list[str]] = {}
    skipped = []
    for direction, steps in (("", result.up), ("back: ", result.back)):
        for one in steps:
            for problem in one.list_problems():
                title, _, rest = problem.partition(": ")
                name, _, reason = rest.partition(": ")
                names.setdefault((f"{direction}{one.step}", title, reason), []).append(name)
            if one.skipped_nodes and not direction:
                skipped.append(f"{one.step}: {one.skipped_nodes} more nodes were not drained in the rehearsal")
    steps_of: dict[str, list[str]] = {}
    for (step, title, reason), found in names.items():
        steps_of.setdefault(": ".join(filter(None, (title, _join_names(found), reason))), []).append(step)
    yield from (f"{'; '.join(steps)}: {text}" for text, steps in steps_of.items())
    yield from skipped


def _join_names(names: Sequence[str]) -> str:
    """Return the names with how often each occurs, the first of many."""
    counts = [f"{name} ({count} times)" if count > 1 else name for name, count in Counter(names).items()]
    more = f" and {len(counts) - _NAMES_MAX} more" if len(counts) > _NAMES_MAX else ""
    return f"{', '.join(counts[:_NAMES_MAX])}{more}"


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
                f"{one.field + ': ' if one.field and one.field not in one.text else ''}{one.text}",
                one.describe_objects(),
                one.remedy,
            )
            yield f"| {' | '.join(str(cell).replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"
    yield ""
    yield "## Orders"
    yield ""
    yield f"{describe_orders(rehearsal)}."
    yield ""
    for results in group_results(rehearsal.results):
        yield from (f"* **{format_verdict(one)}**: {format_order(one.order)}" for one in results)
        yield from (f"  * {problem}" for problem in list_problems(results[0]))
    yield ""
    yield describe_scope(rehearsal)
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
        "absentKinds": list(rehearsal.absent),
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
