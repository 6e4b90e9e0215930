"""One run: a fresh cluster, the processes of the controller, the steps of the workload, one perturbation or none."""

import asyncio
import os
import re
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

import orjson

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.client import kubeconfig
from mockkube.client.http import HttpClient
from mockkube.cluster.cluster import RunningCluster
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.cluster.control_plane import ControlPlane
from mockkube.cluster.temporary_cluster import open_temporary_cluster
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.credentials import write_kubeconfig
from mockkube.perturb.differences import StateDifference
from mockkube.perturb.injection import InjectionDependencies, PerturbationInjector
from mockkube.perturb.normalization import State, normalize
from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.processes import SUCCESS, ControllerProcess
from mockkube.perturb.recorder import RunRecord, RunRecorder, StepRecord
from mockkube.perturb.reference import Reference, list_writes_per_second
from mockkube.perturb.workload import FIRST_QUIET_SECONDS, ProcessSpec, Workload
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.scenario.errors import ScenarioError, StepFailed, StepNotSupported
from mockkube.scenario.fields import read
from mockkube.scenario.live_world import LiveWorld
from mockkube.scenario.runner.catalogue import VERBS
from mockkube.scenario.scenario import ScenarioOperation
from mockkube.scenario.world import RunContext
from mockkube.testing.activation import make_environment

