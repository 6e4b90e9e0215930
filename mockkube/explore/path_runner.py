"""Play one path of a plan on a cluster of its own, move by move, and record what each move did."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.client.protocol import Key
from mockkube.cluster.components.component_flags import get_scheduler_configuration
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.execution.step_trace import TraceStep
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.explore.harm_explanations import HarmExplanation, explain_harm
from mockkube.explore.harm_judge import (
    HarmJudge,
    MissingPods,
    MoveJudgement,
    SchedulingContext,
    scheduling_message,
)
from mockkube.explore.observation.component_memory import find_failing_objects, read_memory
from mockkube.explore.observation.exercised_components import find_exercised, has_events
from mockkube.explore.observation.observations import Observation, observe
from mockkube.explore.observation.operator_intent import OperatorIntent
from mockkube.explore.observation.operator_requests import OperatorRequests, OperatorWorld
from mockkube.explore.observation.reference import ReferenceCluster
from mockkube.explore.observation.stored_objects import PODS, StoredObjects
from mockkube.explore.observation.taint_times import TaintTimes
from mockkube.explore.observation.wasted_pods import count_wasted_pods
from mockkube.explore.observation.workload_kinds import find_pod_spec, is_custom
from mockkube.explore.plans import actions
from mockkube.explore.plans.orders import ChangeMove, DisturbanceMove, Move, Moves, RetryMove, TurnMove
from mockkube.explore.plans.plan import Action, ComponentSetting, Direction, DisturbanceTiming, RolloutPlan
from mockkube.explore.scenario_recorder import ScenarioRecorder
from mockkube.explore.search import MoveResult, PlayedPath, State
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import SCHEDULER, is_api_server
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.steps import InOrderChooser, LivelockError, Worker
from mockkube.scenario.world import RunContext
from mockkube.scheduler.scheduler import Scheduler

# Pauses for waiting pods when all components change again: retries back off, so one pause is too short.
RETRY_PAUSES: Final = 4
# State after all moves of a path.
FINAL_STATE: Final = "final"


class HotLoopDetected(Exception):
    """Pods are created over and over."""


class BreakFound(Exception):
    """The invariant that was searched for is broken."""


class HotLoopChooser:
    """Chooser that takes steps in order until it detects a hot loop.

    A hot loop creates more pods than any rollout needs, and most of them end soon.
    """

    def __init__(self, creations_max: int) -> None:
        self._creations_max = creations_max
        self._plain = InOrderChooser()
        self._trace: Sequence[TraceStep] = ()
        self._first = 0
        self._seen = 0
        self._made = 0

    def start_counting(self, trace: Sequence[TraceStep]) -> None:
        """Start counting at the end of the trace."""
        self._trace, self._first, self._seen, self._made = trace, len(trace), len(trace), 0

    def choose(self, ready: Sequence[Worker]) -> Worker:
        """Return the first worker; raise HotLoopDetected after too many pods."""
        created = 0
        for step in self._trace[self._seen :]:
            created += sum(write.resource == PODS and write.verb == "create" for write in step.writes)
        self._seen, self._made = len(self._trace), self._made + created
        if created and self._made > self._creations_max and self._count_wasted() > self._creations_max / 2:
            raise HotLoopDetected
        return self._plain.choose(ready)

    def _count_wasted(self) -> int:
        """Return how many pods were created and ended, except those that operators replaced or deleted."""
        return count_wasted_pods(self._trace[self._first :])


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """Record of a move, for reports: what happened, and the state of the workloads after it."""

    move: Move
    began: float
    ended: float
    observations: tuple[Observation, ...]
    # Rejections of users' requests and of disturbances.
    refused: tuple[str, ...]
    # Pending pods, with the scheduler's messages.
    stuck: tuple[str, ...]
    result: MoveResult
    # Explanations of harm, one for each workload and harm, if the path is replayed with explanations.
    explanations: tuple[HarmExplanation, ...] = ()
    # Index of its first step in the trace.
    first_step: int = 0


class PathRunner:
    """Plays one path on a cluster."""

    def __init__(self, plan: RolloutPlan, *, explains: bool = False) -> None:
        self.plan = plan
        self._with_explanations = explains
        self._requests = requests = OperatorRequests()
        self.intent = OperatorIntent(plan, ReferenceCluster(plan, self._settings), requests)
        self.stored = StoredObjects()
        self._times = TaintTimes()
        self.judge = HarmJudge(plan, self.intent, self.stored)
        self.records: list[MoveRecord] = []
        self.recorder = ScenarioRecorder()
        self._chooser = HotLoopChooser(plan.creations_max)
        # Orders may pass through versions that the skew policy does not support; the report says so, the cluster plays
        # them.
        configuration = ClusterConfiguration(
            version=plan.version, nodes=len(plan.nodes), skew_policy="ignore", runtime_config=plan.runtime_config
        )
        if plan.trains is not None:
            configuration = replace(configuration, release_trains=plan.trains)
        self.cluster = SimulatedCluster(SimulatedClusterConfig(configuration, seed=plan.seed))
        self.world = OperatorWorld(self.cluster, RunContext({}, Path()), requests)
        self._stack = AsyncExitStack()
        self._pending = list(plan.workload)
        self._done: dict[str, Direction] = {}
        self._state: State = ""
        self._move: Move | None = None
        self._looping = False
        self._refused: list[str] = []
        # Index of the first trace step that was not observed yet.
        self._first_unread = 0
        # Observations of the current move.
        self._seen: list[Observation] = []
        # Missing pods in the middle of the current move.
        self._short = MissingPods()
        # Whether time has passed in the current move.
        self._paused = False
        # Actions of the plan that were accepted in any move.
        self._accepted: set[str] = set()
        # Actions that were rejected, with the reason.
        self._rejected: dict[str, str] = {}
        # The move ends where this invariant is first found broken.
        self._until = ""

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.cluster)
        for change in self.plan.changes:
            if change.component not in self.cluster.get_component_specs() or not self._is_default(change.before):
                await self._apply_setting(change.component, change.before)
        await self._patch_nodes()
        for number, action in enumerate(self.plan.setup, 1):
            await self._play_action(action, f"setup, step {number}")
        await self._settle()
        self.cluster.chooser = self._chooser
        self.observe_trace()
        self._state = self.state()
        return self

    def _settings(self, component: str) -> ComponentSettings:
        """Return the present settings of a component, or of the shared kubelets if the node has none of its own."""
        components = self.cluster.get_component_specs()
        family = component.partition(".")[0]
        return components[component if component in components else family].settings

    def _is_default(self, setting: ComponentSetting) -> bool:
        """Return whether a setting is the default of the cluster."""
        sets_gates = any(on is not None for on in setting.gates.values())
        return not sets_gates and setting.version in (None, str(self.plan.version))

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def _patch_nodes(self) -> None:
        client = self.world.client()
        for index, node in enumerate(self.plan.nodes, 1):
            patch = {"metadata": {"labels": dict(node.labels)}, "spec": {"taints": [dict(one) for one in node.taints]}}
            self.recorder.record_node_patch(f"node-{index}", patch)
            await client.patch("Node", Key("", f"node-{index}"), patch)

    # Moves

    async def make_move(self, move: Move, until: str = "") -> MoveResult:
        """Make a move, let its time pass, and return its result.

        With `until`, an invariant, the move ends where that is first found broken.
        """
        self._until = until
        trace = self.cluster.trace.steps
        first, began = len(trace), self.cluster.clock.monotonic()
        self._looping, self._refused = False, []
        self._move, self._seen, self._short = move, [], MissingPods()
        self._paused = False
        self._chooser.start_counting(trace)
        self.judge.start_move()
        waited, invalid = bool(self.judge.list_waiting()), self._requests.invalid_count
        try:
            await self._play_move(move)
        # A loop ends the move early: nothing new would happen in it, and its pods would fill the trace.
        except (HotLoopDetected, LivelockError):
            self._looping = True
            self.recorder.truncate_advance(self.cluster.clock.monotonic())
        except BreakFound:
            pass
        steps = trace[first:]
        self.observe_trace()
        seen = tuple(self._seen)
        # Former templates without pods must not distinguish states that are otherwise the same.
        self.intent.drop_unused_templates(self.stored)
        if isinstance(move, TurnMove):
            self.judge.start_rollback()
            self.recorder.record_turn()
        down = isinstance(move, ChangeMove | DisturbanceMove) and move.direction is Direction.DOWN
        refusing = down and self._requests.invalid_count > invalid and any(map(is_api_server, self.plan.components))
        results = replace(
            await self._make_result(move),
            exercised=self._find_exercised(steps, waited=waited, refused=refusing),
            is_eventful=has_events(steps) or refusing,
            accepted=frozenset(self._accepted),
            refused=dict(self._rejected),
        )
        ended, refused = self.cluster.clock.monotonic(), tuple(self._refused)
        stuck = tuple(f"{name}: {scheduling_message(pod)}" for name, pod in self.judge.list_waiting().items())
        why = await explain_harm(self.cluster, self.intent, self.stored, seen) if self._with_explanations else ()
        self.records.append(MoveRecord(move, began, ended, seen, refused, stuck, results, why, first))
        return results

    def _find_exercised(self, steps: Sequence[TraceStep], *, waited: bool, refused: bool) -> frozenset[str]:
        """Return the components that had to decide.

        In the direction down a rejection counts as a decision of the API server, too.
        """
        found = find_exercised(self.plan.components, steps, self.stored, waited=waited)
        servers = (name for name in self.plan.components if is_api_server(name))
        return found.union(servers) if refused else found

    async def _play_move(self, move: Move) -> None:
        match move:
            case ChangeMove(direction, component):
                await self._change_component(component, direction)
                await self._pause()
                for one in self.plan.disturbances:
                    if one.when is DisturbanceTiming.EVERY_STEP and direction in one.directions:
                        await self._play_disturbance(one.name, one.actions)
            case DisturbanceMove(_, name):
                await self._play_disturbance(
                    name, next(one.actions for one in self.plan.disturbances if one.name == name)
                )
            case TurnMove(prepares):
                preparation = next((one for one in self.plan.orders if one.name == prepares), None)
                for one in self.plan.disturbances:
                    if one.when is DisturbanceTiming.BEFORE_DOWN:
                        await self._play_disturbance(one.name, one.actions)
                if preparation is not None:
                    await self._play_disturbance(preparation.name, preparation.prepare)
            case RetryMove():
                for component in reversed(self.plan.components):
                    await self._change_component(component, Direction.UP)
                for _ in range(RETRY_PAUSES):
                    await self._pause()

    async def _change_component(self, component: str, direction: Direction) -> None:
        self._done[component] = direction
        await self._apply_setting(
            component, self.plan.find_change(component).setting_for(direction), f"{component} {direction}"
        )

    async def _apply_setting(self, component: str, setting: ComponentSetting, description: str = "") -> None:
        self.recorder.record_component(component, setting, description)
        await self.cluster.change_component(component, version=setting.version, gates=setting.gates)

    async def _play_disturbance(self, name: str, given: Sequence[Action]) -> None:
        if self._paused:
            await self._record_shortage()
        for number, action in enumerate(given, 1):
            await self._play_action(action, f"{name}, step {number}")
        await self._pause()

    async def _play_action(self, action: Action, name: str) -> None:
        refused = await actions.play_action(self.world, action)
        if refused:
            self._refused.append(refused)
            self._rejected.setdefault(name, refused)
        else:
            self._accepted.add(name)
            self.recorder.record_action(action)

    def observe_trace(self) -> None:
        """Observe the steps of the trace that were not observed yet."""
        trace = self.cluster.trace.steps
        seen = tuple(observe(trace[self._first_unread :], self.intent, self.stored, self._times))
        self._first_unread = len(trace)
        self.judge.record(seen)
        self._seen += seen

    async def _record_shortage(self) -> None:
        """Record missing pods before the next disturbance, which may end the shortage."""
        self.observe_trace()
        now = await self._find_missing_pods()
        self._short |= now
        if self._until and any(one.invariant == self._until for one in self._judge_move(now).breaks):
            raise BreakFound

    async def _find_missing_pods(self) -> MissingPods:
        context = SchedulingContext(
            self.world.client(),
            self.cluster.clock,
            self._scheduler_capabilities(),
            get_scheduler_configuration(self.cluster.config.flags.get(SCHEDULER, {})),
        )
        fails = find_failing_objects(self.cluster, self.stored)
        return await self.judge.find_missing_pods(self._seen, fails, context, looping=self._looping)

    def _judge_move(self, now: MissingPods, ended: Direction | None = None) -> MoveJudgement:
        return self.judge.judge(self._seen, now, self._short, looping=self._looping, ended=ended)

    async def _pause(self) -> None:
        """Let the time of a pause pass; users retry what was not accepted."""
        await self._settle()
        client, invalid = self.world.client(), self._requests.invalid_count
        # Users retry in every pause: a workload that needs the new feature is accepted once the API server has changed.
        awaits = self.plan.workload_after and self.plan.workload_after not in self._done
        for manifest in () if awaits else list(self._pending):
            metadata = {"namespace": "default", **manifest["metadata"]}
            try:
                if is_custom(manifest):
                    await self._try_pod(manifest)
                self.recorder.record_create(manifest)
                await client.create(_qualify(manifest), {**manifest, "metadata": metadata})
            except ApiError as error:
                what = "pods of " if is_custom(manifest) else ""
                self._refused.append(f"{what}{manifest['kind']}/{metadata['name']}: {error.message}")
                self._requests.invalid_count = invalid  # it was never accepted, so this refusal says nothing new
            else:
                self._pending.remove(manifest)
        await self.pass_time(self.plan.seconds)
        self._paused = True

    async def _try_pod(self, manifest: ReadOnlyObject) -> None:
        """Create a pod of a custom resource with a dry run; raise what the API server answers.

        It accepts a custom resource without a look at the template in it, so users try a pod first.
        """
        spec = find_pod_spec(manifest)
        if spec is None:
            return
        metadata = {"name": "tried", "namespace": manifest["metadata"].get("namespace", "default")}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec.value}
        await self.cluster.client(write_options=WriteOptions(dry_run=True)).create("Pod", pod)

    async def _settle(self) -> None:
        self.recorder.record_settle()
        await self.cluster.settle()

    async def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self.recorder.record_advance(seconds, self.cluster.clock.monotonic())
        await self.cluster.advance(seconds)

    def allow_hot_loops(self) -> None:
        """Let hot loops run on from now on, so that their rate can be measured."""
        self.cluster.chooser = InOrderChooser()

    async def _make_result(self, move: Move) -> MoveResult:
        judged = self._judge_move(await self._find_missing_pods(), self._completed_direction(move))
        # No move follows a retry, so the state after it tells nothing apart: only its harm and breaks count.
        self._state = FINAL_STATE if isinstance(move, RetryMove) else self.state()
        return MoveResult(judged.harm, judged.breaks, self._state)

    def _scheduler_capabilities(self) -> Capabilities | None:
        """Return the scheduler's capabilities; None while it does not run or waits for its API server."""
        component = self.cluster.get_component(SCHEDULER)
        works = isinstance(component, Scheduler) and all(cache.has_synced for cache in component.informers.workers)
        return self._settings(SCHEDULER).capabilities() if works else None

    def _completed_direction(self, move: Move) -> Direction | None:
        """Return the direction in which all components have changed; None if some have not."""
        direction = move.direction if isinstance(move, ChangeMove | DisturbanceMove) else Direction.UP
        ended = len(self._done) == len(self.plan.changes) and set(self._done.values()) == {direction}
        return direction if ended else None

    def state(self) -> State:
        """Return the identity of the cluster's state.

        Where a hot loop is cut off is arbitrary, and so are its pods then: such a state is named by the path to it.
        """
        if self._looping:
            return f"{self._state}>{self._move}"
        pending = [f"{one['kind']}/{one['metadata']['name']}" for one in self._pending]
        ran = self.judge.running_before_down
        meant = [self.intent.list_unstored(self.stored), self.judge.list_harmed()]
        rest = [sorted(self._done.items()), pending, sorted(ran.values()), *meant]
        memory = read_memory(self.cluster, self.stored, self.plan.seconds)
        return self.stored.compute_digest(dict.fromkeys(ran, "ran"), [*rest, memory])


def _qualify(manifest: ReadOnlyObject) -> str:
    """Return the kind of a manifest as clients name it."""
    return (
        f"{manifest['kind']}.{manifest['apiVersion'].rpartition('/')[0]}" if is_custom(manifest) else manifest["kind"]
    )


async def play_path(plan: RolloutPlan, moves: Moves) -> PlayedPath:
    """Make all moves on a new cluster."""
    async with PathRunner(plan) as runner:
        start = runner.state()
        results = [await runner.make_move(move) for move in moves]
    return PlayedPath(moves, start, tuple(results))


async def replay_path(plan: RolloutPlan, moves: Moves, until: str = "") -> PathRunner:
    """Make all moves on a new cluster with explanations; return the runner with its records.

    With `until`, an invariant, the last move ends where that is first found broken.
    """
    async with PathRunner(plan, explains=True) as runner:
        for number, move in enumerate(moves, 1):
            await runner.make_move(move, until if number == len(moves) else "")
    return runner
