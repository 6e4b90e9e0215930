"""Play schedules on a simulated cluster: set it up once, then play each schedule from the start of the window."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mockkube.client.protocol import Client, Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.execution.step_trace import TraceWrite
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.controllers.framework.resource_monitors import ResourceMonitors
from mockkube.explore.interleavings import recording
from mockkube.explore.interleavings.accesses import Accesses, AccessRecorder
from mockkube.explore.interleavings.invariants import (
    SAME_OUTCOME,
    InvariantMonitor,
    Outcome,
    Violation,
    compare_outcomes,
)
from mockkube.explore.interleavings.plan import InterleavingPlan, WindowAction
from mockkube.explore.interleavings.recording_client import RecordingClient
from mockkube.explore.interleavings.schedule import CLOCK, OPERATOR, Break, PlayedSchedule, PlayedStep, Schedule
from mockkube.explore.plans.actions import play_action
from mockkube.features.components import CONTROLLER_MANAGER
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_extensions import make_taint_rules
from mockkube.runtime.steps import LivelockError, Worker
from mockkube.scenario.errors import ScenarioError, StepFailed
from mockkube.scenario.simulated_world import SimulatedWorld
from mockkube.scenario.world import ADMINISTRATOR, RequestOptions, RunContext

# Steps of one run after which it is a livelock.
STEPS_MAX: Final = 20_000
# Fields that the description of a write names at most, and how deep they are.
_FIELDS_MAX: Final = 4
_FIELD_DEPTH: Final = 1


class WindowWorld(SimulatedWorld):
    """World of the operator within a window, where only the schedule lets others take steps and time pass."""

    # Condition for the operator's next action.
    waits_for: Callable[[], Awaitable[bool]] | None = None

    def __init__(self, cluster: SimulatedCluster, context: RunContext, recorder: AccessRecorder) -> None:
        super().__init__(cluster, context)
        self._recorder = recorder

    def client(self, options: RequestOptions = ADMINISTRATOR) -> Client:
        """Return a client with this identity, whose reads are recorded."""
        return RecordingClient(super().client(options), self._recorder)

    async def settle(self) -> None:
        """Do nothing."""

    async def advance(self, seconds: float) -> None:
        """Refuse: in a window time passes as the schedule wants it."""
        raise StepFailed("time passes by itself in a window: give the next action `at` instead")

    async def wait_until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Return at once: the operator's next action waits instead."""
        self.waits_for = holds
        return True


@dataclass(frozen=True, slots=True)
class PlayedWindow:
    """Result of a schedule, and the outcome of its run."""

    played: PlayedSchedule
    outcome: Outcome


