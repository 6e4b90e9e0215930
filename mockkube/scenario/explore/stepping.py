"""Play one path of a plan on a cluster of its own, move by move, and record what each move did."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from mockkube.api.errors import ApiError
from mockkube.client.protocol import Key
from mockkube.cluster.components import Settings
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.laboratory import Laboratory, Setup
from mockkube.cluster.trace import Step
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import SCHEDULER, is_api_server
from mockkube.runtime.steps import InOrderChooser, LivelockError, Worker
from mockkube.scenario.explore import actions
from mockkube.scenario.explore.churn import in_vain
from mockkube.scenario.explore.exercised import exercised, happened
from mockkube.scenario.explore.explaining import Why, explained
from mockkube.scenario.explore.intent import Intent
from mockkube.scenario.explore.journal import Journal, OperatorWorld
from mockkube.scenario.explore.judging import Asking, Judged, Judging, Shortfall, message
from mockkube.scenario.explore.memory import failing, remembered
from mockkube.scenario.explore.mirror import PODS, Mirror
from mockkube.scenario.explore.observing import Fact, facts
from mockkube.scenario.explore.orders import Again, Changes, Happens, Move, Moves, Turns
from mockkube.scenario.explore.plan import Action, Phase, Plan, Setting, When
from mockkube.scenario.explore.reference import Reference
from mockkube.scenario.explore.script import Script
from mockkube.scenario.explore.search import State, Taken, Walked
from mockkube.scenario.explore.taint_times import TaintTimes
from mockkube.scenario.world import Scene
from mockkube.scheduler.scheduler import Scheduler

# Steps of time for waiting pods when all components change again: retries back off, so one step is too short.
PATIENCE: Final = 4


class HotLoop(Exception):
    """Pods are created over and over."""


class Found(Exception):
    """The invariant that was searched for is broken."""


class Watchful:
    """Chooser that takes steps in order until it detects a hot loop.

    A hot loop creates more pods than any rollout needs, and most of them end soon.
    """

    def __init__(self, creations_max: int) -> None:
        self._creations_max = creations_max
        self._plain = InOrderChooser()
        self._trace: Sequence[Step] = ()
        self._first = 0
        self._seen = 0
        self._made = 0

    def begin(self, trace: Sequence[Step]) -> None:
        """Start counting at the end of the trace."""
        self._trace, self._first, self._seen, self._made = trace, len(trace), len(trace), 0

    def choose(self, ready: Sequence[Worker]) -> Worker:
        """Return the first worker; raise HotLoop after too many pods."""
        made = 0
        for step in self._trace[self._seen :]:
            made += sum(write.resource == PODS and write.verb == "create" for write in step.writes)
        self._seen, self._made = len(self._trace), self._made + made
        if made and self._made > self._creations_max and self._in_vain() > self._creations_max / 2:
            raise HotLoop
        return self._plain.choose(ready)

    def _in_vain(self) -> int:
        """Return how many pods were created and ended, except those that operators replaced or deleted."""
        return in_vain(self._trace[self._first :])


@dataclass(frozen=True, slots=True)
class Told:
    """Record of a move, for reports: what happened, and the state of the workloads after it."""

    move: Move
    began: float
    ended: float
    facts: tuple[Fact, ...]
    # Rejections of users' requests and of disturbances.
    refused: tuple[str, ...]
    # Pending pods, with the scheduler's messages.
    stuck: tuple[str, ...]
    taken: Taken
    # Explanations of harm, one for each workload and harm, if the path is replayed with explanations.
    why: tuple[Why, ...] = ()
    # Index of its first step in the trace.
    first: int = 0


class Journey:
    """Plays one path on a cluster."""

    def __init__(self, plan: Plan, *, explains: bool = False) -> None:
        self.plan = plan
        self._explains = explains
        self._journal = journal = Journal()
        self.intent = Intent(plan, Reference(plan, self._settings), journal)
        self.mirror = Mirror()
        self._times = TaintTimes()
        self.judging = Judging(plan, self.intent, self.mirror)
        self.told: list[Told] = []
        self.script = Script()
        self._chooser = Watchful(plan.creations_max)
        # Orders may pass through versions that the skew policy does not support; the report says so, the cluster plays
        # them.
        configuration = ClusterConfiguration(version=plan.version, nodes=len(plan.nodes), skew_policy="ignore")
        if plan.trains is not None:
            configuration = replace(configuration, release_trains=plan.trains)
        self.laboratory = Laboratory(Setup(configuration, seed=plan.seed))
        self.world = OperatorWorld(self.laboratory, Scene({}, Path()), journal)
        self._stack = AsyncExitStack()
        self._pending = list(plan.workload)
        self._done: dict[str, Phase] = {}
        self._state: State = ""
        self._move: Move | None = None
        self._looping = False
        self._refused: list[str] = []
        # Index of the first trace step that was not observed yet.
        self._first_unread = 0
        # Observations of the current move.
        self._seen: list[Fact] = []
        # Missing pods in the middle of the current move.
        self._short = Shortfall()
        # Whether time has passed in the current move.
        self._paused = False
        # Actions of the plan that were accepted in any move.
        self._accepted: set[str] = set()
        # Actions that were rejected, with the reason.
        self._rejected: dict[str, str] = {}
        # The move ends where this invariant is first found broken.
        self._until = ""

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.laboratory)
        for change in self.plan.changes:
            if change.component not in self.laboratory.components() or not self._is_so_anyway(change.before):
                await self._set(change.component, change.before)
        await self._nodes()
        for number, action in enumerate(self.plan.setup, 1):
            await self._act(action, f"setup, step {number}")
        await self._settle()
        self.laboratory.chooser = self._chooser
        self._read()
        self._state = self.state()
        return self

    def _settings(self, component: str) -> Settings:
        """Return the present settings of a component, or of the shared kubelets if the node has none of its own."""
        components = self.laboratory.components()
        family = component.partition(".")[0]
        return components[component if component in components else family].settings

    def _is_so_anyway(self, setting: Setting) -> bool:
        """Return whether a setting is the default of the cluster."""
        told = any(on is not None for on in setting.gates.values())
        return not told and setting.version in (None, str(self.plan.version))

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def _nodes(self) -> None:
        client = self.world.client()
        for index, node in enumerate(self.plan.nodes, 1):
            patch = {"metadata": {"labels": dict(node.labels)}, "spec": {"taints": [dict(one) for one in node.taints]}}
            self.script.node(f"node-{index}", patch)
            await client.patch("Node", Key("", f"node-{index}"), patch)

    # Moves

    async def take(self, move: Move, until: str = "") -> Taken:
        """Make a move, let its time pass, and return its result.

        With `until`, an invariant, the move ends where that is first found broken.
        """
        self._until = until
        trace = self.laboratory.trace.steps
        first, began = len(trace), self.laboratory.clock.monotonic()
        self._looping, self._refused = False, []
        self._move, self._seen, self._short = move, [], Shortfall()
        self._paused = False
        self._chooser.begin(trace)
        self.judging.begin()
        waited, invalid = bool(self.judging.waiting()), self._journal.invalid
        try:
            await self._make(move)
        # A loop ends the move early: nothing new would happen in it, and its pods would fill the trace.
        except (HotLoop, LivelockError):
            self._looping = True
            self.script.cut_off(self.laboratory.clock.monotonic())
        except Found:
            pass
        steps = trace[first:]
        self._read()
        seen = tuple(self._seen)
        # Former templates without pods must not distinguish states that are otherwise the same.
        self.intent.forget(self.mirror)
        if isinstance(move, Turns):
            self.judging.measure()
            self.script.turns()
        down = isinstance(move, Changes | Happens) and move.phase is Phase.DOWN
        refusing = down and self._journal.invalid > invalid and any(map(is_api_server, self.plan.components))
        taken = replace(
            await self._judged(move),
            exercised=self._exercised(steps, waited=waited, refused=refusing),
            eventful=happened(steps) or refusing,
            accepted=frozenset(self._accepted),
            refused=dict(self._rejected),
        )
        ended, refused = self.laboratory.clock.monotonic(), tuple(self._refused)
        stuck = tuple(f"{name}: {message(pod)}" for name, pod in self.judging.waiting().items())
        why = await explained(self.laboratory, self.intent, self.mirror, seen) if self._explains else ()
        self.told.append(Told(move, began, ended, seen, refused, stuck, taken, why, first))
        return taken

    def _exercised(self, steps: Sequence[Step], *, waited: bool, refused: bool) -> frozenset[str]:
        """Return the components that had to decide.

        In the direction down a rejection counts as a decision of the API server, too.
        """
        found = exercised(self.plan.components, steps, self.mirror, waited=waited)
        servers = (name for name in self.plan.components if is_api_server(name))
        return found.union(servers) if refused else found

    async def _make(self, move: Move) -> None:
        match move:
            case Changes(phase, component):
                await self._change(component, phase)
                await self._pass()
                for one in self.plan.disturbances:
                    if one.when is When.EVERY_STEP and phase in one.phases:
                        await self._disturb(one.name, one.actions)
            case Happens(_, name):
                await self._disturb(name, next(one.actions for one in self.plan.disturbances if one.name == name))
            case Turns(prepares):
                written = next((one for one in self.plan.orders if one.name == prepares), None)
                for one in self.plan.disturbances:
                    if one.when is When.BEFORE_DOWN:
                        await self._disturb(one.name, one.actions)
                if written is not None:
                    await self._disturb(written.name, written.prepare)
            case Again():
                for component in reversed(self.plan.components):
                    await self._change(component, Phase.UP)
                for _ in range(PATIENCE):
                    await self._pass()

    async def _change(self, component: str, phase: Phase) -> None:
        self._done[component] = phase
        await self._set(component, self.plan.change_of(component).to(phase), f"{component} {phase}")

    async def _set(self, component: str, setting: Setting, description: str = "") -> None:
        self.script.component(component, setting, description)
        await self.laboratory.set(component, version=setting.version, gates=setting.gates)

    async def _disturb(self, name: str, given: Sequence[Action]) -> None:
        if self._paused:
            await self._look()
        for number, action in enumerate(given, 1):
            await self._act(action, f"{name}, step {number}")
        await self._pass()

    async def _act(self, action: Action, name: str) -> None:
        refused = await actions.play(self.world, action)
        if refused:
            self._refused.append(refused)
            self._rejected.setdefault(name, refused)
        else:
            self._accepted.add(name)
            self.script.action(action)

    def _read(self) -> None:
        """Observe the steps of the trace that were not observed yet."""
        trace = self.laboratory.trace.steps
        seen = tuple(facts(trace[self._first_unread :], self.intent, self.mirror, self._times))
        self._first_unread = len(trace)
        self.judging.take(seen)
        self._seen += seen

    async def _look(self) -> None:
        """Record missing pods before the next disturbance, which may end the shortage."""
        self._read()
        now = await self._lacking()
        self._short |= now
        if self._until and any(one.invariant == self._until for one in self._judgement(now).breaks):
            raise Found

    async def _lacking(self) -> Shortfall:
        asking = Asking(self.world.client(), self.laboratory.clock, self._scheduler())
        fails = failing(self.laboratory, self.mirror)
        return await self.judging.look(self._seen, fails, asking, looping=self._looping)

    def _judgement(self, now: Shortfall, ended: Phase | None = None) -> Judged:
        return self.judging.judge(self._seen, now, self._short, looping=self._looping, ended=ended)

    async def _pass(self) -> None:
        """Let a step's time pass; users retry what was not accepted."""
        await self._settle()
        client, invalid = self.world.client(), self._journal.invalid
        # Users retry at every step: a workload that needs the new feature is accepted once the API server has changed.
        for manifest in list(self._pending):
            metadata = {"namespace": "default", **manifest["metadata"]}
            self.script.tries(manifest)
            try:
                await client.create(manifest["kind"], {**manifest, "metadata": metadata})
            except ApiError as error:
                self._refused.append(f"{manifest['kind']}/{metadata['name']}: {error.message}")
                self._journal.invalid = invalid  # it was never accepted, so this refusal says nothing new
            else:
                self._pending.remove(manifest)
        await self.passes(self.plan.seconds)
        self._paused = True

    async def _settle(self) -> None:
        self.script.settle()
        await self.laboratory.settle()

    async def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.script.passes(seconds, self.laboratory.clock.monotonic())
        await self.laboratory.advance(seconds)

    def unwatched(self) -> None:
        """Let hot loops run on from now on, so that their rate can be measured."""
        self.laboratory.chooser = InOrderChooser()

    async def _judged(self, move: Move) -> Taken:
        judged = self._judgement(await self._lacking(), self._ended(move))
        self._state = self.state()
        return Taken(judged.harm, judged.breaks, self._state)

    def _scheduler(self) -> Capabilities | None:
        """Return the scheduler's capabilities; None while it does not run or waits for its API server."""
        part = self.laboratory.part(SCHEDULER)
        works = isinstance(part, Scheduler) and all(cache.has_synced for cache in part.informers.workers)
        return self._settings(SCHEDULER).capabilities() if works else None

    def _ended(self, move: Move) -> Phase | None:
        """Return the direction in which all components have changed; None if some have not."""
        phase = move.phase if isinstance(move, Changes | Happens) else Phase.UP
        ended = len(self._done) == len(self.plan.changes) and set(self._done.values()) == {phase}
        return phase if ended else None

    def state(self) -> State:
        """Return the identity of the cluster's state.

        Where a hot loop is cut off is arbitrary, and so are its pods then: such a state is named by the way to it.
        """
        if self._looping:
            return f"{self._state}>{self._move}"
        pending = [f"{one['kind']}/{one['metadata']['name']}" for one in self._pending]
        ran = self.judging.ran
        meant = [self.intent.remembered(self.mirror), self.judging.remembered()]
        rest = [sorted(self._done.items()), pending, sorted(ran.values()), *meant]
        memory = remembered(self.laboratory, self.mirror, self.plan.seconds)
        return self.mirror.digest(dict.fromkeys(ran, "ran"), [*rest, memory])


async def walk(plan: Plan, moves: Moves) -> Walked:
    """Make all moves on a new cluster."""
    async with Journey(plan) as journey:
        start = journey.state()
        taken = [await journey.take(move) for move in moves]
    return Walked(moves, start, tuple(taken))


async def story(plan: Plan, moves: Moves, until: str = "") -> Journey:
    """Make all moves on a new cluster with explanations; return the runner with its records.

    With `until`, an invariant, the last move ends where that is first found broken.
    """
    async with Journey(plan, explains=True) as journey:
        for number, move in enumerate(moves, 1):
            await journey.take(move, until if number == len(moves) else "")
    return journey
