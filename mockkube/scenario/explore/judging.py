"""What a move did to the workloads: the harm in numbers, and the invariants that it broke.

Harm is what would not be so if every component had changed. Each count belongs to an invariant: where something is
counted, the invariant is broken, so nothing is called safe beside harm.
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

UNTRIED: Final = "never tried by the scheduler"
"""What is said of a pod of which the scheduler has said nothing."""
_COUNTED: Final = ("evicted", "rejected", "removed", "lost")
_ENDINGS: Final = ("evicted", "rejected", "removed")
_FORBIDDEN: Final = "forbidden"
"""In the message of a refusal by admission, like that of a quota: it would be the same if all had changed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of a move."""

    harm: Harm
    breaks: tuple[Break, ...]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Pods that are lacking at one moment and would not be if all components had changed."""

    stuck: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Waiting pods by uid: the workload, and what the scheduler has said."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """By uid, the workloads of objects whose pods the API server refuses."""
    lacking: Mapping[str, int] = field(default_factory=dict)
    """How many pods each workload lacks."""

    def __or__(self, later: "Shortfall") -> "Shortfall":
        both = self.lacking.keys() | later.lacking.keys()
        lacking = {name: max(self.lacking.get(name, 0), later.lacking.get(name, 0)) for name in sorted(both)}
        return Shortfall({**self.stuck, **later.stuck}, {**self.refused, **later.refused}, lacking)


@dataclass(frozen=True, slots=True)
class Asking:
    """How the cluster is asked what would be scheduled."""

    client: Client
    clock: Clock
    scheduler: Capabilities | None = None
    """What the scheduler can do at the moment; None if it does nothing."""


class Judging:
    """The workloads of one cluster, and the pods by which its rollback is measured."""

    def __init__(self, plan: Plan, intent: Intent, mirror: Mirror) -> None:
        self._plan, self._intent, self._mirror = plan, intent, mirror
        self._running: frozenset[str] = frozenset()
        self._harmed: set[str] = set()
        """Pods that came to harm, by uid."""
        self._excused: set[str] = set()
        """Pods that ended as they would have if all had changed, or as an operator asked for, by uid."""
        self._refusals: dict[str, str] = {}
        """What the API server said last of the pods that an object makes, by uid."""
        self.ran: dict[str, str] = {}
        """The pods that ran before the way down, by uid, with their owners."""

    def begin(self) -> None:
        """Note what runs before a move."""
        self._running = frozenset(pod["metadata"]["uid"] for pod in self._mirror.all(PODS).values() if runs(pod))

    def measure(self) -> None:
        """Note what runs before the way down; what came to harm until then is no harm of the way down."""
        self._harmed.clear()
        self._refusals.clear()
        running = [pod for pod in self._mirror.all(PODS).values() if runs(pod)]
        owners = [(pod["metadata"]["uid"], self._intent.workload_of(pod)) for pod in running]
        self.ran = {uid: owner.name for uid, owner in owners if owner is not None}

    def take(self, seen: Iterable[Fact]) -> None:
        """Take in which pods ended, and whether anybody asked for that."""
        for fact in seen:
            if fact.harm == "refused":
                self._refusals[fact.uid] = fact.reason
            elif fact.harm in _ENDINGS:
                (self._harmed if fact.harmful else self._excused).add(fact.uid)
            elif fact.harm == "ended" and not fact.harmful and fact.uid not in self._harmed:
                self._excused.add(fact.uid)
        there = {pod["metadata"]["uid"] for pod in self._mirror.all(PODS).values()}
        self._excused -= self._harmed
        self.ran = {uid: owner for uid, owner in self.ran.items() if uid not in self._excused}
        self._excused &= there
        self._harmed &= there | set(self.ran)

    def remembered(self) -> list[str]:
        """Return which pods came to harm, for the identity of a state."""
        return sorted(
            self._named(pod) for pod in self._mirror.all(PODS).values() if pod["metadata"]["uid"] in self._harmed
        )

    def waiting(self) -> dict[str, ReadOnlyObject]:
        """Return the pods that wait for a node."""
        return {name: pod for name, pod in self._mirror.all(PODS).items() if _waits(pod)}

    async def look(
        self, seen: Sequence[Fact], failing: Sequence[ReadOnlyObject], asking: Asking, *, looping: bool = False
    ) -> Shortfall:
        """Return the pods that are lacking now; `seen` is what has happened in the move.

        `failing` are the objects that their controllers fail on.
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
        """Say what a move did; `ended` says which way all have changed now, if they have.

        `now` is what is lacking at the end of the move, `before` what was lacking in the middle of it, between a
        change and a disturbance or between two disturbances.
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
        """Return the waiting pods that would be scheduled if all components had changed, and are not about to be."""
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
        """Return whether the API server refuses what an object makes, though it has accepted the object."""
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
        """Return the workloads that lack pods which would be there if all had changed, with how many they lack."""
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
        """Return whether a pod that nothing replaces is still as harm left it."""
        own, uid = self._intent.workload_of(pod), pod["metadata"]["uid"]
        alone = own is not None and own.uid == uid
        return alone and uid in self._harmed and (pod.get("status") or {}).get("phase") == "Failed"

    async def _is_neglected(self, own: Workload, asking: Asking) -> bool:
        """Return whether the controller of a workload makes no pods that it should make."""
        if self._intent.unobserved(own, self._mirror):
            return await self._would_run(own.manifest, asking)
        if own.manifest["kind"] != "DaemonSet" or _FORBIDDEN in self._refusals.get(own.uid, ""):
            return False
        has = {_target(pod) for pod in self._intent.pods(own, self._mirror) if not _finished(pod)}
        return any(node not in has for node in self._intent.daemon_nodes(own, self._mirror))

    # What is asked when all have changed

    def _of_end(self, ended: Phase | None) -> list[Break]:
        """Return what does not hold now that all have changed; what is demanded at each step is asked at each."""
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
    """Return the workloads that lack pods; in the middle of an order only those that nothing else explains."""
    told = {name: count for name, count in short.lacking.items() if name not in explained}
    breaks = [Break(invariants.REPLICAS_UP, f"{name}: {n} not ready", name) for name, n in told.items()]
    others = [name for name in short.refused.values() if name not in told and name not in explained]
    text = "the API server refuses what it makes"
    return [*breaks, *(Break(invariants.REPLICAS_UP, f"{name}: {text}", name) for name in others)]


def _counts(seen: Sequence[Fact], *, looping: bool) -> dict[str, int]:
    """Return how often each harm was done; in a loop, to how many workloads: pods are as many as one cares to watch."""
    found = Counter((fact.harm, fact.of or fact.object) for fact in seen if fact.harm in _COUNTED and fact.harmful)
    return {
        harm: sum(1 if looping else count for (name, _), count in found.items() if name == harm) for harm in _COUNTED
    }


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


def _finished(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")


def _target(pod: ReadOnlyObject) -> str:
    """Return the node of a pod, or the one that a daemon set made it for."""
    if name := pod["spec"].get("nodeName"):
        return str(name)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            return str(next(iter(one.get("values") or ()), ""))
    return ""


def _is_unasked(seen: Sequence[Fact]) -> bool:
    """Return whether a loop is harm: one whose pods all end as they would if all had changed is none."""
    endings = [fact for fact in seen if fact.harm in _ENDINGS]
    return any(fact.harmful for fact in seen) or not endings


def _looped(plan: Plan, seen: Sequence[Fact]) -> str:
    made = [fact for fact in seen if fact.harm == "created"]
    owners = sorted({fact.of or fact.object for fact in made})
    return f"more than {plan.creations_max} pods made in one step: {', '.join(owners) or 'workers undo each other'}"
