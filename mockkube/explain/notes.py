"""Notes of an explanation: dropped fields, idle components, what a new pod like it would meet."""

from collections.abc import Iterator
from dataclasses import replace

from mockkube.explain.api_server import Loss, refusals
from mockkube.explain.explanation import Obstacle, Stage
from mockkube.explain.inquiry import Inquiry
from mockkube.explain.pod_fate import TURNED_AWAY, Fate
from mockkube.kubelet.node_status import is_simulated


def notes(inquiry: Inquiry, obstacle: Obstacle | None, loss: Loss | None) -> Iterator[str]:
    """Yield the notes as sentences."""
    components, fate = inquiry.team, inquiry.fate
    if components.guessed:
        yield "The gates of components are assumed to be the defaults of their versions: the cluster reports none."
    if components.scheduler.idle and fate is Fate.UNBOUND and not inquiry.scheduling.node:
        yield f"{components.scheduler.name} does nothing anyway: {components.scheduler.idle}."
    name = inquiry.pod["spec"].get("nodeName", "")
    node = inquiry.node(name)
    if node is not None and not is_simulated(node):
        yield f"No kubelet of mockkube runs on {name}: an annotation of the node excludes it."
    if node is not None and fate is Fate.RUNNING:
        yield from _of_running(inquiry, name)
    if obstacle is None and fate in TURNED_AWAY:
        yield "If decided again now, this would not happen: what stopped the pod has changed since."
    if fate in (Fate.REFUSED, Fate.EVICTED):
        yield from _of_next(inquiry)
    if loss is not None:
        yield from _of_loss(loss)
    if not inquiry.leaving and not inquiry.memory.gone:
        yield from _of_changes(inquiry)


def _of_changes(inquiry: Inquiry) -> Iterator[str]:
    """Yield a note if the API server rejects every update of the pod, and the change that would allow them."""
    server, pod, now = inquiry.team.server, inquiry.pod, inquiry.now
    refused = refusals(pod, server.caps, now)
    if refused:
        remedies = server.standing.helpful(lambda caps: not refusals(pod, caps, now))
        remedy = f"; with {remedies[0].kind} {remedies[0].change} it would not" if remedies else ""
        yield f"{server.told()} refuses every change of it but that of its status: {refused[0]}{remedy}."


def _of_running(inquiry: Inquiry, node: str) -> Iterator[str]:
    """Yield what the kubelet does not do for a running pod, or would not do after a restart."""
    kubelet, lodging = inquiry.team.kubelet(node), inquiry.lodging(node)
    assert lodging is not None, "whoever asks has seen the node"
    if kubelet.idle:
        yield f"{kubelet.name} does nothing, so the pod is not managed: {kubelet.idle}."
    # The kubelet runs its admission handlers again for every pod when it restarts, so a running pod may be rejected
    # then.
    rejection = replace(lodging, kubelet=replace(kubelet, idle=""), entering=True).obstacle()
    if rejection is not None and rejection.stage is Stage.ADMITTED:
        yield f"It runs, but when its kubelet restarts: {rejection.told()} ({rejection.detail})."


def _of_next(inquiry: Inquiry) -> Iterator[str]:
    """Yield where a new pod with the same spec would go, and what would stop it there."""
    node = inquiry.scheduling.node
    if not node:
        yield f"A new pod like it would stay pending: {inquiry.scheduling.decision}"
        return
    pod = inquiry.pod
    # A controller creates the replacement without a node and without status.
    spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
    new = {**pod, "spec": spec, "status": {"phase": "Pending"}}
    then = inquiry.supposing(replace(inquiry.case, pod=new)).then(node)
    yield f"A new pod like it would go to {node}{f'; then {then}' if then else ' and run there'}."


def _of_loss(loss: Loss) -> Iterator[str]:
    """Yield requested fields that are not stored, and whether a new pod would keep them."""
    kept_paths = loss.kept_now()
    remedy = next((f"{one.component} {one.change}" for one in loss.changes() if one.component), "")
    for path in loss.missing():
        lead = f"{loss.wish.said_by} asks for {path}, which is not stored"
        if path in kept_paths:
            yield f"{lead}; a new pod would have it now."
        elif remedy:
            yield f"{lead}; a new pod would not have it either; with {remedy} it would."
        else:
            yield f"{lead}; a new pod would not have it either."
