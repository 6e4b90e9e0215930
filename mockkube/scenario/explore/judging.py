"""Judge a move: harm in numbers, and the invariants that it broke.

Harm is what would not have happened if every component had changed. Each count belongs to an invariant, and where
something is counted the invariant is broken, so that nothing is called safe beside harm.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.explain.recorded_cluster import Recording
from mockkube.explain.scheduling import Case
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.clock import Clock
from mockkube.scenario.explore import invariants
from mockkube.scenario.explore.harm import Harm
from mockkube.scenario.explore.intent import Intent, Workload
from mockkube.scenario.explore.mirror import PODS, Mirror
from mockkube.scenario.explore.observing import Fact
from mockkube.scenario.explore.plan import Demand, Phase, Plan
from mockkube.scenario.explore.search import Break, once
from mockkube.scenario.matching import differences

# Message for a pod without a PodScheduled condition.
UNTRIED: Final = "never tried by the scheduler"
_COUNTED: Final = ("evicted", "rejected", "removed", "lost")
_ENDINGS: Final = ("evicted", "rejected", "removed")
# Part of the message when admission rejects, for example a quota: the changes of a plan do not affect that.
_FORBIDDEN: Final = "forbidden"


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgement of a move."""

    harm: Harm
    breaks: tuple[Break, ...]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Pods missing at one moment that would exist if all components had changed."""

    # Pending pods by uid: workload and the scheduler's message.
    stuck: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # By uid, workloads of objects whose pods the API server rejects.
    refused: Mapping[str, str] = field(default_factory=dict)
    # Number of missing pods by workload.
    lacking: Mapping[str, int] = field(default_factory=dict)

    def __or__(self, later: "Shortfall") -> "Shortfall":
        both = self.lacking.keys() | later.lacking.keys()
        lacking = {name: max(self.lacking.get(name, 0), later.lacking.get(name, 0)) for name in sorted(both)}
        return Shortfall({**self.stuck, **later.stuck}, {**self.refused, **later.refused}, lacking)


@dataclass(frozen=True, slots=True)
class Asking:
    """Access to the cluster for repeating scheduling decisions."""

    client: Client
    clock: Clock
    # Present capabilities of the scheduler; None if it is idle.
    scheduler: Capabilities | None = None


class Judging:
    """Judges the moves on one cluster, and knows the pods that its rollback must keep."""

    def __init__(self, plan: Plan, intent: Intent, mirror: Mirror) -> None:
        self._plan, self._intent, self._mirror = plan, intent, mirror
        self._running: frozenset[str] = frozenset()
        # Harmed pods by uid.
        self._harmed: set[str] = set()
        # Pods by uid that ended as they would have if all had changed, or as an operator asked.
        self._excused: set[str] = set()
        # Last rejection of the pods that an object creates, by uid of the object.
        self._refusals: dict[str, str] = {}
        # Pods that ran before the direction down, by uid, with their workloads.
        self.ran: dict[str, str] = {}

    def begin(self) -> None:
        """Record the running pods before a move."""
        self._running = frozenset(pod["metadata"]["uid"] for pod in self._mirror.all(PODS).values() if runs(pod))

    def measure(self) -> None:
        """Record the running pods before the direction down; earlier harm is no harm of the direction down."""
        self._harmed.clear()
        self._refusals.clear()
        running = [pod for pod in self._mirror.all(PODS).values() if runs(pod)]
        owners = [(pod["metadata"]["uid"], self._intent.workload_of(pod)) for pod in running]
        self.ran = {uid: owner.name for uid, owner in owners if owner is not None}

    def take(self, seen: Iterable[Fact]) -> None:
        """Record which pods ended, and whether an operator asked for that."""
        for fact in seen:
            if fact.harm == "refused":
                self._refusals[fact.uid] = fact.reason
            elif fact.harm in _ENDINGS:
                (self._harmed if fact.harmful else self._excused).add(fact.uid)
            elif fact.harm == "ended" and not fact.harmful and fact.uid not in self._harmed:
                self._excused.add(fact.uid)
        there = {pod["metadata"]["uid"] for pod in self._mirror.all(PODS).values()}
        # A harmed pod may be deleted by its owner later; that end does not excuse the harm.
        self._excused -= self._harmed
        self.ran = {uid: owner for uid, owner in self.ran.items() if uid not in self._excused}
        self._excused &= there
        self._harmed &= there | set(self.ran)

    def remembered(self) -> list[str]:
        """Return the harmed pods, for the identity of a state."""
        return sorted(
            self._named(pod) for pod in self._mirror.all(PODS).values() if pod["metadata"]["uid"] in self._harmed
        )

    def waiting(self) -> dict[str, ReadOnlyObject]:
        """Return the pods that wait for a node."""
        return {name: pod for name, pod in self._mirror.all(PODS).items() if _waits(pod)}

    async def look(
        self, seen: Sequence[Fact], failing: Sequence[ReadOnlyObject], asking: Asking, *, looping: bool = False
    ) -> Shortfall:
        """Return the pods that are missing now.

        `seen` are the observations of the move, `failing` the objects on which controllers keep failing.
        """
        stuck = [] if looping else await self._stuck(asking)
        failed = {obj["metadata"].get("uid", ""): obj for obj in failing if self._is_refused(obj)}
        refused = [] if looping else [obj for obj in failed.values() if await self._would_run(obj, asking)]
        lacking = await self._lacking(seen, stuck, refused, asking)
        return Shortfall(
            {pod["metadata"]["uid"]: (self._named(pod), message(pod)) for pod in stuck},
            {obj["metadata"]["uid"]: self._named(obj) for obj in refused},
            lacking,
        )

    def judge(
        self, seen: Sequence[Fact], now: Shortfall, before: Shortfall, *, looping: bool, ended: Phase | None
    ) -> Judged:
        """Judge a move; `ended` is the direction in which all components have changed, if they have.

        `now` is the shortage at the end of the move, `before` the shortage in the middle of it, between a change and a
        disturbance or between two disturbances.
        """
        whole = before | now
        missing = sum(whole.lacking.values())
        harmful_loop = looping and _is_unasked(seen)
        counts = {**_counts(seen, looping=looping), "refused": len(whole.refused), "stuck": len(whole.stuck)}
        harm = Harm(**counts, loops=int(harmful_loop), missing=missing)
        wanted = {demand.name for demand in self._plan.demands}
        found = [*self._of_facts(seen, looping=harmful_loop), *_of_stuck(now)]
        found += [replace(one, passing=True) for one in _of_stuck(before)]
        breaks = [one for one in found if one.invariant in wanted]
        # In the middle of an order a shortage follows from a break that is reported already; at its end it counts by
        # itself.
        named = {one.workload for one in breaks}
        found = [*_of_missing(now, named if ended is None else set()), *self._of_end(ended)]
        over = {name: count for name, count in before.lacking.items() if name not in now.lacking}
        found += [replace(one, passing=True) for one in _of_missing(Shortfall({}, before.refused, over), named)]
        return Judged(harm.only(wanted), once([*breaks, *(one for one in found if one.invariant in wanted)]))

    def _of_facts(self, seen: Sequence[Fact], *, looping: bool) -> list[Break]:
        breaks = [Break(invariants.NO_HOT_LOOP, _looped(self._plan, seen))] if looping else []
        for fact in seen:
            invariant = invariants.OF_FACTS.get(fact.harm)
            if invariant is not None and fact.harmful:
                ran = fact.harm != "lost" and fact.uid in self._running
                breaks.append(Break(invariant, fact.told(), fact.of, ran))
        return breaks

    # Pods that wait

    async def _stuck(self, asking: Asking) -> list[ReadOnlyObject]:
        """Return the pending pods that would be scheduled if all had changed, and will not be scheduled shortly."""
        waiting = [pod for pod in self.waiting().values() if not self._intent.superseded(pod, self._mirror)]
        if not waiting:
            return []
        caps = self._intent.reference.scheduler()
        recording = await Recording.of(asking.client, caps, asking.clock)
        found: list[ReadOnlyObject] = []
        for pod in waiting:
            others = recording.without("Pod", pod["metadata"].get("uid", ""))
            if await Case(self._intent.meant(pod), others, caps, asking.clock).goes_to():
                # one that the scheduler would place as it is only waits for its backoff to end
                present = asking.scheduler and Case(pod, others, asking.scheduler, asking.clock)
                if not present or not await present.goes_to():
                    found.append(pod)
        return found

    def _named(self, pod: ReadOnlyObject) -> str:
        own = self._intent.workload_of(pod)
        return own.name if own is not None else f"pod/{pod['metadata']['name']}"

    # Pods that are not there

    def _is_refused(self, obj: ReadOnlyObject) -> bool:
        """Return whether the API server rejects the pods of an object that it accepted."""
        said = self._refusals.get(obj["metadata"].get("uid", ""), "")
        return bool(said) and _FORBIDDEN not in said

    async def _would_run(self, obj: ReadOnlyObject, asking: Asking) -> bool:
        """Return whether a pod of a workload would be scheduled if all components had changed."""
        own = self._intent.workload_of(obj)
        if own is None:
            return False
        if own.manifest["kind"] == "DaemonSet":
            return bool(self._intent.daemon_nodes(own, self._mirror))
        caps = self._intent.reference.scheduler()
        recording = await Recording.of(asking.client, caps, asking.clock)
        namespace = own.manifest["metadata"].get("namespace", "default")
        metadata = {"name": "wanted", "namespace": namespace, "labels": dict(own.labels)}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own.spec}
        return bool(await Case(pod, recording, caps, asking.clock).goes_to())

    async def _lacking(
        self, seen: Sequence[Fact], stuck: Sequence[ReadOnlyObject], refused: Sequence[ReadOnlyObject], asking: Asking
    ) -> Mapping[str, int]:
        """Return the number of missing pods by workload, where the pods would exist if all had changed."""
        objects = [*stuck, *refused, *(pod for pod in self._mirror.all(PODS).values() if self._failed(pod))]
        named = {own.name for obj in objects if (own := self._intent.workload_of(obj)) is not None}
        named |= {fact.of for fact in seen if fact.harm in _ENDINGS and fact.harmful}
        lacking: Counter[str] = Counter()
        for own in self._intent.workloads:
            count = self._intent.missing(own, self._mirror)
            if count and (own.name in named or await self._is_neglected(own, asking)):
                lacking[own.name] += count
        return dict(lacking)

    def _failed(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod without a controller is still Failed after harm."""
        own, uid = self._intent.workload_of(pod), pod["metadata"]["uid"]
        alone = own is not None and own.uid == uid
        return alone and uid in self._harmed and (pod.get("status") or {}).get("phase") == "Failed"

    async def _is_neglected(self, own: Workload, asking: Asking) -> bool:
        """Return whether the controller of a workload does not create pods that it should create."""
        if self._intent.unobserved(own, self._mirror):
            return await self._would_run(own.manifest, asking)
        if own.manifest["kind"] != "DaemonSet" or _FORBIDDEN in self._refusals.get(own.uid, ""):
            return False
        has = {_target(pod) for pod in self._intent.pods(own, self._mirror) if not _finished(pod)}
        return any(node not in has for node in self._intent.daemon_nodes(own, self._mirror))

    def _of_end(self, ended: Phase | None) -> list[Break]:
        """Return the breaks that show when all components have changed, and those of invariants for every step."""
        breaks = [found for demand in self._plan.demands if (found := self._demanded(demand, ended=ended is not None))]
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


