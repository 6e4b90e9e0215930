"""What a move did to the workloads of a plan: the harm in numbers, and the invariants that it broke."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Client, Key
from mockkube.cluster.components import SCHEDULER
from mockkube.cluster.trace import OPERATOR, Step, Write
from mockkube.runtime.clock import Clock
from mockkube.scenario.explore import invariants
from mockkube.scenario.explore.harm import Harm
from mockkube.scenario.explore.intent import Intent, changed
from mockkube.scenario.explore.mirror import PODS, Mirror
from mockkube.scenario.explore.observing import Fact
from mockkube.scenario.explore.plan import Demand, Phase, Plan
from mockkube.scenario.explore.search import Break, once
from mockkube.scenario.matching import differences
from mockkube.scheduler.why import case_of

UNTRIED: Final = "never tried by the scheduler"
"""What is said of a pod of which the scheduler has said nothing."""
_COUNTED: Final = ("evicted", "rejected", "removed", "lost")
_WHEN_MEANT_TO_STAY: Final = ("evicted", "removed")
"""What is no harm to a pod that nobody wanted to stay."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of a move."""

    harm: Harm
    breaks: tuple[Break, ...]


@dataclass(frozen=True, slots=True)
class Asking:
    """How the cluster is asked what would be scheduled."""

    client: Client
    clock: Clock


class Judging:
    """The workloads of one cluster, and the pods by which its rollback is measured."""

    def __init__(self, plan: Plan, intent: Intent, mirror: Mirror) -> None:
        self._plan, self._intent, self._mirror = plan, intent, mirror
        self._running: frozenset[str] = frozenset()
        self.ran: dict[str, str] = {}
        """The pods that ran before the way down, by uid, with their owners."""

    def begin(self) -> None:
        """Note what runs before a move."""
        self._running = frozenset(pod["metadata"]["uid"] for pod in self._mirror.all(PODS).values() if runs(pod))

    def measure(self) -> None:
        """Note what runs before the way down."""
        running = [pod for pod in self._mirror.all(PODS).values() if runs(pod)]
        owners = [(pod["metadata"]["uid"], self._intent.workload_of(pod)) for pod in running]
        self.ran = {uid: owner.name for uid, owner in owners if owner is not None}

    def forgive(self, steps: Iterable[Step]) -> None:
        """Leave the pods out of account that the plan itself has deleted."""
        for write in told_by_users(steps):
            if write.resource == PODS and (write.verb == "delete" or _leaves(write.object())):
                self.ran.pop(write.object()["metadata"]["uid"], None)

    def waiting(self) -> dict[str, ReadOnlyObject]:
        """Return the pods that wait for a node."""
        return {name: pod for name, pod in self._mirror.all(PODS).items() if _waits(pod)}

    async def judge(
        self, seen: Sequence[Fact], failing: int, asking: Asking, *, looping: bool, ended: Phase | None
    ) -> Judged:
        """Say what a move did; `ended` says which way all have changed now, if they have.

        `failing` is how many objects their controllers fail on.
        """
        waiting = [] if looping else list(self.waiting().values())
        missing = sum(self._intent.missing(one, self._mirror) for one in self._intent.workloads)
        counts, refused = _counts(seen, looping=looping), 0 if looping else failing
        harm = Harm(**counts, refused=refused, loops=int(looping), stuck=len(waiting), missing=missing)
        breaks = [*self._of_facts(seen, looping=looping), *await self._of_waiting(waiting, asking)]
        breaks += self._of_end(ended)
        wanted = {demand.name for demand in self._plan.demands}
        return Judged(harm, once(one for one in breaks if one.invariant in wanted))

    def _of_facts(self, seen: Sequence[Fact], *, looping: bool) -> list[Break]:
        breaks = [Break(invariants.NO_HOT_LOOP, _looped(self._plan, seen))] if looping else []
        for fact in seen:
            if fact.harm in _WHEN_MEANT_TO_STAY and fact.meant_to_stay:
                breaks.append(Break(invariants.TOLERATED_STAY, fact.told(), fact.of, fact.uid in self._running))
            elif fact.harm == "rejected":
                breaks.append(Break(invariants.BOUND_RUN, fact.told(), fact.of, fact.uid in self._running))
            elif fact.harm == "lost":
                breaks.append(Break(invariants.FIELDS_KEPT, fact.told(), fact.of))
        return breaks

    async def _of_waiting(self, waiting: Sequence[ReadOnlyObject], asking: Asking) -> list[Break]:
        """Ask, once for each workload, whether its pod would be scheduled if all components had changed."""
        one_each = {own.name: (own, pod) for pod in waiting if (own := self._intent.workload_of(pod)) is not None}
        breaks = []
        for name, (own, pod) in one_each.items():
            metadata = pod["metadata"]
            key = Key(metadata["namespace"], metadata["name"])
            case = await case_of(asking.client, key, changed(self._plan, SCHEDULER), asking.clock)
            spec = {**pod["spec"], "tolerations": [*(pod["spec"].get("tolerations") or ()), *own.tolerations]}
            if await replace(case, pod={**pod, "spec": spec}).goes_to():
                breaks.append(Break(invariants.ADMITTED_SCHEDULABLE, f"{name}: stays Pending: {message(pod)}", name))
        return breaks

    def _of_end(self, ended: Phase | None) -> list[Break]:
        """Return what does not hold now that all have changed; what is demanded at each step is asked at each."""
        breaks = [found for demand in self._plan.demands if (found := self._demanded(demand, ended=ended is not None))]
        if ended is None:
            return breaks
        absent = {one.name: self._intent.missing(one, self._mirror) for one in self._intent.workloads}
        breaks += [Break(invariants.REPLICAS_UP, f"{name}: {n} not ready", name) for name, n in absent.items() if n]
        if ended is Phase.DOWN:
            running = {pod["metadata"]["uid"] for pod in self._mirror.all(PODS).values() if runs(pod)}
            gone = sorted(owner for uid, owner in self.ran.items() if uid not in running)
            text = "a pod is gone that ran before"
            breaks += [Break(invariants.ROLLBACK_RESTORES, f"{owner}: {text}", owner) for owner in gone]
        return breaks

    def _demanded(self, demand: Demand, *, ended: bool) -> Break | None:
        if demand.expected is None or not (ended or demand.every_step):
            return None
        found = self._mirror.found(demand.expected)
        if found is None:
            return Break(demand.name, "there is no such object")
        wrong = differences(demand.expected, dict(found), {})
        return Break(demand.name, "; ".join(map(str, wrong))) if wrong else None


