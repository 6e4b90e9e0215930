"""One walk through a plan on a cluster of its own: each move played, and what it did."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from mockkube.api.errors import ApiError
from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.cluster.components import SCHEDULER
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.laboratory import Laboratory, Setup
from mockkube.cluster.trace import OPERATOR, Step, Write
from mockkube.runtime.steps import InOrder, LivelockError, Worker
from mockkube.scenario.explore import actions, invariants
from mockkube.scenario.explore.harm import Harm
from mockkube.scenario.explore.intent import Intent, changed
from mockkube.scenario.explore.mirror import PODS, Mirror
from mockkube.scenario.explore.observing import Fact, facts
from mockkube.scenario.explore.orders import Again, Changes, Happens, Move, Moves, Turns
from mockkube.scenario.explore.plan import Action, Demand, Phase, Plan, When
from mockkube.scenario.explore.search import Break, State, Taken, Walked
from mockkube.scenario.laboratory_world import LaboratoryWorld
from mockkube.scenario.matching import differences
from mockkube.scenario.world import Scene
from mockkube.scheduler.why import case_of

_COUNTED: Final = ("evicted", "rejected", "removed", "lost", "refused")
PATIENCE: Final = 4
"""How many steps' time there is for what waits when all change again: controllers try again ever more seldom."""
_WHEN_MEANT_TO_STAY: Final = ("evicted", "removed")
"""What is no harm to a pod that nobody wanted to stay."""


class HotLoop(Exception):
    """Pods are made over and over."""


class Watchful:
    """Takes steps in order until more pods are made than any rollout needs."""

    def __init__(self, creations_max: int) -> None:
        self._creations_max = creations_max
        self._plain = InOrder()
        self._trace: Sequence[Step] = ()
        self._seen = 0
        self._made = 0

    def begin(self, trace: Sequence[Step]) -> None:
        """Count from here on."""
        self._trace, self._seen, self._made = trace, len(trace), 0

    def choice(self, ready: Sequence[Worker]) -> Worker:
        """Return the first; HotLoop when enough has been seen."""
        for step in self._trace[self._seen :]:
            self._made += sum(write.resource == PODS and write.verb == "create" for write in step.writes)
        self._seen = len(self._trace)
        if self._made > self._creations_max:
            raise HotLoop
        return self._plain.choice(ready)


@dataclass(frozen=True, slots=True)
class Told:
    """A move in full, for people: what happened, and how the workloads stand after it."""

    move: Move
    began: float
    ended: float
    facts: tuple[Fact, ...]
    refused: tuple[str, ...]
    """What users and disturbances were refused."""
    stuck: tuple[str, ...]
    """Pods that wait, and what the scheduler says of them."""
    taken: Taken


