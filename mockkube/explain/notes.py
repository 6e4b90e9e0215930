"""What else there is to know of a pod: what it lost, what will become of it, or of another like it."""

from collections.abc import Iterator
from dataclasses import replace

from mockkube.explain.api_server import Loss, refusals
from mockkube.explain.explanation import Obstacle, Stage
from mockkube.explain.inquiry import Inquiry
from mockkube.explain.pod_fate import TURNED_AWAY, Fate
from mockkube.kubelet.node_status import is_simulated


def notes(inquiry: Inquiry, obstacle: Obstacle | None, loss: Loss | None) -> Iterator[str]:
    """Yield them in sentences."""
    team, fate = inquiry.team, inquiry.fate
    if team.guessed:
        yield "Gates of components are taken to be as their versions have them: this cluster does not tell."
    if team.scheduler.idle and fate is Fate.UNBOUND and not inquiry.scheduling.node:
        yield f"{team.scheduler.name} does nothing anyway: {team.scheduler.idle}."
    name = inquiry.pod["spec"].get("nodeName", "")
    node = inquiry.node(name)
    if node is not None and not is_simulated(node):
        yield f"No kubelet of mockkube sees to {name}: its annotation says so."
    if node is not None and fate is Fate.RUNNING:
        yield from _of_running(inquiry, name)
    if obstacle is None and fate in TURNED_AWAY:
        yield "Decided again now, it would not happen: what was in the way has changed since."
    if fate in (Fate.REFUSED, Fate.EVICTED):
        yield from _of_next(inquiry)
    if loss is not None:
        yield from _of_loss(loss)
    if not inquiry.leaving and not inquiry.memory.gone:
        yield from _of_changes(inquiry)


def _of_changes(inquiry: Inquiry) -> Iterator[str]:
    """Yield that the API server does not let the pod be changed any more, and when it would."""
    server, pod, now = inquiry.team.server, inquiry.pod, inquiry.now
    refused = refusals(pod, server.caps, now)
    if refused:
        cures = server.standing.helpful(lambda caps: not refusals(pod, caps, now))
        cure = f"; with {cures[0].kind} {cures[0].change} it would not" if cures else ""
        yield f"{server.told()} refuses every change of it but that of its status: {refused[0]}{cure}."


def _of_running(inquiry: Inquiry, node: str) -> Iterator[str]:
    """Yield what a kubelet does not do for a pod that runs, or would not any more."""
    kubelet, lodging = inquiry.team.kubelet(node), inquiry.lodging(node)
    assert lodging is not None, "whoever asks has seen the node"
    if kubelet.idle:
        yield f"{kubelet.name} does nothing, so nobody sees to the pod: {kubelet.idle}."
    arriving = replace(lodging, kubelet=replace(kubelet, idle=""), entering=True).obstacle()
    if arriving is not None and arriving.stage is Stage.ADMITTED:
        yield f"It runs, but when its kubelet restarts: {arriving.told()} ({arriving.detail})."


def _of_next(inquiry: Inquiry) -> Iterator[str]:
    """Yield what becomes of the next pod of the same making: it may come to the same end, again and again."""
    node = inquiry.scheduling.node
    if not node:
        yield f"A new pod like it would stay pending: {inquiry.scheduling.decision}"
        return
    pod = inquiry.pod
    spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
    new = {**pod, "spec": spec, "status": {"phase": "Pending"}}
    then = inquiry.supposing(replace(inquiry.case, pod=new)).then(node)
    yield f"A new pod like it would go to {node}{f'; then {then}' if then else ' and run there'}."


def _of_loss(loss: Loss) -> Iterator[str]:
    """Yield what was asked for and is not stored, and whether it would be now, or with what changed."""
    kept = loss.kept_now()
    cure = next((f"{one.component} {one.change}" for one in loss.changes() if one.component), "")
    for path in loss.missing():
        lead = f"{loss.wish.said_by} asks for {path}, which is not stored"
        if path in kept:
            yield f"{lead}; a new pod would have it now."
        elif cure:
            yield f"{lead}, nor would be of a new pod; with {cure} it would."
        else:
            yield f"{lead}, nor would be of a new pod."
