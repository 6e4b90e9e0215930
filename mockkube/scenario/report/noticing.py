"""How somebody would notice: for each step that broke something, who says what, how soon, and how to ask for it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.scenario.explore.invariants import REPLICAS_UP, ROLLBACK_RESTORES
from mockkube.scenario.explore.replay import Replay, ReplayedMove
from mockkube.scenario.report.events import Told, events_of, gathered, quoted
from mockkube.scenario.report.wording import listed, times

_ROUTINE: Final = frozenset(
    {
        *("Scheduled", "Pulling", "Pulled", "Created", "Started", "Killing", "SuccessfulCreate", "SuccessfulDelete"),
        *("ScalingReplicaSet", "RegisteredNode", "NodeReady", "Starting", "NodeHasSufficientMemory"),
        *("NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeAllocatableEnforced", "SandboxChanged"),
    }
)
"""What also happens when all is well."""
_DRAWN: Final = re.compile(r"-[a-z0-9]{5}\b")
_WAITING: Final = "kubectl get pods -A --field-selector status.phase=Pending"
_DISRUPTED: Final = (
    "kubectl get pods -A -w -o custom-columns='POD:.metadata.name,"
    'DISRUPTED:.status.conditions[?(@.type=="DisruptionTarget")].reason\''
)
_FAILED: Final = "kubectl get pods -A --field-selector status.phase=Failed"


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing to look for."""

    who: str
    what: str
    soon: str
    """How long after the step began, in virtual time."""
    often: str
    command: str


def signs(replay: Replay, index: int) -> list[Sign]:
    """Return what shows in a step of a way that something is wrong."""
    step = replay.steps[index]
    events = [one for _, one in events_of(replay.moments_of(index)) if one.reason not in _ROUTINE]
    found = [_of_event(one, step) for one in gathered(events, whoever=True)]
    return [*found, *_of_pods(step), *_of_workloads(step), *_without_event(step, events), *_of_loop(replay, index)]


def _of_event(one: Told, step: ReplayedMove) -> Sign:
    message = _DRAWN.sub("-*", one.message)
    what = f"event `{one.reason}` on {one.object.partition('/')[0]}: {quoted(message)}"
    command = f"kubectl get events -A --field-selector reason={one.reason}"
    return Sign(one.reporter or "?", what, _soon(one.first, step), times(one.times, "event"), command)


def _of_pods(step: ReplayedMove) -> Iterator[Sign]:
    rejected = [fact for fact in step.record.facts if fact.harm == "rejected"]
    if rejected:
        reasons = listed(dict.fromkeys(f"`{fact.text.rpartition(': ')[2]}`" for fact in rejected))
        what = f"pods with phase Failed, reason {reasons}"
        yield Sign("kubelet", what, _soon(rejected[0].at, step), times(len(rejected), "pod"), _FAILED)
    evicted = [fact for fact in step.record.facts if fact.harm == "evicted"]
    if evicted:
        what = "condition `DisruptionTarget` with reason `DeletionByTaintManager`, just before the pod is deleted"
        command = _DISRUPTED
        yield Sign("kube-controller-manager", what, _soon(evicted[0].at, step), times(len(evicted), "pod"), command)


def _of_workloads(step: ReplayedMove) -> Iterator[Sign]:
    removed = [fact for fact in step.record.facts if fact.harm == "removed"]
    if removed:
        what = "event `SuccessfulDelete` on DaemonSet although nobody has changed it"
        command = "kubectl get events -A --field-selector reason=SuccessfulDelete"
        yield Sign("daemonset-controller", what, _soon(removed[0].at, step), times(len(removed), "pod"), command)
        what = "`DESIRED` of the DaemonSet falls too, so it looks healthy: compare it with what it was before"
        yield Sign("status of the workloads", what, _soon(removed[0].at, step), "", "kubectl get daemonsets -A -w")
    broken = {one.invariant for one in step.record.taken.breaks}
    if broken & {REPLICAS_UP, ROLLBACK_RESTORES}:
        what = (
            "fewer pods ready than the manifests ask for, and it stays so; of a DaemonSet only against the `DESIRED` "
            "of before, for that falls too"
        )
        often = f"{step.record.taken.harm.missing} missing at the end of the step"
        yield Sign("status of the workloads", what, "at the end of the step", often, "kubectl get deploy,rs,ds,pods -A")


def _without_event(step: ReplayedMove, events: Sequence[Told]) -> Iterator[Sign]:
    record = step.record
    if record.stuck and not record.taken.harm.loops and not any(one.reason == "FailedScheduling" for one in events):
        what = "pods stay Pending with **no** event and no `PodScheduled` condition"
        yield Sign("nobody", what, "with the first new pod", times(len(record.stuck), "pod"), _WAITING)


def _of_loop(replay: Replay, index: int) -> Iterator[Sign]:
    step = replay.steps[index]
    if step.record.taken.harm.loops:
        made = sum(fact.harm == "created" for fact in step.record.facts)
        rate = replay.rate(index)
        often = f"{made} pods, then the step was cut off" if rate is None else rate.text()
        what = "the number of pods made (and of Failed ones, where a kubelet rejects) grows without end"
        yield Sign("kube-controller-manager", what, "at once", often, "kubectl get pods -A -w")


def _soon(at: float, step: ReplayedMove) -> str:
    seconds = at - step.record.began
    return "at once" if seconds < 1 else f"after {seconds:.0f} s"
