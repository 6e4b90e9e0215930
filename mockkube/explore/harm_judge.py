"""Judge a move: harm in numbers, and the invariants that it broke.

Harm is what would not have happened if every component had changed. Each count belongs to an invariant, and where
something is counted the invariant is broken, so that nothing is called safe beside harm.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.explain.recorded_cluster import RecordedCluster
from mockkube.explain.scheduling import SchedulingCase
from mockkube.explore.harm import Harm
from mockkube.explore.observation.observations import Observation, ObservationKind
from mockkube.explore.observation.operator_intent import OperatorIntent, Workload
from mockkube.explore.observation.stored_objects import PODS, StoredObjects
from mockkube.explore.plans import invariants
from mockkube.explore.plans.plan import Direction, PlanInvariant, RolloutPlan
from mockkube.explore.search import InvariantBreak, deduplicate_breaks
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.scenario.matching import find_differences

# Message for a pod without a PodScheduled condition.
NEVER_TRIED: Final = "never tried by the scheduler"
_COUNTED: Final = (ObservationKind.EVICTED, ObservationKind.REJECTED, ObservationKind.REMOVED, ObservationKind.LOST)
_ENDINGS: Final = (ObservationKind.EVICTED, ObservationKind.REJECTED, ObservationKind.REMOVED)
# Part of the message when admission rejects, for example a quota: the changes of a plan do not affect that.
_FORBIDDEN: Final = "forbidden"


@dataclass(frozen=True, slots=True)
class MoveJudgement:
    """Judgement of a move."""

    harm: Harm
    breaks: tuple[InvariantBreak, ...]


@dataclass(frozen=True, slots=True)
class MissingPods:
    """Pods missing at one moment that would exist if all components had changed."""

    # Pending pods by uid: workload and the scheduler's message.
    stuck: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # By uid, workloads of objects whose pods the API server rejects.
    refused: Mapping[str, str] = field(default_factory=dict)
    # Number of missing pods by workload.
    counts: Mapping[str, int] = field(default_factory=dict)

    def __or__(self, later: "MissingPods") -> "MissingPods":
        both = self.counts.keys() | later.counts.keys()
        lacking = {name: max(self.counts.get(name, 0), later.counts.get(name, 0)) for name in sorted(both)}
        return MissingPods({**self.stuck, **later.stuck}, {**self.refused, **later.refused}, lacking)


@dataclass(frozen=True, slots=True)
class SchedulingContext:
    """Access to the cluster for repeating scheduling decisions."""

    client: Client
    clock: Clock
    # Present capabilities of the scheduler; None if it is idle.
    scheduler_capabilities: Capabilities | None = None
    # KubeSchedulerConfiguration of the scheduler, if it has one.
    scheduler_configuration: ReadOnlyObject | None = None
    # What `record` has returned; a context is used at one moment only.
    _recorded: dict[tuple[Version, frozenset[str]], RecordedCluster] = field(default_factory=dict, compare=False)

    async def record(self, caps: Capabilities) -> RecordedCluster:
        """Record the cluster for schedulers with these capabilities."""
        key = caps.version, caps.gates
        if key not in self._recorded:
            self._recorded[key] = await RecordedCluster.from_client(self.client, caps, self.clock)
        return self._recorded[key]


class HarmJudge:
    """Judges the moves on one cluster, and knows the pods that its rollback must keep."""

    def __init__(self, plan: RolloutPlan, intent: OperatorIntent, stored: StoredObjects) -> None:
        self._plan, self._intent, self._stored = plan, intent, stored
        self._running: frozenset[str] = frozenset()
        # Harmed pods by uid.
        self._harmed: set[str] = set()
        # Pods by uid that ended as they would have if all had changed, or as an operator asked.
        self._excused: set[str] = set()
        # Last rejection of the pods that an object creates, by uid of the object.
        self._refusals: dict[str, str] = {}
        # Pods that ran before the direction down, by uid, with their workloads.
        self.running_before_down: dict[str, str] = {}

    def start_move(self) -> None:
        """Record the running pods before a move."""
        self._running = frozenset(
            pod["metadata"]["uid"] for pod in self._stored.list_objects(PODS).values() if is_running(pod)
        )

    def start_rollback(self) -> None:
        """Record the running pods before the direction down; earlier harm is no harm of the direction down."""
        self._harmed.clear()
        self._refusals.clear()
        running = [pod for pod in self._stored.list_objects(PODS).values() if is_running(pod)]
        owners = [(pod["metadata"]["uid"], self._intent.workload_of(pod)) for pod in running]
        self.running_before_down = {uid: owner.name for uid, owner in owners if owner is not None}

    def record(self, observations: Iterable[Observation]) -> None:
        """Record which pods ended, and whether an operator asked for that."""
        for observation in observations:
            if observation.kind is ObservationKind.REFUSED:
                self._refusals[observation.uid] = observation.reason
            elif observation.kind in _ENDINGS:
                (self._harmed if observation.is_harmful else self._excused).add(observation.uid)
            elif (
                observation.kind is ObservationKind.ENDED
                and not observation.is_harmful
                and observation.uid not in self._harmed
            ):
                self._excused.add(observation.uid)
        there = {pod["metadata"]["uid"] for pod in self._stored.list_objects(PODS).values()}
        # A harmed pod may be deleted by its owner later; that end does not excuse the harm.
        self._excused -= self._harmed
        self.running_before_down = {
            uid: owner for uid, owner in self.running_before_down.items() if uid not in self._excused
        }
        self._excused &= there
        self._harmed &= there | set(self.running_before_down)

    def list_harmed(self) -> list[str]:
        """Return the harmed pods, for the identity of a state."""
        return sorted(
            self._workload_name(pod)
            for pod in self._stored.list_objects(PODS).values()
            if pod["metadata"]["uid"] in self._harmed
        )

    def list_waiting(self) -> dict[str, ReadOnlyObject]:
        """Return the pods that wait for a node."""
        return {name: pod for name, pod in self._stored.list_objects(PODS).items() if _is_waiting(pod)}

    async def find_missing_pods(
        self,
        observations: Sequence[Observation],
        failing: Sequence[ReadOnlyObject],
        context: SchedulingContext,
        *,
        looping: bool = False,
    ) -> MissingPods:
        """Return the pods that are missing now.

        `observations` are the observations of the move, `failing` the objects on which controllers keep failing.
        """
        stuck = [] if looping else await self._find_stuck(context)
        failed = {obj["metadata"].get("uid", ""): obj for obj in failing if self._is_rejected(obj)}
        refused = [] if looping else [obj for obj in failed.values() if await self._would_run(obj, context)]
        lacking = await self._count_missing(observations, stuck, refused, context)
        return MissingPods(
            {pod["metadata"]["uid"]: (self._workload_name(pod), scheduling_message(pod)) for pod in stuck},
            {obj["metadata"]["uid"]: self._workload_name(obj) for obj in refused},
            lacking,
        )

    def judge(
        self,
        observations: Sequence[Observation],
        now: MissingPods,
        before: MissingPods,
        *,
        looping: bool,
        ended: Direction | None,
    ) -> MoveJudgement:
        """Judge a move; `ended` is the direction in which all components have changed, if they have.

        `now` is the shortage at the end of the move, `before` the shortage in the middle of it, between a change and a
        disturbance or between two disturbances.
        """
        shortage = before | now
        missing = sum(shortage.counts.values())
        harmful_loop = looping and _is_harmful_loop(observations)
        counts = {
            **_count_harm(observations, looping=looping),
            "refused": len(shortage.refused),
            "stuck": len(shortage.stuck),
        }
        harm = Harm(**counts, loops=int(harmful_loop), missing=missing)
        wanted = {invariant.name for invariant in self._plan.invariants}
        found = [*self._find_observed_breaks(observations, looping=harmful_loop), *_make_stuck_breaks(now)]
        found += [replace(one, is_temporary=True) for one in _make_stuck_breaks(before)]
        breaks = [one for one in found if one.invariant in wanted]
        # In the middle of an order a shortage follows from a break that is reported already; at its end it counts by
        # itself.
        named = {one.workload for one in breaks}
        found = [*_make_missing_breaks(now, named if ended is None else set()), *self._find_final_breaks(ended)]
        over = {name: count for name, count in before.counts.items() if name not in now.counts}
        found += [
            replace(one, is_temporary=True)
            for one in _make_missing_breaks(MissingPods({}, before.refused, over), named)
        ]
        return MoveJudgement(
            harm.restrict_to(wanted), deduplicate_breaks([*breaks, *(one for one in found if one.invariant in wanted)])
        )

    def _find_observed_breaks(self, observations: Sequence[Observation], *, looping: bool) -> list[InvariantBreak]:
        breaks = [InvariantBreak(invariants.NO_HOT_LOOP, _describe_loop(self._plan, observations))] if looping else []
        for observation in observations:
            invariant = invariants.INVARIANT_OF_OBSERVATION.get(observation.kind)
            if invariant is not None and observation.is_harmful:
                ran = observation.kind is not ObservationKind.LOST and observation.uid in self._running
                breaks.append(InvariantBreak(invariant, observation.describe(), observation.workload, ran))
        return breaks

    # Pending pods

    async def _find_stuck(self, context: SchedulingContext) -> list[ReadOnlyObject]:
        """Return the pending pods that would be scheduled if all had changed, and will not be scheduled shortly."""
        waiting = [pod for pod in self.list_waiting().values() if not self._intent.is_superseded(pod, self._stored)]
        if not waiting:
            return []
        caps = self._intent.reference.scheduler_capabilities()
        recording = await context.record(caps)
        found: list[ReadOnlyObject] = []
        for pod in waiting:
            others = recording.without("Pod", pod["metadata"].get("uid", ""))
            configuration = context.scheduler_configuration
            intended = self._intent.restore_intended(pod)
            if await SchedulingCase(intended, others, caps, context.clock, configuration).find_node():
                # one that the scheduler would place as it is only waits for its backoff to end
                present = context.scheduler_capabilities and SchedulingCase(
                    pod, others, context.scheduler_capabilities, context.clock, configuration
                )
                if not present or not await present.find_node():
                    found.append(pod)
        return found

    def _workload_name(self, pod: ReadOnlyObject) -> str:
        workload = self._intent.workload_of(pod)
        return workload.name if workload is not None else f"pod/{pod['metadata']['name']}"

    # Missing pods

    def _is_rejected(self, obj: ReadOnlyObject) -> bool:
        """Return whether the API server rejects the pods of an object that it accepted."""
        said = self._refusals.get(obj["metadata"].get("uid", ""), "")
        return bool(said) and _FORBIDDEN not in said

    async def _would_run(self, obj: ReadOnlyObject, context: SchedulingContext) -> bool:
        """Return whether a pod of a workload would be scheduled if all components had changed."""
        workload = self._intent.workload_of(obj)
        if workload is None:
            return False
        if workload.manifest["kind"] == "DaemonSet":
            return bool(self._intent.list_daemon_nodes(workload, self._stored))
        caps = self._intent.reference.scheduler_capabilities()
        recording = await context.record(caps)
        namespace = workload.manifest["metadata"].get("namespace", "default")
        metadata = {"name": "wanted", "namespace": namespace, "labels": dict(workload.labels)}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": workload.spec}
        case = SchedulingCase(pod, recording, caps, context.clock, context.scheduler_configuration)
        return bool(await case.find_node())

    async def _count_missing(
        self,
        observations: Sequence[Observation],
        stuck: Sequence[ReadOnlyObject],
        refused: Sequence[ReadOnlyObject],
        context: SchedulingContext,
    ) -> Mapping[str, int]:
        """Return the number of missing pods by workload, where the pods would exist if all had changed."""
        objects = [
            *stuck,
            *refused,
            *(pod for pod in self._stored.list_objects(PODS).values() if self._is_failed_by_harm(pod)),
        ]
        named = {workload.name for obj in objects if (workload := self._intent.workload_of(obj)) is not None}
        named |= {
            observation.workload
            for observation in observations
            if observation.kind in _ENDINGS and observation.is_harmful
        }
        lacking: Counter[str] = Counter()
        for workload in self._intent.workloads:
            count = self._intent.count_missing(workload, self._stored)
            if count and (workload.name in named or await self._is_neglected(workload, context)):
                lacking[workload.name] += count
        return dict(lacking)

    def _is_failed_by_harm(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod without a controller is still Failed after harm."""
        workload, uid = self._intent.workload_of(pod), pod["metadata"]["uid"]
        alone = workload is not None and workload.uid == uid
        return alone and uid in self._harmed and (pod.get("status") or {}).get("phase") == "Failed"

    async def _is_neglected(self, workload: Workload, context: SchedulingContext) -> bool:
        """Return whether the controller of a workload does not create pods that it should create."""
        if self._intent.is_unobserved(workload, self._stored):
            return await self._would_run(workload.manifest, context)
        if workload.manifest["kind"] != "DaemonSet" or _FORBIDDEN in self._refusals.get(workload.uid, ""):
            return False
        has = {_target_node(pod) for pod in self._intent.list_pods(workload, self._stored) if not _is_finished(pod)}
        return any(node not in has for node in self._intent.list_daemon_nodes(workload, self._stored))

    def _find_final_breaks(self, ended: Direction | None) -> list[InvariantBreak]:
        """Return the breaks that show when all components have changed, and those of invariants for every move."""
        breaks = [
            found
            for invariant in self._plan.invariants
            if (found := self._check_expected_object(invariant, ended=ended is not None))
        ]
        if ended is Direction.DOWN:
            running = {pod["metadata"]["uid"] for pod in self._stored.list_objects(PODS).values() if is_running(pod)}
            gone = sorted(owner for uid, owner in self.running_before_down.items() if uid not in running)
            text = "a pod is gone that ran before"
            breaks += [InvariantBreak(invariants.ROLLBACK_RESTORES, f"{owner}: {text}", owner) for owner in gone]
        return breaks

    def _check_expected_object(self, invariant: PlanInvariant, *, ended: bool) -> InvariantBreak | None:
        if invariant.expected is None or not (ended or invariant.every_step):
            return None
        found = self._stored.find(invariant.expected)
        if found is None:
            return InvariantBreak(invariant.name, "there is no such object")
        wrong = find_differences(invariant.expected, dict(found), {})
        return InvariantBreak(invariant.name, "; ".join(map(str, wrong))) if wrong else None


