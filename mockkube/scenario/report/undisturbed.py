"""The way down on which nobody touches anything: what becomes of pods that just run, told as a way of its own."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from mockkube.scenario.explore.invariants import REPLICAS_UP, ROLLBACK_RESTORES
from mockkube.scenario.explore.orders import walks
from mockkube.scenario.explore.plan import Order, Phase, Plan
from mockkube.scenario.explore.retelling import scenario_of
from mockkube.scenario.explore.verdict import Counterexample
from mockkube.scenario.report.retold import Retold
from mockkube.scenario.report.wording import Wording, listed, order_text

UNDISTURBED: Final = "undisturbed"
"""How `--trace` calls it, and the place in a page."""
_DONE_BY: Final = {
    "evicted": "evicted by the taint eviction of `kube-controller-manager`",
    "removed": "removed by the DaemonSet controller of `kube-controller-manager`",
    "rejected": "rejected by their `kubelet`",
}


def told(words: Wording, way: Retold, order: Order, *, others: int, back: bool) -> Iterator[str]:
    """Say what happens to pods that just run; `others` orders were tried with disturbances alone.

    `back` says whether all is well when everything changes once more.
    """
    tried = f"tried without disturbances: this order, {order_text(order)}, 1 of the {others} without preparation"
    fates = list(_fates(words, way))
    if not fates:
        yield f"Pods that just run, with nobody touching anything: none was evicted, removed or rejected ({tried})."
        return
    kept = f" {listed(f'`{name}`' for name in way.kept())} kept running." if way.kept() else ""
    again = f" To {words.verb(Phase.UP)} again brings them back, without an edit." if back else ""
    where = f" Step by step, with a scenario to play: [the undisturbed way](#{UNDISTURBED})."
    yield (
        f"**Pods that just run are hit too**, with nobody deleting or changing anything ({tried}): "
        f"{'; '.join(fates)}.{kept}{again}{where}{_deleting(words.plan)}"
    )


def _fates(words: Wording, way: Retold) -> Iterator[str]:
    """Yield what was done to the running pods of each workload, by whom and when, and whether there are others then."""
    owned = list(way.ran.values())
    grouped: dict[tuple[str, str, int], list[float]] = {}
    for stage, fact in way.taken():
        key = fact.of, _DONE_BY[fact.harm], way.stages.index(stage)
        grouped.setdefault(key, []).append(fact.at - stage.told.began)
    for (name, done, index), waits in sorted(grouped.items()):
        soon = "at once" if min(waits) < 1 else f"after {min(waits):.0f} s"
        step = words.move(way.stages[index].told.move)
        taken = f'{len(waits)} of {owned.count(name)} {done} {soon} at the step "{step}"'
        yield f"`{name}`: {taken}, {_return(way, name, index)}"


def _return(way: Retold, name: str, index: int) -> str:
    """Say whether a workload has its pods at the end."""
    own = next(one for one in way.journey.intent.workloads if one.name == name)
    missing = way.journey.intent.missing(own, way.journey.mirror)
    if not missing:
        return "and others take their place"
    short = own.manifest["metadata"]["name"]
    later = (fact for stage in way.stages[index:] for fact in stage.told.facts if fact.harm == "refused")
    refused = any(fact.object.partition("/")[2].startswith(short) for fact in later)
    return f"{missing} missing at the end{': `kube-apiserver` refuses new ones' if refused else ''}"


def _deleting(plan: Plan) -> str:
    """Say why the tables may count fewer evictions than that."""
    return (
        " (The tables below count with disturbances: a pod that a disturbance has deleted is not there to be evicted.)"
        if any("delete" in action for one in plan.disturbances for action in one.actions)
        else ""
    )


def as_way(way: Retold) -> Retold:
    """Return the way with what breaks in it, each invariant as it breaks first."""
    walk = next(one for one in walks(way.plan) if one.moves[: len(way.moves)] == way.moves)
    first: dict[str, Counterexample] = {}
    for index, stage in enumerate(way.stages):
        for one in stage.told.taken.breaks:
            first.setdefault(one.invariant, Counterexample(one.invariant, one.text, way.moves[: index + 1], walk))
    return replace(way, examples=tuple(first.values()), undisturbed=True)


def shown(way: Retold) -> Counterexample | None:
    """Return what is still so at its end, to be claimed by a scenario."""
    last = {one.invariant for one in way.stages[-1].told.taken.breaks}
    name = next((one for one in (ROLLBACK_RESTORES, REPLICAS_UP) if one in last), None)
    return next((one for one in way.examples if one.invariant == name), None)


def scenario(way: Retold) -> str | None:
    """Return the scenario that makes this way and then claims that pods are gone; None if none are."""
    example = shown(as_way(way))
    return scenario_of(way.plan, example, way.journey) if example is not None else None
