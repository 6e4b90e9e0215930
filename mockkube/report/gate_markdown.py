"""Atlas of gates as Markdown: an index, and a page for each gate that was played."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.atlas.gate_entry import GateEntry, GateOrderResult, GateStatus, HalfWayState
from mockkube.report.sentences.gate_answer import describe_answer, describe_claim, describe_rollback, describe_verdict
from mockkube.report.wording import SHORT, count_noun, format_order, join_words

# Lines of a list that are shown; the others are counted.
LINES_MAX: Final = 12
_INTRODUCTION: Final = """# Atlas of feature gates

What does a gate do if it is on for some components and not yet, or no longer, for others? For each gate of Kubernetes
1.33 to 1.37 that changes what a component does, `make atlas` runs one workload: in every half-way state, in every
order up and down, and through a rollback. [How it is run](../atlas-of-gates.md) says what the words mean, and how to
try a gate yourself.
"""
_NOT_SIMULATED: Final = """## Gates that are not simulated

No simulated component behaves differently when these gates are on.
"""


def render_index(entries: Sequence[GateEntry]) -> str:
    """Return the index of all gates."""
    played = [one for one in entries if one.status is not GateStatus.NOT_SIMULATED]
    lines = [
        _INTRODUCTION,
        _count(entries),
        "",
        "| gate | at | components | not tried on | verdict | after turning it off |",
    ]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    lines += [_index_row(one) for one in played]
    lines += ["", _STAGES_HEADING, "", *_stage_rows(entries), "", _NOT_SIMULATED]
    by_reason: dict[str, list[str]] = {}
    for one in entries:
        if one.status is GateStatus.NOT_SIMULATED:
            by_reason.setdefault(one.reason, []).append(one.gate)
    for reason, gates in by_reason.items():
        lines += [f"* **{reason}**: {', '.join(f'`{gate}`' for gate in gates)}"]
    return "\n".join(lines) + "\n"


_STAGES_HEADING: Final = """## Stages