class SchedulePlayer:
    """A cluster at the start of the window; it plays one schedule, in this process or in a copy of it."""

    def __init__(self, plan: InterleavingPlan) -> None:
        self.plan = plan
        configuration = ClusterConfiguration(version=plan.version, nodes=len(plan.nodes), skew_policy="ignore")
        self._cluster = SimulatedCluster(SimulatedClusterConfig(configuration, seed=plan.seed))
        self._recorder = AccessRecorder()
        self._stack = AsyncExitStack()
        self._actions: list[WindowAction] = []
        # What actions have bound to names, for later ones.
        self._context = RunContext({}, Path())
        # Condition for the operator's next action, like the end of a deletion.
        self._waits_for: Callable[[], Awaitable[bool]] | None = None
        self._began = 0.0
        self._monitors: dict[str, ResourceMonitors] = {}
        # Index of the first step of the trace that the monitor has not seen.
        self._first_unread = 0
        self._monitor: InvariantMonitor | None = None
        # Whether the steps of a run say which fields they wrote.
        self._with_details = False

    async def start(self) -> None:
        """Start the cluster, and bring it to the start of the window."""
        await self._stack.enter_async_context(self._cluster)
        await self._set_up()

    async def close(self) -> None:
        """Stop the cluster."""
        await self._stack.aclose()

    async def _set_up(self) -> None:
        cluster, plan = self._cluster, self.plan
        for name, setting in plan.components.items():
            await cluster.change_component(name, version=setting.version, gates=setting.gates)
        await cluster.settle()
        for index, node in enumerate(plan.nodes, 1):
            patch = {"metadata": {"labels": dict(node.labels)}, "spec": {"taints": [dict(one) for one in node.taints]}}
            await cluster.client().patch("Node", Key("", f"node-{index}"), patch)
        await cluster.settle()
        world = SimulatedWorld(cluster, self._context)
        for number, action in enumerate(plan.setup, 1):
            if refused := await play_action(world, action):
                raise ScenarioError(f"{plan.name}: setup, step {number}: {refused}")
        await cluster.settle()
        settings = cluster.get_component_specs()[CONTROLLER_MANAGER].settings
        taints = make_taint_rules(settings.capabilities())
        self._monitor = InvariantMonitor(plan.invariants, taints, creations_max=plan.creations_max)
        self._monitor.follow(cluster.trace.steps)
        self._monitor.start_window()
        self._first_unread = len(cluster.trace.steps)
        cluster.observe_requests(lambda request: recording.record_request(request, self._recorder))
        self._record_components()
        if plan.divided:
            cluster.divide_steps(lambda worker: worker.startswith(plan.divided))
        self._actions = list(plan.window)
        self._began = cluster.clock.monotonic()

    def _record_components(self) -> None:
        for name in self._cluster.get_component_specs():
            if (component := self._cluster.get_component(name)) is not None:
                recording.record_workers(name, component.workers, self._recorder)
                self._monitors |= {one.name: one for one in component.workers if isinstance(one, ResourceMonitors)}

    async def play(
        self, schedule: Schedule, usual: Outcome | None = None, *, with_details: bool = False
    ) -> PlayedWindow:
        """Play a schedule, and compare its outcome with the usual one; call it once."""
        self._with_details = with_details
        run = _Run(schedule, self.plan.seconds)
        try:
            await self._play_window(run)
            if run.is_possible:
                self._cluster.divide_steps(None)
                await self._play_recovery(run, usual)
        except LivelockError as livelock:
            run.error = str(livelock)
        failed = self._cluster.find_failed_components()
        error = run.error or "; ".join(f"{name}: {text}" for name, text in sorted(failed.items()))
        played = PlayedSchedule(schedule, tuple(run.steps), tuple(run.breaks.values()), run.is_possible, error)
        assert self._monitor is not None
        return PlayedWindow(played, self._monitor.summarize_outcome())

    async def _play_window(self, run: "_Run") -> None:
        """Take steps until the window is over, or every invariant is broken."""
        while len(run.steps) < STEPS_MAX:
            if len(run.breaks) == len(self.plan.invariants):
                return
            # A divided step goes on first, so that the default order is that of undivided ones.
            workers = sorted(await self._cluster.list_ready_workers(), key=lambda one: one.next_request is None)
            ready = {name: worker for worker in workers for name in self._name(worker)}
            names = list(ready)
            if await self._can_operator_act():
                names.append(OPERATOR)
            moment = self._find_next_moment()
            name = run.choose(names, self._now(), can_wait=moment is not None)
            if name is None:
                return
            self._recorder.start_step(len(run.steps))
            subject = rejection = ""
            continues = False
            if name == CLOCK:
                assert moment is not None
                self._cluster.clock.move_to(moment)
            elif name == OPERATOR:
                subject, rejection = await self._play_action()
            else:
                recording.record_memory(name, self._recorder)
                self._choose_monitor(name)
                continues = ready[name].next_request is not None
                subject = ready[name].next_request or ""
                await self._cluster.take_step(ready[name])
            self._recorder.end_step()
            self._finish_step(run, PlayedStep(name, 0, Accesses(), tuple(names), (), subject, continues, rejection))
        raise LivelockError(f"no rest after {STEPS_MAX} steps")

    def _name(self, worker: Worker) -> list[str]:
        """Return the names of the steps that a worker can take: the monitors of all kinds are separate watches."""
        if (monitors := self._monitors.get(worker.name)) is None:
            return [worker.name]
        return [f"{worker.name}/{informer.kind}" for informer in monitors.informers if informer.is_ready()]

    def _choose_monitor(self, name: str) -> None:
        worker, _, kind = name.rpartition("/")
        if (monitors := self._monitors.get(worker)) is not None:
            monitors.next_informer = next(one for one in monitors.informers if one.kind == kind)

    async def _can_operator_act(self) -> bool:
        """Return whether the operator's next action is due, and what it waited for has happened."""
        if not self._actions or self._now() < self._actions[0].at:
            return False
        if self._waits_for is not None and await self._waits_for():
            self._waits_for = None
        return self._waits_for is None

    def _now(self) -> float:
        return self._cluster.clock.monotonic() - self._began

    def _find_next_moment(self) -> float | None:
        """Return the next moment within the window at which something is due; None if there is none."""
        moments = [self._began + one.at for one in self._actions[:1] if one.at > self._now()]
        if (due := self._cluster.find_next_moment()) is not None:
            moments.append(due)
        end = self._began + self.plan.seconds
        return min((one for one in moments if one <= end), default=None)

    async def _play_action(self) -> tuple[str, str]:
        """Play the operator's next action; return it in words, and why it was rejected."""
        action = self._actions.pop(0)
        world = WindowWorld(self._cluster, self._context, self._recorder)
        refused = await play_action(world, action.action)
        self._waits_for = world.waits_for
        await self._cluster.list_ready_workers()
        await self._cluster.trace.record_outside_writes(self._cluster.clock.monotonic())
        self._record_components()  # an action may have restarted a component
        return action.describe(), refused

    def _finish_step(self, run: "_Run", step: PlayedStep) -> None:
        """Add what a step did to it and to its run."""
        assert self._monitor is not None
        trace = self._cluster.trace.steps[self._first_unread :]
        self._first_unread += len(trace)
        writes = [write for one in trace for write in one.writes]
        recording.record_writes(writes, self._recorder)
        texts = tuple(describe_write(write, with_fields=self._with_details) for write in writes)
        accesses, subject = self._recorder.current, step.subject or self._recorder.subject
        run.steps.append(replace(step, at=self._now(), accesses=accesses, writes=texts, subject=subject))
        run.record_breaks(found for one in trace for found in self._monitor.check(one))

    async def _play_recovery(self, run: "_Run", usual: Outcome | None) -> None:
        """Let the cluster come to rest in the default order, and check what is broken then."""
        assert self._monitor is not None
        await self._cluster.settle()
        await self._cluster.advance(self.plan.recovery_seconds)
        trace = self._cluster.trace.steps[self._first_unread :]
        self._first_unread += len(trace)
        run.record_breaks(one for step in trace for one in self._monitor.check(step))
        if not run.breaks and usual is not None and SAME_OUTCOME in self.plan.invariants:
            run.record_breaks(compare_outcomes(usual, self._monitor.summarize_outcome()))