def _make_stuck_breaks(lacking: MissingPods) -> list[InvariantBreak]:
    said = dict(lacking.stuck.values())
    text = "stays Pending"
    return [
        InvariantBreak(invariants.ADMITTED_SCHEDULABLE, f"{name}: {text}: {why}", name) for name, why in said.items()
    ]


def _make_missing_breaks(short: MissingPods, explained: Collection[str]) -> list[InvariantBreak]:
    """Return the breaks of workloads that lack pods, except those that other breaks explain."""
    unexplained = {name: count for name, count in short.counts.items() if name not in explained}
    breaks = [InvariantBreak(invariants.REPLICAS_UP, f"{name}: {n} not ready", name) for name, n in unexplained.items()]
    others = [name for name in short.refused.values() if name not in unexplained and name not in explained]
    text = "the API server rejects the pods that it creates"
    return [*breaks, *(InvariantBreak(invariants.REPLICAS_UP, f"{name}: {text}", name) for name in others)]


def _count_harm(observations: Sequence[Observation], *, looping: bool) -> dict[str, int]:
    """Return the number of harmful observations by kind; in a hot loop, the number of workloads."""
    found = Counter(
        (observation.kind, observation.workload or observation.object)
        for observation in observations
        if observation.kind in _COUNTED and observation.is_harmful
    )
    return {
        harm: sum(1 if looping else count for (name, _), count in found.items() if name == harm) for harm in _COUNTED
    }


