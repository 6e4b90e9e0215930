"""Symptoms of harm in a replay: where it shows, how soon, and the kubectl command that shows it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.explore.observation.observations import ObservationKind
from mockkube.explore.plans.invariants import REPLICAS_UP, ROLLBACK_RESTORES
from mockkube.explore.replay import Replay, ReplayedMove
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.sentences.events import EventSummary, annotate_message, merge_events, read_events
from mockkube.report.wording import count_noun, join_words

# Reasons of events that a healthy rollout causes as well: they do not tell harm from normal work.
_ROUTINE: Final = frozenset(
    {
        *("Scheduled", "Pulling", "Pulled", "Created", "Started", "Killing", "SuccessfulCreate", "SuccessfulDelete"),
        *("ScalingReplicaSet", "RegisteredNode", "NodeReady", "Starting", "NodeHasSufficientMemory"),
        *("NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeAllocatableEnforced", "SandboxChanged"),
    }
)
_GENERATED_SUFFIX: Final = re.compile(r"-[a-z0-9]{5}\b")
_WAITING: Final = "kubectl get pods -A --field-selector status.phase=Pending"
# Evicted pods are deleted soon after the condition is set, so only a watch shows it.
_DISRUPTED: Final = (
    "kubectl get pods -A -w -o custom-columns='POD:.metadata.name,"
    'DISRUPTED:.status.conditions[?(@.type=="DisruptionTarget")].reason\''
)
_FAILED: Final = "kubectl get pods -A --field-selector status.phase=Failed"


@dataclass(frozen=True, slots=True)
class Symptom:
    """One sign of harm that an operator can see."""

    source: str
    text: str
    delay: str
    """Time since the move began, in virtual time."""
    frequency: str
    command: str


def find_symptoms(replay: Replay, index: int) -> list[Symptom]:
    """Return the symptoms of harm in one move of a replay."""
    replayed = replay.replayed_moves[index]
    events = [one for _, one in read_events(replay.moments_of(index)) if one.reason not in _ROUTINE]
    found = [_describe_event(one, replayed) for one in merge_events(events, any_object=True)]
    return [
        *found,
        *_pod_symptoms(replayed),
        *_workload_symptoms(replayed),
        *_silent_symptoms(replayed, events),
        *_hot_loop_symptoms(replay, index),
    ]


def _describe_event(one: EventSummary, replayed: ReplayedMove) -> Symptom:
    message = _GENERATED_SUFFIX.sub("-*", one.message)
    what = f"event `{one.reason}` on {one.object.partition('/')[0]}: {annotate_message(message)}"
    command = f"kubectl get events -A --field-selector reason={one.reason}"
    return Symptom(
        one.reporter or "?", what, _format_delay(one.first, replayed), count_noun(one.times, "event"), command
    )


def _pod_symptoms(replayed: ReplayedMove) -> Iterator[Symptom]:
    rejected = [
        observation for observation in replayed.record.observations if observation.kind is ObservationKind.REJECTED
    ]
    if rejected:
        reasons = join_words(dict.fromkeys(f"`{observation.text.rpartition(': ')[2]}`" for observation in rejected))
        what = f"pods with phase Failed, reason {reasons}"
        yield Symptom(
            "kubelet", what, _format_delay(rejected[0].at, replayed), count_noun(len(rejected), "pod"), _FAILED
        )
    evicted = [
        observation for observation in replayed.record.observations if observation.kind is ObservationKind.EVICTED
    ]
    if evicted:
        what = "condition `DisruptionTarget` with reason `DeletionByTaintManager`, just before the pod is deleted"
        command = _DISRUPTED
        yield Symptom(
            "kube-controller-manager",
            what,
            _format_delay(evicted[0].at, replayed),
            count_noun(len(evicted), "pod"),
            command,
        )


def _workload_symptoms(replayed: ReplayedMove) -> Iterator[Symptom]:
    removed = [
        observation for observation in replayed.record.observations if observation.kind is ObservationKind.REMOVED
    ]
    if removed:
        what = "event `SuccessfulDelete` on DaemonSet although its spec did not change"
        command = "kubectl get events -A --field-selector reason=SuccessfulDelete"
        yield Symptom(
            "daemonset-controller",
            what,
            _format_delay(removed[0].at, replayed),
            count_noun(len(removed), "pod"),
            command,
        )
        # The controller lowers the desired number with the pods, so that nothing seems to be missing.
        what = "`DESIRED` of the DaemonSet falls too, so it looks healthy: compare it with what it was before"
        yield Symptom(
            "status of the workloads", what, _format_delay(removed[0].at, replayed), "", "kubectl get daemonsets -A -w"
        )
    broken = {one.invariant for one in replayed.record.result.breaks}
    if broken & {REPLICAS_UP, ROLLBACK_RESTORES}:
        what = (
            "fewer pods ready than the manifests request, permanently; for a DaemonSet compare with the `DESIRED` of "
            "before the rollout, because that falls too"
        )
        often = f"{replayed.record.result.harm.missing} missing at the end of the move"
        yield Symptom(
            "status of the workloads",
            what,
            "at the end of the move",
            often,
            "kubectl get deploy,rs,sts,ds,jobs,pods -A",
        )


def _silent_symptoms(replayed: ReplayedMove, events: Sequence[EventSummary]) -> Iterator[Symptom]:
    record = replayed.record
    if record.stuck and not record.result.harm.loops and not any(one.reason == "FailedScheduling" for one in events):
        # A scheduler that waits for its informers writes neither events nor conditions.
        what = "pods stay Pending with **no** event and no `PodScheduled` condition"
        yield Symptom(
            "none (no component reports it)",
            what,
            "with the first new pod",
            count_noun(len(record.stuck), "pod"),
            _WAITING,
        )


def _hot_loop_symptoms(replay: Replay, index: int) -> Iterator[Symptom]:
    replayed = replay.replayed_moves[index]
    if replayed.record.result.harm.loops:
        created = sum(observation.kind is ObservationKind.CREATED for observation in replayed.record.observations)
        # Where a loop is cut off is arbitrary, so a measured rate is better than the number of pods.
        rate = replay.rate(index)
        often = f"{created} pods, then the move was cut off" if rate is None else rate.describe()
        what = "the number of created pods keeps growing (Failed pods if a kubelet rejects them)"
        yield Symptom("kube-controller-manager", what, "at once", often, "kubectl get pods -A -w")


def _format_delay(at: float, replayed: ReplayedMove) -> str:
    seconds = at - replayed.record.began
    return "at once" if seconds < 1 else f"after {seconds:.0f} s"
