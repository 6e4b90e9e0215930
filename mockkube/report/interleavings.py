"""Results of exploring interleavings: text for a terminal, Markdown, JSON, and a plan that replays a race."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from mockkube.explore.interleavings.exploration import InterleavingExploration
from mockkube.explore.interleavings.invariants import INVARIANTS
from mockkube.explore.interleavings.minimal_trace import MinimalTrace, TraceLine

_READS_MAX: Final = 4
# Shorter times have a decimal.
_WHOLE_SECONDS_MIN: Final = 10
_COLUMNS: Final = ("step", "at", "worker", "what", "reads", "before it had seen all of", "writes")


_COMMAND: Final = "mockkube explore PLAN --interleavings"


def render_text(results: Sequence[InterleavingExploration], command: str = _COMMAND) -> str:
    """Return the results as text; `command` explores the plan again."""
    return "\n\n".join("\n".join(_list_text_lines(one, command)) for one in results)


def describe_answer(result: InterleavingExploration) -> str:
    """Return which invariants break, and whether the plan expects that, in one sentence."""
    if result.is_impossible:
        return "Nothing was tried: the schedule of the plan is not possible, as a worker was not ready in its turn."
    if not result.traces:
        return "No order of steps that was tried breaks an invariant."
    names = ", ".join(trace.broken.invariant for trace in result.traces)
    count = len(result.traces)
    known = [trace for trace in result.traces if trace.broken.invariant in result.plan.expected_breaks]
    expected = ", as the plan expects" if len(known) == count else "" if known else ", which the plan does not expect"
    return f"{count} invariant{'s break' if count > 1 else ' breaks'}{expected}: {names}."


def _list_text_lines(result: InterleavingExploration, command: str) -> Iterator[str]:
    yield result.plan.title
    yield describe_answer(result)
    if result.plan.source:
        yield f"  {result.plan.source}"
    yield f"  {describe_search(result)}"
    yield from (f"  never accepted: {text}" for text in list_rejections(result))
    for trace in result.traces:
        yield ""
        yield f"BROKEN: {trace.broken.invariant}{_describe_expectation(result, trace)}"
        yield f"  {INVARIANTS[trace.broken.invariant]}"
        yield f"  {trace.broken.message}"
        yield from (f"  because {one}" for one in trace.played.schedule.changes or ("nothing: in the default order",))
        yield ""
        yield from (f"  {line}" for line in _list_timeline(trace))
        if result.plan.document:
            yield ""
            yield f"  replay: {_format_replay(trace, command)}"
    for name in result.missing:
        yield f"\nNOT BROKEN: {name}, which the plan says is known to break"
    for played in result.search.errors:
        yield f"\nERROR: {played.error}, because {'; '.join(played.schedule.changes) or 'of the default order'}"


def describe_search(result: InterleavingExploration) -> str:
    """Return in a sentence what was searched."""
    found, bounds = result.search, result.bounds
    changes = f"at most {bounds.depth} change{'s' if bounds.depth > 1 else ''} to the default order"
    ended = f"all with {changes}" if found.is_complete else f"{found.left} more with {changes} were not run"
    steps = 0 if found.default is None else len(found.default.steps)
    details = (
        f"{found.equal} were equal to others, {found.impossible} not possible (a worker was not ready in its turn)"
    )
    played = f"{found.played} schedules of about {steps} steps run in {_format_seconds(found.seconds)}"
    return f"{played}, {ended}; {details}"


def _format_seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= _WHOLE_SECONDS_MIN else f"{max(seconds, 0.1):.1f} s"


def list_rejections(result: InterleavingExploration) -> list[str]:
    """Return the actions that are rejected in the default order, with the reason: they test nothing."""
    steps = () if result.search.default is None else result.search.default.steps
    return [f"{step.subject}: {step.rejection}" for step in steps if step.rejection]


def _describe_expectation(result: InterleavingExploration, trace: MinimalTrace) -> str:
    return " (known)" if trace.broken.invariant in result.plan.expected_breaks else ""


def _format_replay(trace: MinimalTrace, command: str) -> str:
    """Return the commands that write the schedule of a trace and play only that."""
    return f"{command} --trace {trace.broken.invariant} > race.yaml; mockkube explore race.yaml --interleavings"


def _list_timeline(trace: MinimalTrace) -> Iterator[str]:
    for line in trace.lines:
        yield f"{line.number:4} {line.step.at:8.3f}s  {line.step.describe()}"
        if line.reads:
            yield f"{'':16}reads {_join_reads(line)}"
        if line.late:
            yield f"{'':16}before {', '.join(line.late)} had seen all"
        yield from (f"{'':16}{write}" for write in line.step.writes)


def _join_reads(line: TraceLine) -> str:
    more = f", and {len(line.reads) - _READS_MAX} more" if len(line.reads) > _READS_MAX else ""
    return ", ".join(line.reads[:_READS_MAX]) + more


def render_markdown(results: Sequence[InterleavingExploration], command: str = _COMMAND) -> str:
    """Return the results as Markdown; `command` explores the plan again."""
    return "\n".join(line for one in results for line in (*_list_markdown_lines(one, command), ""))


def _list_markdown_lines(result: InterleavingExploration, command: str) -> Iterator[str]:
    yield f"# {result.plan.title}\n"
    yield f"**{describe_answer(result)}**\n"
    if result.plan.source:
        yield f"{result.plan.source}\n"
    yield from (f"{note}\n" for note in result.plan.notes)
    yield f"{describe_search(result)}.\n"
    yield from (f"**Never accepted**: {text}\n" for text in list_rejections(result))
    for trace in result.traces:
        yield f"## {trace.broken.invariant}{_describe_expectation(result, trace)}\n"
        yield f"{INVARIANTS[trace.broken.invariant]}\n"
        yield f"**{trace.broken.message}**\n"
        yield from (f"- {one}" for one in trace.played.schedule.changes or ("in the default order",))
        yield f"\n| {' | '.join(_COLUMNS)} |\n|{' --- |' * len(_COLUMNS)}"
        for line in trace.lines:
            writes = "<br>".join(line.step.writes)
            reads, late = _join_reads(line), ", ".join(line.late)
            row = (line.number, f"{line.step.at:.3f} s", line.step.worker, line.step.subject, reads, late, writes)
            yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"
        yield ""
        if result.plan.document:
            yield f"Replay: `{_format_replay(trace, command)}`\n"
    yield from (f"**Not broken**: {name}, which the plan says is known to break\n" for name in result.missing)
    yield from (f"**Error**: {played.error}\n" for played in result.search.errors)


def to_json(results: Sequence[InterleavingExploration]) -> list[dict[str, Any]]:
    """Return the results as JSON values."""
    return [_result_to_json(one) for one in results]


def _result_to_json(result: InterleavingExploration) -> dict[str, Any]:
    found = result.search
    return {
        "name": result.plan.name,
        "title": result.plan.title,
        "source": result.plan.source,
        "asExpected": result.is_as_expected,
        "depth": result.bounds.depth,
        "schedules": {
            "played": found.played,
            "equal": found.equal,
            "impossible": found.impossible,
            "left": found.left,
            "complete": found.is_complete,
            "byChanges": {str(number): count for number, count in sorted(found.by_changes.items())},
        },
        "neverAccepted": list_rejections(result),
        "breaks": [_trace_to_json(trace) for trace in result.traces],
        "unexpected": list(result.unexpected),
        "missing": list(result.missing),
        "errors": [played.error for played in found.errors],
    }


def _trace_to_json(trace: MinimalTrace) -> dict[str, Any]:
    return {
        "invariant": trace.broken.invariant,
        "message": trace.broken.message,
        "changes": list(trace.played.schedule.changes),
        "steps": [
            {
                "number": line.number,
                "at": line.step.at,
                "component": line.component,
                "worker": line.step.worker,
                "subject": line.step.subject,
                "reads": list(line.reads),
                "late": list(line.late),
                "writes": list(line.step.writes),
            }
            for line in trace.lines
        ],
        "schedule": _schedule_to_json(trace),
    }


def _schedule_to_json(trace: MinimalTrace) -> dict[str, Any]:
    schedule = trace.played.schedule
    late = schedule.delay and {"worker": schedule.delay.worker, "seconds": schedule.delay.seconds}
    return {
        "workers": list(schedule.workers),
        **({"late": late} if late else {}),
        "changes": list(schedule.changes),
    }


def make_replay_plan(result: InterleavingExploration, trace: MinimalTrace) -> dict[str, Any]:
    """Return the plan as a document that plays only the schedule of a trace."""
    document: dict[str, Any] = json.loads(json.dumps(result.plan.document))
    schedule = _schedule_to_json(trace)
    if late := schedule.get("late"):
        late["seconds"] = f"{late['seconds']:g}s"
    document["spec"] |= {"schedule": schedule, "breaks": [trace.broken.invariant]}
    if result.plan.divided:
        document["spec"]["divide"] = list(result.plan.divided)
    return document
