"""Report of an import for a terminal, and as JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from mockkube.importing.cluster_import import ImportReport
from mockkube.importing.movements import Movement, SnapshotCheck

_NAMES_MAX: Final = 5
_FIELDS_MAX: Final = 3


def render_import(report: ImportReport, check: SnapshotCheck | None, rows_max: int) -> Iterator[str]:
    """Yield the lines of a report."""
    servers = f", {report.api_servers} API servers" if report.api_servers > 1 else ""
    kinds = _count(len(report.objects), "kind")
    left_out = f"; {report.left_out.total():,} left out, see below" if report.left_out else ""
    yield f"Imported {_count(report.total, 'object')} of {kinds}: Kubernetes {report.version}{servers}{left_out}"
    if report.is_version_assumed:
        yield f"Version {report.version} is assumed, as no node or static pod has one: --version sets it"
    if report.added:
        yield f"{_count(report.added, 'object')} that every cluster has {'was' if report.added == 1 else 'were'} added"
    if report.redacted:
        yield f"{_count(report.redacted, 'Secret')} redacted"
    if report.stubbed_webhooks:
        yield f"{_count(report.stubbed_webhooks, 'webhook')} stubbed: requests are allowed without a call"
    if report.added_namespaces:
        yield f"Namespaces added for their objects: {_list(report.added_namespaces)}"
    if report.silent_nodes:
        yield f"Nodes whose kubelet does not report, and is not simulated: {_list(report.silent_nodes)}"
    for (kind, reason), count in report.left_out.most_common(rows_max):
        yield f"Left out: {count} {kind}: {reason}"
    for (kind, path), count in report.unknown_fields.most_common(rows_max):
        yield f"Unknown to {report.version}: {path} of {count} {kind}"
    for change in report.owner_changes[:rows_max]:
        what = "re-linked to the object of that name" if change.is_relinked else "dropped, as it does not exist"
        dependent = f"{change.object[1]} {'/'.join(filter(None, change.object[2:]))}"
        yield f"Owner {change.owner_kind} {change.owner_name} of {dependent}: {what}"
    if check is not None:
        yield from (f"Failed, which is a bug: {name}: {why}" for name, why in check.failed_components.items())
        yield from _render_movements(check.movements, rows_max, is_complete=not check.failed_components)


def _render_movements(movements: Sequence[Movement], rows_max: int, *, is_complete: bool) -> Iterator[str]:
    if not movements:
        others = "" if is_complete else ", as far as the other components can tell"
        yield f"At rest: nothing changes by itself within ten minutes{others}"
        return
    yield "Changes within ten minutes:"
    rows = [("WHO", "VERB", "OBJECT", "FIELDS", "AFTER", "TIMES")]
    for one in movements[:rows_max]:
        name = f"{one.resource.removeprefix('core/')} {one.name}"
        rows.append(
            (one.component, one.verb, name, _list(one.fields, _FIELDS_MAX), f"{one.first_at:.0f}s", str(one.count))
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    yield from ("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    if len(movements) > rows_max:
        rest = Counter(one.component for one in movements[rows_max:])
        others = ", ".join(f"{count} by {name}" for name, count in rest.most_common())
        yield f"and {len(movements) - rows_max} more: {others}"


def import_to_json(report: ImportReport, check: SnapshotCheck | None) -> dict[str, Any]:
    """Return the report as JSON."""
    return {
        "version": str(report.version),
        "versionAssumed": report.is_version_assumed,
        "objects": dict(report.objects),
        "added": report.added,
        "redactedSecrets": report.redacted,
        "stubbedWebhooks": report.stubbed_webhooks,
        "addedNamespaces": report.added_namespaces,
        "silentNodes": report.silent_nodes,
        "leftOut": [{"kind": kind, "reason": why, "count": n} for (kind, why), n in report.left_out.items()],
        "unknownFields": [{"kind": kind, "field": at, "count": n} for (kind, at), n in report.unknown_fields.items()],
        "ownerReferences": [
            {"object": list(one.object), "owner": f"{one.owner_kind}/{one.owner_name}", "relinked": one.is_relinked}
            for one in report.owner_changes
        ],
        "movements": None if check is None else [asdict(one) for one in check.movements],
        "failedComponents": None if check is None else dict(check.failed_components),
    }


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _list(names: Sequence[str], shown_max: int = _NAMES_MAX) -> str:
    shown = ", ".join(names[:shown_max])
    return f"{shown} and {len(names) - shown_max} more" if len(names) > shown_max else shown