USER_AGENT: Final = "mockkube-perturb"
_POLL_SECONDS: Final = 0.02
# How long a controller may be kept busy by a perturbation; what it writes meanwhile is no finding.
_PERTURBED_SECONDS_MAX: Final = 10.0
_INVARIANT_SECONDS: Final = 5.0
# A controller that writes at least so often, and many times as often as undisturbed, never comes to rest.
_ENDLESS_PER_SECOND: Final = 1.0
_ENDLESS_FACTOR: Final = 3.0
_ENDLESS_SECONDS: Final = 5.0
# How many times as long as undisturbed a step may take, besides the patience.
_BUSY_FACTOR: Final = 3.0
# Time at which kopf calls a handler again, in the objects that it handles.
_DELAYED: Final = re.compile(rb'\\?"delayed\\?":\s*\\?"([^"\\]+)')
# How often the controller may end by itself, undisturbed and otherwise.
_EXITS_MAX: Final = 2
_PERTURBED_EXITS_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Workload, seed and perturbation of one run."""

    workload: Workload
    seed: int = 0
    # Undisturbed runs have different numbers, and so different generated names, from which they learn what differs.
    number: int = 0
    # None: an undisturbed run.
    perturbation: Perturbation | None = None
    # None: the first run, which has nothing to be compared with.
    reference: Reference | None = None


async def play_workload(plan: RunPlan, clock: Clock) -> RunRecord:
    """Play a workload and return what happened; raises ConfigurationError and StartError."""
    record = RunRecord(plan.perturbation, clock.monotonic())
    try:
        async with AsyncExitStack() as stack:
            random = Random.from_seed(plan.seed, f"perturb/{plan.number}")
            opened = open_temporary_cluster(plan.workload.configuration, random=random)
            cluster = await stack.enter_async_context(opened)
            running = await stack.enter_async_context(cluster)
            logs = stack.enter_context(tempfile.TemporaryDirectory(prefix="mockkube-perturb-"))
            await _WorkloadRun(plan, record, running, cluster.control_plane, Path(logs), clock).play(stack)
    except BaseExceptionGroup as group:
        mistakes = group.subgroup((ConfigurationError, StartError))
        if mistakes is None:
            raise
        raise _find_first(mistakes) from None
    record.seconds = clock.monotonic() - record.began_at
    return record


def _find_first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _RunOver(Exception):
    """End of a run before its last step."""


class _WorkloadRun:
    """A run on a running cluster."""

    def __init__(
        self,
        plan: RunPlan,
        record: RunRecord,
        running: RunningCluster,
        control_plane: ControlPlane,
        directory: Path,
        clock: Clock,
    ) -> None:
        self._plan, self._workload, self._reference = plan, plan.workload, plan.reference
        self._record, self._running, self._control_plane = record, running, control_plane
        self._directory, self._clock = directory, clock
        protobuf = control_plane.control_api.registry.dependencies.protobuf
        self._recorder = RunRecorder(clock, record, plan.workload.find_process, protobuf, plan.workload.ignored)
        self._processes: dict[str, ControllerProcess] = {}
        self._normalized: tuple[int, State] = (-1, {})

    async def play(self, stack: AsyncExitStack) -> None:
        """Play setup, start of the processes, and steps, until something is wrong."""
        client = await self._open_client(stack)
        context = RunContext({}, self._workload.directory, self._workload.namespace, self._workload.step_seconds_max)
        self._world = LiveWorld(client, self._running.kubeconfig, self._clock, context)
        await self._world.list_components()
        for operation in self._workload.setup:
            if message := await self._try_operation(operation):
                raise ConfigurationError(f"{operation.location.file}: setup: {message}")
        group = await stack.enter_async_context(asyncio.TaskGroup())
        tasks: list[asyncio.Task[None]] = []
        dependencies = InjectionDependencies(
            self._control_plane,
            self._processes,
            self._recorder,
            client,
            self._clock,
            lambda work: tasks.append(group.create_task(work)),
        )
        self._injector = PerturbationInjector(self._plan.perturbation, dependencies)
        await self._observe(stack)
        try:
            await self._play_steps(group, stack)
        except _RunOver:
            pass
        finally:
            self._record.changes = self._recorder.history.changes
            self._record.reached = self._injector.reached
            self._record.exits = sum(one.exits for one in self._processes.values())
            self._record.log = "\n".join(one.read_log() for one in self._processes.values())

    async def _open_client(self, stack: AsyncExitStack) -> HttpClient:
        config = kubeconfig.load(self._running.kubeconfig)
        return await stack.enter_async_context(HttpClient(config, USER_AGENT, clock=self._clock))

    async def _observe(self, stack: AsyncExitStack) -> None:
        """Record requests and objects from now on."""
        store = self._control_plane.api_server_dependencies.store
        await self._recorder.history.start(store)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        stack.callback(group.create_task(self._recorder.history.follow(store), name="history").cancel)
        faults = self._control_plane.faults
        faults.on_event, faults.on_webhook = self._recorder.note_event, self._recorder.note_webhook

        def note_request(observed: ObservedRequest) -> None:
            self._recorder.note_request(observed)
            self._injector.note_request(observed)

        def note_response(observed: ObservedRequest) -> None:
            self._injector.note_response(observed)
            self._recorder.note_response(observed)

        faults.on_request, faults.on_response = note_request, note_response

    # Steps

    async def _play_steps(self, group: asyncio.TaskGroup, stack: AsyncExitStack) -> None:
        self._begin_step(0, "start of the controller")
        await self._injector.begin_step(0)
        for spec in self._workload.processes:
            process = self._make_process(spec)
            self._processes[spec.name] = process
            stack.callback(group.create_task(process.run(), name=spec.name).cancel)
        await self._finish_step(None)
        self._record.watched = self._recorder.watched
        for index, operation in enumerate(self._workload.steps, 1):
            if not self._workload.plays(index):
                continue
            text = operation.description or f"{operation.verb} {_describe_arguments(operation.arguments)}"
            self._begin_step(index, text)
            await self._injector.begin_step(index)
            await self._finish_step(group.create_task(self._try_operation(operation), name="step"))
        await self._check_invariants()

    def _make_process(self, spec: ProcessSpec) -> ControllerProcess:
        path = write_kubeconfig(self._running, spec, self._clock)
        environment = make_environment(os.environ, path, self._running.url)
        environment = {**environment, "MOCKKUBE_URL": self._running.url, "PYTHONUNBUFFERED": "1"}
        log = self._directory / f"{spec.name}.log"
        return ControllerProcess(spec, environment, log, self._clock, note=self._recorder.note_process)

    def _begin_step(self, index: int, text: str) -> None:
        self._recorder.begin_step(StepRecord(index, text, self._clock.monotonic()))

    async def _finish_step(self, playing: "asyncio.Task[str] | None") -> None:
        """Wait until a step is played and the controller rests; end the perturbation; judge the state."""
        step = self._record.steps[-1]
        if self._injector.is_in_force:
            await self._wait_until_quiet()
            await self._injector.end_step(step.index, self._wait_until_quiet)
            if playing is not None and not playing.done():
                await self._injector.end()  # the step waits for what the perturbation prevents
        if playing is not None and (message := await playing):
            step.message = message
            if self._plan.perturbation is None:
                self._record.error = f"step {step.index} ({step.text}): {message}"
                raise _RunOver
        if self._injector.is_in_force and step.index < self._workload.last_step:
            self._end_step(step)  # it goes on in the next step
        else:
            await self._injector.end()
            await self._judge_step(step)

    def _is_quiet(self) -> bool:
        exits_max = _EXITS_MAX if self._plan.perturbation is None else _PERTURBED_EXITS_MAX
        if sum(one.exits for one in self._processes.values()) > exits_max:
            ended = max(self._processes.values(), key=lambda one: one.exits)
            name = "the controller" if len(self._processes) == 1 else f"the process {ended.spec.name}"
            self._record.error = f"{name} ends by itself again and again, the last time with {ended.last_exit}"
            if ended.last_exit == SUCCESS:
                self._record.error += ": it has to run in the foreground until it is killed"
            raise _RunOver
        reference = self._reference
        learnt = FIRST_QUIET_SECONDS if reference is None else reference.quiet_seconds
        seconds = self._workload.quiet_seconds or learnt
        expected = frozenset[str]() if reference is None else reference.expected_watches
        # Watches that a fault keeps from being opened are not waited for.
        return self._recorder.is_quiet(seconds, frozenset() if self._injector.is_in_force else expected)

    async def _wait_until_quiet(self) -> None:
        """Wait until the controller rests while a perturbation is in force, or tries again for a while."""
        began = busy_since = self._clock.monotonic()
        while not self._is_quiet():
            now = self._clock.monotonic()
            if not self._recorder.has_started:
                busy_since = now
            if now > min(busy_since + _PERTURBED_SECONDS_MAX, began + self._workload.step_seconds_max):
                return
            await self._clock.sleep(_POLL_SECONDS)

    # Judgement

    async def _judge_step(self, step: StepRecord) -> None:
        """Wait until the state equals that of the reference; end the run if it does not get there."""
        began = busy_since = self._clock.monotonic()
        patience = self._workload.patience_seconds
        seconds_max, longest_delay = self._workload.step_seconds_max + patience, 0.0
        while True:
            now = self._clock.monotonic()
            if not self._recorder.has_started:
                busy_since = now  # the time that a process takes to start is not counted
            if self._is_quiet():
                differences = self._compare(step.index, self._get_state())
                delay = self._get_delay()
                longest_delay = max(longest_delay, delay)
                rested_until = max(self._recorder.last_activity_at, now + delay - patience / 2) + patience
                if not differences or now >= min(rested_until, began + seconds_max + longest_delay):
                    break
                if delay > -patience / 2:
                    busy_since = now  # the time until it tries again is not counted either
            elif now > min(busy_since + self._get_busy_seconds_max(step.index), began + seconds_max + longest_delay):
                if not self._recorder.has_started:
                    self._record.error = (
                        f"the controller sends no request within {now - began:.0f} s: it has to use KUBECONFIG"
                    )
                    raise _RunOver
                self._note_endless_writes()
                differences = self._compare(step.index, self._get_state())
                break
            await self._clock.sleep(_POLL_SECONDS)
        self._end_step(step)
        self._note_idle_writes(step)
        # Another undisturbed run differs by itself: the session learns that, from all steps.
        self._record.differences = differences if self._plan.perturbation is not None else ()
        if self._record.differences or self._record.endless_writes:
            raise _RunOver

    def _end_step(self, step: StepRecord) -> None:
        step.ended_at, step.last_activity_at = self._clock.monotonic(), self._recorder.last_activity_at
        step.objects, step.revision = dict(self._recorder.history.current), self._recorder.history.revision

    def _get_state(self) -> State:
        history = self._recorder.history
        if self._normalized[0] != history.revision:
            patterns = () if self._reference is None else self._reference.patterns
            self._normalized = history.revision, normalize(history.current, patterns)
        return self._normalized[1]

    def _compare(self, step: int, state: State) -> list[StateDifference]:
        if self._reference is None or not self._reference.records:
            return []
        return self._reference.compare(step, state)

    def _get_busy_seconds_max(self, step: int) -> float:
        """Return how long the controller may be busy before its writes count as endless."""
        if self._reference is None or not self._reference.records:
            return float("inf")
        usual = max(one.ended_at - one.began_at for one in self._reference.last.steps if one.index == step)
        return min(usual * _BUSY_FACTOR, self._workload.step_seconds_max) + self._workload.patience_seconds

    def _get_delay(self) -> float:
        """Return in how many seconds an object is to be handled again, as it says itself."""
        now = self._clock.now()
        return max((_find_delay(obj, now) for obj in self._recorder.history.current.values()), default=float("-inf"))

    def _note_endless_writes(self) -> None:
        now = self._clock.monotonic()
        rates = list_writes_per_second(self._record, now - _ENDLESS_SECONDS, now, self._workload.ignored)
        self._record.endless_writes = [f"{name}: {rate:.1f} a second" for name, rate in rates] or [
            "the cluster does not come to rest"
        ]

    def _note_idle_writes(self, step: StepRecord) -> None:
        """Find writes that go on although nothing changes any more."""
        since = max(step.last_activity_at, step.ended_at - _ENDLESS_SECONDS)
        if step.ended_at - since < _POLL_SECONDS:
            return
        ignored = self._workload.ignored
        rates = list_writes_per_second(self._record, since, step.ended_at, ignored)
        usual = 0.0
        if self._reference is not None and self._reference.records:
            before = [one for one in self._reference.last.steps if one.index == step.index]
            usual = sum(
                rate
                for one in before
                for _, rate in list_writes_per_second(self._reference.last, one.last_activity_at, one.ended_at, ignored)
            )
        total = sum(rate for _, rate in rates)
        if total > max(_ENDLESS_PER_SECOND, _ENDLESS_FACTOR * usual):
            self._record.endless_writes = [f"{name}: {rate:.1f} a second" for name, rate in rates]

    async def _check_invariants(self) -> None:
        if self._workload.last_step < len(self._workload.steps):
            return  # they hold at the end of the whole workload
        self._world.context.timeout = _INVARIANT_SECONDS
        failed = [
            f"{one.description or one.verb}: {message}"
            for one in self._workload.invariants
            if (message := await self._try_operation(one))
        ]
        self._record.failed_invariants = failed

    async def _try_operation(self, operation: ScenarioOperation) -> str:
        """Play a step of the scenario language; return why it failed, or an empty text."""
        bound = replace(operation.location, bindings=self._world.context.bindings)
        try:
            await read(VERBS[operation.verb], operation.arguments, bound).play(self._world)
        except (ApiError, StepFailed, StepNotSupported, ScenarioError) as error:
            return str(error) or type(error).__name__
        return ""


def _find_delay(obj: Object, now: datetime) -> float:
    """Return in how many seconds kopf will handle an object again; negative if it should have, or will not."""
    longest = float("-inf")
    for text in _DELAYED.findall(orjson.dumps(obj)):
        try:
            at = datetime.fromisoformat(text.decode())
        except ValueError:
            continue
        longest = max(longest, (at.replace(tzinfo=at.tzinfo or now.tzinfo) - now).total_seconds())
    return longest


def _describe_arguments(arguments: object) -> str:
    """Return what a step is about: kind and name of its object, if it has one."""
    about = arguments.get("ref", arguments) if isinstance(arguments, dict) else arguments
    if isinstance(about, dict) and "kind" in about:
        return f"{about['kind']} {about.get('name') or about.get('metadata', {}).get('name', '')}".strip()
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments, default=str).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."