class Journey:
    """A cluster in the middle of a walk."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.intent = Intent(plan)
        self.mirror = Mirror()
        self.told: list[Told] = []
        self._chooser = Watchful(plan.creations_max)
        configuration = ClusterConfiguration(version=plan.version, nodes=len(plan.nodes), skew_policy="ignore")
        if plan.trains is not None:
            configuration = replace(configuration, release_trains=plan.trains)
        self.laboratory = Laboratory(Setup(configuration, seed=plan.seed))
        self.world = LaboratoryWorld(self.laboratory, Scene({}, Path()))
        self._stack = AsyncExitStack()
        self._pending = list(plan.workload)
        self._done: dict[str, Phase] = {}
        self._ran: dict[str, str] = {}
        """The pods by which a rollback is measured, with their owners."""
        self._looping = False
        self._refused: list[str] = []

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.laboratory)
        for change in self.plan.changes:
            await self.laboratory.set(change.component, version=change.before.version, gates=change.before.gates)
        await self._nodes()
        await actions.play(self.world, self.plan.setup)
        await self.laboratory.settle()
        self.laboratory.chooser = self._chooser
        self.mirror.follow(self.laboratory.trace.steps)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def _nodes(self) -> None:
        client = self.world.client()
        for index, node in enumerate(self.plan.nodes, 1):
            patch = {"metadata": {"labels": dict(node.labels)}, "spec": {"taints": [dict(one) for one in node.taints]}}
            await client.patch("Node", Key("", f"node-{index}"), patch)

    # Moves

    async def take(self, move: Move) -> Taken:
        """Make a move, let its time pass, and say what it did."""
        trace = self.laboratory.trace.steps
        first, began = len(trace), self.laboratory.clock.monotonic()
        self._looping, self._refused = False, []
        self._chooser.begin(trace)
        try:
            await self._make(move)
        except (HotLoop, LivelockError):
            self._looping = True
        steps = trace[first:]
        if isinstance(move, Turns) and move.prepares:
            self.intent.rewrite(write.object() for write in _told_by_users(steps))
        seen = tuple(facts(steps, self.intent, self.mirror))
        self._forgive(steps)
        if isinstance(move, Turns):
            self._measure()
        taken = await self._judged(move, seen)
        ended, refused = self.laboratory.clock.monotonic(), tuple(self._refused)
        self.told.append(Told(move, began, ended, seen, refused, tuple(self._waiting()), taken))
        return taken

    async def _make(self, move: Move) -> None:
        match move:
            case Changes(phase, component):
                await self._change(component, phase)
                await self._pass()
                for one in self.plan.disturbances:
                    if one.when is When.EVERY_STEP and phase in one.phases:
                        await self._disturb(one.actions)
            case Happens(_, name):
                await self._disturb(next(one.actions for one in self.plan.disturbances if one.name == name))
            case Turns(prepares):
                written = next((one for one in self.plan.orders if one.name == prepares), None)
                for one in self.plan.disturbances:
                    if one.when is When.BEFORE_DOWN:
                        await self._disturb(one.actions)
                if written is not None:
                    await self._disturb(written.prepare)

            case Again():
                for component in reversed(self.plan.components):
                    await self._change(component, Phase.UP)
                for _ in range(PATIENCE):
                    await self._pass()

    async def _change(self, component: str, phase: Phase) -> None:
        setting = self.plan.change_of(component).to(phase)
        self._done[component] = phase
        await self.laboratory.set(component, version=setting.version, gates=setting.gates)

    async def _disturb(self, given: Sequence[Action]) -> None:
        self._refused += await actions.play(self.world, given)
        await self._pass()

    async def _pass(self) -> None:
        """Let a step's time pass; users try again what was not accepted."""
        await self.laboratory.settle()
        client = self.world.client()
        for manifest in list(self._pending):
            metadata = {"namespace": "default", **manifest["metadata"]}
            try:
                await client.create(manifest["kind"], {**manifest, "metadata": metadata})
            except ApiError as error:
                self._refused.append(f"{manifest['kind']}/{metadata['name']}: {error.message}")
            else:
                self._pending.remove(manifest)
        await self.laboratory.advance(self.plan.seconds)

    def _measure(self) -> None:
        """Note what runs before the way down."""
        running = [pod for pod in self.mirror.all(PODS).values() if _runs(pod)]
        owners = [(pod["metadata"]["uid"], self.intent.workload_of(pod)) for pod in running]
        self._ran = {uid: owner.name for uid, owner in owners if owner is not None}

    # What came of it

    async def _judged(self, move: Move, seen: Sequence[Fact]) -> Taken:
        waiting = [] if self._looping else [pod for pod in self.mirror.all(PODS).values() if _waits(pod)]
        missing = sum(self.intent.missing(one, self.mirror) for one in self.intent.workloads)
        counted = [fact.harm for fact in seen if fact.meant_to_stay or fact.harm not in _WHEN_MEANT_TO_STAY]
        counts = {name: counted.count(name) for name in _COUNTED}
        harm = Harm(**counts, loops=int(self._looping), stuck=len(waiting), missing=missing)
        breaks = [*self._of_facts(seen), *await self._of_waiting(waiting), *self._of_end(move)]
        wanted = {demand.name for demand in self.plan.demands}
        kept = tuple(dict.fromkeys(one for one in breaks if one.invariant in wanted))
        return Taken(harm, kept, self.state())

    def _of_facts(self, seen: Sequence[Fact]) -> list[Break]:
        breaks = [Break(invariants.NO_HOT_LOOP, _looped(self.plan, seen))] if self._looping else []
        for fact in seen:
            if fact.harm in ("evicted", "removed") and fact.meant_to_stay:
                breaks.append(Break(invariants.TOLERATED_STAY, fact.told()))
            elif fact.harm == "rejected":
                breaks.append(Break(invariants.BOUND_RUN, fact.told()))
            elif fact.harm == "lost":
                breaks.append(Break(invariants.FIELDS_KEPT, fact.told()))
        return breaks

    async def _of_waiting(self, waiting: Sequence[ReadOnlyObject]) -> list[Break]:
        """Ask, once for each workload, whether its pod would be scheduled if all components had changed."""
        one_each = {own.name: (own, pod) for pod in waiting if (own := self.intent.workload_of(pod)) is not None}
        breaks = []
        for name, (own, pod) in one_each.items():
            caps = changed(self.plan, SCHEDULER)
            metadata = pod["metadata"]
            case = await case_of(
                self.world.client(), Key(metadata["namespace"], metadata["name"]), caps, self.laboratory.clock
            )
            spec = {**pod["spec"], "tolerations": [*(pod["spec"].get("tolerations") or ()), *own.tolerations]}
            if await replace(case, pod={**pod, "spec": spec}).goes_to():
                breaks.append(Break(invariants.ADMITTED_SCHEDULABLE, f"{name}: stays Pending: {_message(pod)}"))
        return breaks

    def _of_end(self, move: Move) -> list[Break]:
        """Return what does not hold now that all have changed; what is demanded at each step is asked at each."""
        phase = move.phase if isinstance(move, Changes | Happens) else Phase.UP
        ended = len(self._done) == len(self.plan.changes) and set(self._done.values()) == {phase}
        breaks = [found for demand in self.plan.demands if (found := self._demanded(demand, ended=ended))]
        if not ended:
            return breaks
        absent = {one.name: self.intent.missing(one, self.mirror) for one in self.intent.workloads}
        breaks += [
            Break(invariants.REPLICAS_UP, f"{name}: {count} not ready") for name, count in absent.items() if count
        ]
        if phase is Phase.DOWN:
            running = {pod["metadata"]["uid"] for pod in self.mirror.all(PODS).values() if _runs(pod)}
            gone = sorted(owner for uid, owner in self._ran.items() if uid not in running)
            breaks += [Break(invariants.ROLLBACK_RESTORES, f"{owner}: a pod is gone that ran before") for owner in gone]
        return breaks

    def _demanded(self, demand: Demand, *, ended: bool) -> Break | None:
        if demand.expected is None or not (ended or demand.every_step):
            return None
        found = self.mirror.found(demand.expected)
        if found is None:
            return Break(demand.name, "there is no such object")
        wrong = differences(demand.expected, dict(found), {})
        return Break(demand.name, "; ".join(map(str, wrong))) if wrong else None

    def _forgive(self, steps: Sequence[Step]) -> None:
        """Leave the pods out of account that the plan itself has deleted."""
        for write in _told_by_users(steps):
            if write.resource == PODS and (write.verb == "delete" or _leaves(write.object())):
                self._ran.pop(write.object()["metadata"]["uid"], None)

    def _waiting(self) -> list[str]:
        return [f"{name}: {_message(pod)}" for name, pod in self.mirror.all(PODS).items() if _waits(pod)]

    def state(self) -> State:
        """Return what identifies the state that the cluster is in."""
        pending = [f"{one['kind']}/{one['metadata']['name']}" for one in self._pending]
        rest = [sorted(self._done.items()), pending, self._looping, sorted(self._ran.values())]
        marks = dict.fromkeys(self._ran, "ran")
        return self.mirror.digest(marks, rest)