def _counts(seen: Sequence[Fact], *, looping: bool) -> dict[str, int]:
    """Return how often each harm was done; in a loop, to how many workloads: pods are as many as one cares to watch."""
    found = Counter(
        (fact.harm, fact.of or fact.object)
        for fact in seen
        if fact.harm in _COUNTED and (fact.meant_to_stay or fact.harm not in _WHEN_MEANT_TO_STAY)
    )
    return {
        harm: sum(1 if looping else count for (name, _), count in found.items() if name == harm) for harm in _COUNTED
    }


def told_by_users(steps: Iterable[Step]) -> list[Write]:
    """Return what users wrote, and what the plan lets happen."""
    return [write for step in steps if step.worker == OPERATOR for write in step.writes]


def runs(pod: ReadOnlyObject) -> bool:
    """Whether a pod runs, and is to go on."""
    return (pod.get("status") or {}).get("phase") == "Running" and not _leaves(pod)


def message(pod: ReadOnlyObject) -> str:
    """Return what the scheduler has said of a pod."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), UNTRIED)


def _leaves(pod: ReadOnlyObject) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _waits(pod: ReadOnlyObject) -> bool:
    status = pod.get("status") or {}
    return status.get("phase") == "Pending" and not pod["spec"].get("nodeName") and not _leaves(pod)


def _looped(plan: Plan, seen: Sequence[Fact]) -> str:
    made = [fact for fact in seen if fact.harm == "created"]
    owners = sorted({fact.of or fact.object for fact in made})
    return f"more than {plan.creations_max} pods made in one step: {', '.join(owners) or 'workers undo each other'}"
