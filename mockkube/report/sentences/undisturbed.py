"""Sentences about the rollback without disturbances: what happens to running pods."""

from collections.abc import Iterator
from typing import Final

from mockkube.explore.observation.observations import ObservationKind
from mockkube.explore.plans.plan import Direction, Order, RolloutPlan
from mockkube.explore.replay import UNDISTURBED, Replay
from mockkube.report.wording import Wording, format_order, join_words

_DONE_BY: Final = {
    ObservationKind.EVICTED: "evicted by the taint eviction of `kube-controller-manager`",
    ObservationKind.REMOVED: "removed by the DaemonSet controller of `kube-controller-manager`",
    ObservationKind.REJECTED: "rejected by their `kubelet`",
}


def describe(words: Wording, replay: Replay, order: Order, *, others: int, back: bool) -> Iterator[str]:
    """Describe what happens to running pods without disturbances.

    `others` is the number of orders without preparation; `back` says whether another change up repairs everything.
    """
    tried = f"tried without disturbances: this order, {format_order(order)}, 1 of the {others} without preparation"
    fates = list(_describe_losses(words, replay))
    if not fates:
        yield f"Without disturbances no running pod was evicted, removed or rejected ({tried})."
        return
    unharmed = replay.unharmed_workloads()
    unharmed_text = f" {join_words(f'`{name}`' for name in unharmed)} kept running." if unharmed else ""
    again = f" To {words.verb(Direction.UP)} again brings them back, without an edit." if back else ""
    where = f" Details and scenario: [path without disturbances](#{UNDISTURBED})."
    yield (
        f"**Running pods are affected even without disturbances** ({tried}): "
        f"{'; '.join(fates)}.{unharmed_text}{again}{where}{_explain_tables(words.plan)}"
    )


def _describe_losses(words: Wording, replay: Replay) -> Iterator[str]:
    """Yield for each workload how many running pods it lost, why and when, and whether they were replaced."""
    owned = list(replay.running.values())
    grouped: dict[tuple[str, str, int], list[float]] = {}
    for index, observation in replay.lost_pods():
        key = observation.workload, _DONE_BY[observation.kind], index
        grouped.setdefault(key, []).append(observation.at - replay.replayed_moves[index].record.began)
    for (name, done, index), waits in sorted(grouped.items()):
        soon = "at once" if min(waits) < 1 else f"after {min(waits):.0f} s"
        step = words.describe_move(replay.moves[index])
        taken = f'{len(waits)} of {owned.count(name)} {done} {soon} in the move "{step}"'
        yield f"`{name}`: {taken}, {_describe_end(replay, name, index)}"


def _describe_end(replay: Replay, name: str, index: int) -> str:
    """Say whether a workload has all its pods at the end."""
    missing = replay.missing[name]
    if not missing:
        return "and were replaced"
    # Events of a refused creation name the pod, which begins with the name of its workload.
    short = name.rpartition("/")[2].removesuffix("*")
    later = (
        observation
        for step in replay.replayed_moves[index:]
        for observation in step.record.observations
        if observation.kind is ObservationKind.REFUSED
    )
    refused = any(observation.object.partition("/")[2].startswith(short) for observation in later)
    return f"{missing} missing at the end{': `kube-apiserver` rejects new ones' if refused else ''}"


def _explain_tables(plan: RolloutPlan) -> str:
    """Say why the tables may count fewer evictions."""
    return (
        " (The tables below count with disturbances: a pod that a disturbance has deleted is not there to be evicted.)"
        if any("delete" in action for one in plan.disturbances for action in one.actions)
        else ""
    )