def _told_by_users(steps: Sequence[Step]) -> list[Write]:
    return [write for step in steps if step.worker == OPERATOR for write in step.writes]


def _runs(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running" and not _leaves(pod)


def _leaves(pod: ReadOnlyObject) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _waits(pod: ReadOnlyObject) -> bool:
    status = pod.get("status") or {}
    return status.get("phase") == "Pending" and not pod["spec"].get("nodeName") and not _leaves(pod)


def _message(pod: ReadOnlyObject) -> str:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next(
        (str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "not looked at yet"
    )


def _looped(plan: Plan, seen: Sequence[Fact]) -> str:
    made = [fact for fact in seen if fact.harm == "created"]
    owners = sorted({fact.of or fact.object for fact in made})
    return f"more than {plan.creations_max} pods made in one step: {', '.join(owners) or 'workers undo each other'}"


async def walk(plan: Plan, moves: Moves) -> Walked:
    """Make all moves on a new cluster."""
    async with Journey(plan) as journey:
        start = journey.state()
        taken = [await journey.take(move) for move in moves]
    return Walked(moves, start, tuple(taken))


async def story(plan: Plan, moves: Moves) -> Journey:
    """Make all moves on a new cluster, and return it for whoever wants to know more; it is over."""
    async with Journey(plan) as journey:
        for move in moves:
            await journey.take(move)
    return journey