def _of_stuck(lacking: Shortfall) -> list[Break]:
    said = dict(lacking.stuck.values())
    text = "stays Pending"
    return [Break(invariants.ADMITTED_SCHEDULABLE, f"{name}: {text}: {why}", name) for name, why in said.items()]


def _of_missing(short: Shortfall, explained: Collection[str]) -> list[Break]:
    """Return the breaks of workloads that lack pods, except those that other breaks explain."""
    told = {name: count for name, count in short.lacking.items() if name not in explained}
    breaks = [Break(invariants.REPLICAS_UP, f"{name}: {n} not ready", name) for name, n in told.items()]
    others = [name for name in short.refused.values() if name not in told and name not in explained]
    text = "the API server refuses what it makes"
    return [*breaks, *(Break(invariants.REPLICAS_UP, f"{name}: {text}", name) for name in others)]


def _counts(seen: Sequence[Fact], *, looping: bool) -> dict[str, int]:
    """Return the number of harmful observations by kind; in a hot loop, the number of workloads."""
    found = Counter((fact.harm, fact.of or fact.object) for fact in seen if fact.harm in _COUNTED and fact.harmful)
    return {
        harm: sum(1 if looping else count for (name, _), count in found.items() if name == harm) for harm in _COUNTED
    }


def runs(pod: ReadOnlyObject) -> bool:
    """Return whether a pod runs and is not being deleted."""
    return (pod.get("status") or {}).get("phase") == "Running" and not _leaves(pod)


def message(pod: ReadOnlyObject) -> str:
    """Return the scheduler's message about a pod."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), UNTRIED)


def _leaves(pod: ReadOnlyObject) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _waits(pod: ReadOnlyObject) -> bool:
    status = pod.get("status") or {}
    return status.get("phase") == "Pending" and not pod["spec"].get("nodeName") and not _leaves(pod)


def _finished(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")


def _target(pod: ReadOnlyObject) -> str:
    """Return the node of a pod, or the one that a daemon set created it for."""
    if name := pod["spec"].get("nodeName"):
        return str(name)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            return str(next(iter(one.get("values") or ()), ""))
    return ""


def _is_unasked(seen: Sequence[Fact]) -> bool:
    """Return whether a hot loop is harm: not if all its pods end as they would if all had changed."""
    endings = [fact for fact in seen if fact.harm in _ENDINGS]
    return any(fact.harmful for fact in seen) or not endings


def _looped(plan: Plan, seen: Sequence[Fact]) -> str:
    made = [fact for fact in seen if fact.harm == "created"]
    owners = sorted({fact.of or fact.object for fact in made})
    return f"more than {plan.creations_max} pods made in one step: {', '.join(owners) or 'workers undo each other'}"
