"""Text output of explanations: lines and tables for terminals and the control page."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.explain.pod_fate import ENDED_BY_COMPONENT

_NODES_SHOWN_MAX: Final = 20


def render_explanation(report: ReadOnlyObject) -> Iterator[str]:
    """Yield the lines of a pod's explanation, given `PodExplanation.as_json`."""
    pod, obstacle = report["pod"], report["obstacle"]
    yield f"Pod {pod['namespace']}/{pod['name']} {report['state']}."
    yield from report["deeds"]
    # The table of nodes answers why the scheduler chose none; once another component stops the pod it would mislead.
    waits = obstacle is not None and obstacle["stage"] == "Scheduled"
    if obstacle is not None:
        detail = f" ({obstacle['detail']})" if obstacle["detail"] else ""
        yield f"What stops it now: {obstacle['component']} {obstacle['reason']}{detail}"
    elif report["decision"] and not report["gone"] and not report["deeds"]:
        subject = "it" if report["node"] else "a new pod like it would stay pending:"
        when = "Decided now" if report["fate"] == "unbound" else "Decided again"
        yield f"Nothing stops it. {when}, {subject} {report['decision']}"
    yield from (f"Note: {note}" for note in report["notes"])
    if waits or (obstacle is None and not report["deeds"]):
        yield from _render_nodes(report)
    yield from _render_remedies(report)
    if report["events"] and (report["deeds"] or report["gone"]):
        yield from ("", "Events, the last at the end:", *(f"  {one}" for one in report["events"]))


def render_owner_explanation(report: ReadOnlyObject) -> Iterator[str]:
    """Yield the lines of a workload's explanation, given `OwnerExplanation.as_json`."""
    maker, pods, stopped = report["maker"], report["pods"], report["stopped"]
    count = f"{len(pods)} {'pod' if len(pods) == 1 else 'pods'}"
    running = f"; {len(stopped)} of them {'does' if len(stopped) == 1 else 'do'} not run" if stopped else ""
    yield f"{maker['kind']} {maker['namespace']}/{maker['name']} has {count}{running}."
    yield from (f"The API server rejects its pods: {one}" for one in report["refusals"])
    yield from (f"It creates no pod on {one['node']}: {one['reason']}" for one in report["nodes"])
    if report["whatIf"]:
        yield from _render_remedy_table("would help", [(*row[:3], "") for row in _remedy_rows(report["whatIf"])])
    if report["stoppedPod"] is not None:
        yield ""
        yield from render_explanation(report["stoppedPod"])
    others = stopped[1:] if stopped else pods
    if others:
        intent = "For the next pod" if stopped else "To explain one of them"
        yield ""
        yield f"{intent}: mockkube why -n {maker['namespace']} pod/{others[0]}"


def _render_nodes(report: ReadOnlyObject) -> Iterator[str]:
    """Yield the tables of rejecting nodes and of scores."""
    rows = [(one["node"], one["plugin"], ", ".join(one["reasons"]), one["detail"]) for one in report["nodes"]]
    if rows:
        yield ""
        yield from _render_table(("NODE", "REJECTED BY", "REASON", "DETAIL"), rows[:_NODES_SHOWN_MAX])
        if len(rows) > _NODES_SHOWN_MAX:
            yield f"... and {len(rows) - _NODES_SHOWN_MAX} more nodes (-o json shows all)"
    ranked = sorted(report["scores"].items(), key=lambda item: -sum(item[1].values()))
    if ranked:
        yield ""
        scored = [(node, str(sum(own.values())), _format_scores(own)) for node, own in ranked[:_NODES_SHOWN_MAX]]
        yield from _render_table(("NODE", "SCORE", "BY PLUGIN"), scored)


def _format_scores(scores: Mapping[str, int]) -> str:
    return ", ".join(f"{plugin} {score}" for plugin, score in scores.items() if score)


def _render_remedies(report: ReadOnlyObject) -> Iterator[str]:
    rows = list(_remedy_rows(report["whatIf"]))
    if rows:
        # A pod that was rejected or evicted never recovers, so a change can only help its successor.
        is_terminal = report["gone"] or report["fate"] in ENDED_BY_COMPONENT
        yield from _render_remedy_table("would have helped" if is_terminal else "would help", rows)
    elif report["obstacle"] is not None:
        yield from ("", "No single change that was tried would help.")


def _render_remedy_table(would_help: str, rows: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    yield from ("", f"{'This change' if len(rows) == 1 else 'One of these changes'} {would_help}:")
    yield from _render_table(("KIND", "CHANGE", "NODE", "NEXT OBSTACLE"), rows)


def _remedy_rows(found: Sequence[ReadOnlyObject]) -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each change; versions of a component with the same outcome share one."""
    for _, group in groupby(found, key=_row_key):
        alike = list(group)
        first = alike[0]
        change = " or ".join(one["change"] for one in alike)
        yield first["kind"], f"{first['component']} {change}".strip(), first["node"], first["but"]


def _row_key(remedy: ReadOnlyObject) -> tuple[str, ...]:
    """Return what remedies that share a row have in common."""
    # Several versions often lift the same obstacle: they are joined with "or". Other changes stand in rows of their
    # own.
    own = "" if remedy["kind"] == "version" else remedy["change"]
    return remedy["kind"], remedy["component"], remedy["node"], remedy["but"], own


def _render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table without its empty columns."""
    used = [column for column in range(len(head)) if any(row[column] for row in rows)]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in used]
    for row in (head, *rows):
        yield "   ".join(row[column].ljust(width) for column, width in zip(used, widths, strict=True)).rstrip()
