"""Notes of an explanation: dropped fields, idle components, what a new pod like it would meet."""

from collections.abc import Iterator
from dataclasses import replace

from mockkube.explain.api_server import DroppedFields, find_update_errors
from mockkube.explain.explanation import Obstacle, PodProgress
from mockkube.explain.obstacle_finder import ObstacleFinder
from mockkube.explain.pod_fate import ENDED_BY_COMPONENT, PodFate
from mockkube.kubelet.nodes.node_status import is_simulated


def collect_notes(
    finder: ObstacleFinder, obstacle: Obstacle | None, dropped_fields: DroppedFields | None
) -> Iterator[str]:
    """Yield the notes as sentences."""
    components, fate = finder.components, finder.fate
    if components.has_default_gates:
        yield "The gates of components are assumed to be the defaults of their versions: the cluster reports none."
    if components.scheduler.idle and fate is PodFate.UNBOUND and not finder.scheduling.node:
        yield f"{components.scheduler.name} schedules no pods in any case: {components.scheduler.idle}."
    name = finder.pod["spec"].get("nodeName", "")
    node = finder.find_node(name)
    if node is not None and not is_simulated(node):
        yield f"No kubelet of mockkube runs on {name}: an annotation of the node excludes it."
    if node is not None and fate is PodFate.RUNNING:
        yield from _note_running_pod(finder, name)
    if obstacle is None and fate in ENDED_BY_COMPONENT:
        yield "If decided again now, this would not happen: what stopped the pod has changed since."
    if fate in (PodFate.REFUSED, PodFate.EVICTED):
        yield from _note_replacement(finder)
    if dropped_fields is not None:
        yield from _note_dropped_fields(dropped_fields)
    if not finder.is_terminating and not finder.history.is_gone:
        yield from _note_rejected_updates(finder)


def _note_rejected_updates(finder: ObstacleFinder) -> Iterator[str]:
    """Yield a note if the API server rejects every update of the pod, and the change that would allow them."""
    server, pod, now = finder.components.server, finder.pod, finder.now
    refused = find_update_errors(pod, server.caps, now)
    if refused:
        remedies = server.features.find_helpful(lambda caps: not find_update_errors(pod, caps, now))
        remedy = f"; with {remedies[0].kind} {remedies[0].change} it would accept them" if remedies else ""
        yield f"{server.describe()} rejects every update of it except of its status: {refused[0]}{remedy}."


def _note_running_pod(finder: ObstacleFinder, node: str) -> Iterator[str]:
    """Yield what the kubelet does not do for a running pod, or would not do after a restart."""
    kubelet, admission = finder.components.kubelet(node), finder.admission_on(node)
    assert admission is not None, "the caller has found the node"
    if kubelet.idle:
        yield f"{kubelet.name} does nothing, so the pod is not managed: {kubelet.idle}."
    # The kubelet runs its admission handlers again for every pod when it restarts, so a running pod may be rejected
    # then.
    rejection = replace(admission, kubelet=replace(kubelet, idle=""), is_entering=True).find_obstacle()
    if rejection is not None and rejection.stage is PodProgress.ADMITTED:
        yield f"It runs, but when its kubelet restarts: {rejection.describe()} ({rejection.detail})."


def _note_replacement(finder: ObstacleFinder) -> Iterator[str]:
    """Yield where a new pod with the same spec would go, and what would stop it there."""
    node = finder.scheduling.node
    if not node:
        yield f"A new pod like it would stay pending: {finder.scheduling.decision}"
        return
    pod = finder.pod
    # A controller creates the replacement without a node and without status.
    spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
    new = {**pod, "spec": spec, "status": {"phase": "Pending"}}
    then = finder.with_case(replace(finder.case, pod=new)).describe_obstacle_on(node)
    yield f"A new pod like it would go to {node}{f'; then {then}' if then else ' and run there'}."


def _note_dropped_fields(dropped_fields: DroppedFields) -> Iterator[str]:
    """Yield requested fields that are not stored, and whether a new pod would keep them."""
    kept_paths = dropped_fields.list_kept_now()
    remedy = next((f"{one.component} {one.change}" for one in dropped_fields.list_changes() if one.component), "")
    for path in dropped_fields.list_missing():
        lead = f"{dropped_fields.request.requested_by} asks for {path}, which is not stored"
        if path in kept_paths:
            yield f"{lead}; a new pod would have it now."
        elif remedy:
            yield f"{lead}; a new pod would not have it either; with {remedy} it would."
        else:
            yield f"{lead}; a new pod would not have it either."