def describe_write(write: TraceWrite, *, with_fields: bool) -> str:
    """Return a write in words, if asked for with the fields that it changed."""
    text = f"{write.verb} {write.resource} {write.name}"
    if not with_fields or write.verb != "update":
        return text
    fields = list(dict.fromkeys(_list_fields(write.compute_difference(), "")))
    more = f", and {len(fields) - _FIELDS_MAX} more" if len(fields) > _FIELDS_MAX else ""
    return f"{text} ({', '.join(fields[:_FIELDS_MAX])}{more})" if fields else text


def _list_fields(difference: Any, path: str) -> Iterator[str]:
    """Yield the changed fields with short values, two levels deep."""
    if isinstance(difference, dict) and difference and path.count(".") < _FIELD_DEPTH:
        for name, value in difference.items():
            yield from _list_fields(value, f"{path}.{name}" if path else name)
    elif isinstance(difference, str | int | bool) or difference is None:
        yield f"{path}={'none' if difference is None else difference}"
    else:
        yield path


class _Run:
    """Choices of one run."""

    def __init__(self, schedule: Schedule, seconds: float) -> None:
        self.schedule = schedule
        self.steps: list[PlayedStep] = []
        self.is_possible = True
        self.error = ""
        # The first break of each invariant.
        self.breaks: dict[str, Break] = {}
        self._seconds = seconds
        # When the delayed worker may go on, although others are ready or time could pass.
        self._delayed_until: float | None = None

    def record_breaks(self, found: Iterable[Violation]) -> None:
        """Record what the last step broke."""
        for one in found:
            self.breaks.setdefault(one.invariant, Break(one.invariant, one.message, len(self.steps)))

    def choose(self, ready: Sequence[str], now: float, *, can_wait: bool) -> str | None:
        """Return the worker of the next step; None at the end of the window, or if the schedule is not possible."""
        number = len(self.steps)
        if number < len(self.schedule.workers):
            return self._choose_planned(self.schedule.workers[number], ready, can_wait=can_wait)
        return self._choose_default(ready, now, can_wait=can_wait)

    def _choose_planned(self, wanted: str, ready: Sequence[str], *, can_wait: bool) -> str | None:
        if wanted in ready or (wanted == CLOCK and can_wait):
            return wanted
        self.is_possible = False
        return None

    def _choose_default(self, ready: Sequence[str], now: float, *, can_wait: bool) -> str | None:
        delay = self.schedule.delay
        if delay is None or delay.worker not in ready:
            return next(iter(ready), CLOCK if can_wait else None)
        others = [name for name in ready if name != delay.worker]
        if others:
            return others[0]
        if self._delayed_until is None:
            self._delayed_until = now + delay.seconds
        return CLOCK if can_wait and now < self._delayed_until else delay.worker