def is_running(pod: ReadOnlyObject) -> bool:
    """Return whether a pod runs and is not being deleted."""
    return (pod.get("status") or {}).get("phase") == "Running" and not _is_terminating(pod)


def scheduling_message(pod: ReadOnlyObject) -> str:
    """Return the scheduler's message about a pod."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), NEVER_TRIED)


def _is_terminating(pod: ReadOnlyObject) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _is_waiting(pod: ReadOnlyObject) -> bool:
    status = pod.get("status") or {}
    return status.get("phase") == "Pending" and not pod["spec"].get("nodeName") and not _is_terminating(pod)


def _is_finished(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")


def _target_node(pod: ReadOnlyObject) -> str:
    """Return the node of a pod, or the one that a daemon set created it for."""
    if name := pod["spec"].get("nodeName"):
        return str(name)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            return str(next(iter(one.get("values") or ()), ""))
    return ""


def _is_harmful_loop(observations: Sequence[Observation]) -> bool:
    """Return whether a hot loop is harm: not if all its pods end as they would if all had changed."""
    endings = [observation for observation in observations if observation.kind in _ENDINGS]
    return any(observation.is_harmful for observation in observations) or not endings


def _describe_loop(plan: RolloutPlan, observations: Sequence[Observation]) -> str:
    created = [observation for observation in observations if observation.kind is ObservationKind.CREATED]
    owners = sorted({observation.workload or observation.object for observation in created})
    return f"more than {plan.creations_max} pods created in one move: {', '.join(owners) or 'workers undo each other'}"