The stage and the default of each gate by release; ∎ marks a locked gate, – a release that does not know it."""


def _count(entries: Sequence[GateEntry]) -> str:
    counts: dict[str, int] = {}
    for one in entries:
        counts[describe_verdict(one)] = counts.get(describe_verdict(one), 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return f"{len(entries)} gates: {'; '.join(f'{count} {verdict}' for verdict, count in ranked)}."


def _index_row(entry: GateEntry) -> str:
    name = f"[{entry.gate}]({entry.gate}.md)"
    components = ", ".join(SHORT[name] for name in entry.exercised)
    missing = ", ".join(SHORT.get(name, name) for name in entry.not_tried)
    cells = (name, entry.version or "–", components, missing, describe_verdict(entry), describe_rollback(entry))
    return f"| {' | '.join(cells)} |"


def _stage_rows(entries: Sequence[GateEntry]) -> Iterator[str]:
    versions = [stage.version for stage in entries[0].stages]
    yield f"| gate | {' | '.join(versions)} |"
    yield f"| --- |{' --- |' * len(versions)}"
    for entry in entries:
        cells = [
            f"{stage.maturity} {'on' if stage.is_on else 'off'}{' ∎' if stage.is_locked else ''}"
            if stage.maturity
            else "–"
            for stage in entry.stages
        ]
        yield f"| {entry.gate} | {' | '.join(cells)} |"


def render_gate(entry: GateEntry) -> str:
    """Return the page of one gate: the answer first."""
    parts = [f"# {entry.gate}", entry.feature, f"**{describe_answer(entry)}**"]
    if entry.rollback is not None:
        parts.append(f"After turning it off: {describe_rollback(entry)}.")
    parts += [claim for claim in (describe_claim(entry),) if claim]
    parts += ["## Stages", _format_stages(entry), "## Components", _list_readers(entry)]
    if entry.states:
        parts += ["## Half-way states", _STATES_TEXT, *(_format_state(one) for one in entry.states)]
        parts += ["## Orders", _count_paths(entry), *_format_orders(entry)]
    if entry.rollback is not None:
        parts += ["## Rollback", *_format_rollback(entry)]
    return "\n\n".join(parts) + "\n"


_STATES_TEXT: Final = (
    "Users create the workload while only these components have the gate on. What follows differs from a cluster with "
    "the gate on everywhere."
)


def _format_stages(entry: GateEntry) -> str:
    head = f"| {' | '.join(stage.version for stage in entry.stages)} |\n|{' --- |' * len(entry.stages)}"
    return f"{head}\n| {' | '.join(map(str, entry.stages))} |"


def _list_readers(entry: GateEntry) -> str:
    lines = []
    for reader in entry.readers:
        effect = "" if reader.is_exercised or not entry.states else ", without an effect on this workload"
        lines.append(f"* `{reader.component}`{effect}: {', '.join(f'`mockkube/{one}`' for one in reader.modules)}")
    known = {reader.component for reader in entry.readers}
    lines += [
        f"* `{name}`: {'read by the real one' if name in entry.upstream_readers else 'named by the proposal'}, but the "
        "simulated one does not read the gate"
        for name in entry.not_tried
        if name not in known
    ]
    if entry.version:
        lines.append(f"\nRun at {entry.version}{_format_base(entry.base)}. {_format_workload(entry)}")
    return "\n".join(lines)


def _format_workload(entry: GateEntry) -> str:
    file = f"conformance/gates/{entry.gate}.yaml"
    return f"The workload is [{file}](../../{file}); `mockkube atlas {entry.gate}` runs it again."


def _format_base(base: Mapping[str, bool]) -> str:
    if not base:
        return ""
    return f", with {join_words(f'`{gate}={str(is_on).lower()}`' for gate, is_on in base.items())} throughout"


def _format_state(state: HalfWayState) -> str:
    title = f"On for {join_words(f'`{name}`' for name in state.on)}" if state.on else "Off everywhere"
    if state.like == "on":
        return f"**{title}:** as with the gate on everywhere."
    if state.like == "off" and state.on:
        return f"**{title}:** as with the gate off everywhere."
    return f"**{title}:**\n\n{format_lines(state.differences)}"


def format_lines(lines: Sequence[str]) -> str:
    """Return sentences as a list; beyond a dozen they are counted."""
    # Patterns in messages look like links.
    shown = [f"* {line}".replace("](", "]\\(") for line in lines[:LINES_MAX]]
    if len(lines) > LINES_MAX:
        shown.append(f"* and {len(lines) - LINES_MAX} more")
    return "\n".join(shown)


def _count_paths(entry: GateEntry) -> str:
    if len(entry.exercised) == 1:
        return "Only one component shows an effect, so there is one order."
    return (
        f"{count_noun(entry.paths, 'path')} up, down and up again. Users begin when the API server has the gate, if it "
        "reads it."
    )


def _format_orders(entry: GateEntry) -> Iterator[str]:
    yield "| | order | verdict | what happened |\n| --- | --- | --- | --- |\n" + "\n".join(
        f"| {direction} | {format_order(one.order)} | {one.verdict} | {format_trouble(one)} |"
        for direction, orders in (("up", entry.up), ("down", entry.down))
        for one in orders
    )


def format_trouble(result: GateOrderResult) -> str:
    """Return what broke or differed, in one cell."""
    found = result.breaks or result.differences
    if not found:
        return ""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[0]}{more}".replace("|", "\\|").replace("\n", " ")


def _format_rollback(entry: GateEntry) -> Iterator[str]:
    rollback = entry.rollback
    assert rollback is not None, "asked only for gates that were played"
    for title, lines, nothing in (
        ("What exists", rollback.existing, "stays as it is."),
        ("What exists, when users update another field of it", rollback.updated, "stays as it is."),
        ("What is created afterwards", rollback.new, "is as before."),
    ):
        yield f"**{title}**: {nothing}" if not lines else f"**{title}:**\n\n{format_lines(lines)}"
