"""What a failed run leaves behind for whoever looks into it: the step as written, and the objects as they were then."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.scenario.explore.observing import taint_text
from mockkube.scenario.report import steps
from mockkube.scenario.report.lives import merged
from mockkube.scenario.report.page import folded, table
from mockkube.scenario.report.prose import html
from mockkube.scenario.report.workloads import in_words, toleration_text, written_as_yaml
from mockkube.scenario.results import RunResult, StepResult

_NOISE: Final = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "generation")
_NODES: Final = "core/nodes"


def evidence(run: RunResult) -> Iterator[str]:
    """Yield the step, what came of it, and what it was about."""
    index = steps.failed(run)
    if index is None:
        yield f'<p class="lines">{escape(run.message)}</p>'
        return
    step = run.steps[index]
    played = max(run.planned, len(run.steps))
    yield (
        f"<p><b>Line {step.line}, step {index + 1} of {played}</b> (<code>{escape(step.verb)}</code>, at "
        f"{step.began:.0f} s, given up at {step.ended:.0f} s). The {played - len(run.steps)} steps after it were "
        "not played.</p>"
    )
    yield f"<p><b>Found:</b></p><pre>{escape(step.message)}</pre>"
    yield f"<p><b>What was asked</b> (line {step.line} of {escape(run.file)}):</p>"
    yield f"<pre>{escape(written_as_yaml({step.verb: step.arguments}))}</pre>"
    yield from _objects(run, step)


def _objects(run: RunResult, step: StepResult) -> Iterator[str]:
    stored = _stored(run)
    for asked in steps.objects_of(step):
        name = (asked.get("metadata") or {}).get("name", "")
        found = [obj for obj in stored.values() if obj.get("kind") == asked["kind"] and _called(obj, name)]
        for obj in found[:1]:
            if asked["kind"] == "Pod":
                yield from _pod(obj, stored)
            shown = written_as_yaml(_plain(obj))
            yield folded(f'{asked["kind"]} "{name}" as it was stored then', f"<pre>{escape(shown)}</pre>")
        if not found and run.story:
            yield f"<p>No {escape(asked['kind'])} {escape(name)} was stored then.</p>"


def _called(obj: ReadOnlyObject, name: str) -> bool:
    return not name or obj["metadata"].get("name") == name


def _stored(run: RunResult) -> Mapping[str, dict[str, Any]]:
    """Return the objects at the end of the run, by resource and name."""
    stored: dict[str, dict[str, Any]] = {}
    for moment in run.story:
        for write in moment.writes:
            key = f"{write.resource} {write.name}"
            if write.verb == "delete":
                stored.pop(key, None)
            else:
                stored[key] = merged(stored.get(key), write.difference)
    return stored


def _pod(pod: ReadOnlyObject, stored: Mapping[str, ReadOnlyObject]) -> Iterator[str]:
    """Tell of a pod that has no node: what it tolerates, beside what the nodes have."""
    spec = pod.get("spec") or {}
    if spec.get("nodeName"):
        return
    tolerations = [html(f"`{toleration_text(one)}`{in_words(one)}") for one in spec.get("tolerations") or ()]
    conditions = (pod.get("status") or {}).get("conditions") or ()
    said = next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")
    nodes = [obj for key, obj in stored.items() if key.startswith(f"{_NODES} ")]
    rows = [[escape(obj["metadata"]["name"]), _taints(obj), "<br>".join(tolerations) or "none"] for obj in nodes]
    yield f"<p>The pod has no node. <b>The scheduler says:</b> {escape(said) or 'nothing, it never tried the pod'}</p>"
    caption = f'What the pod "{pod["metadata"]["name"]}" tolerates, beside the taints of the nodes'
    yield table(("Node", "Its taints", "The pod tolerates"), rows, caption)


def _taints(node: ReadOnlyObject) -> str:
    taints = (node.get("spec") or {}).get("taints") or ()
    return "<br>".join(f"<code>{escape(taint_text(one))}</code>" for one in taints) or "none"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if key not in _NOISE}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
