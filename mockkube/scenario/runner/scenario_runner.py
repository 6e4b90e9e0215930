"""Run a scenario: a cluster for each run, one step after the other, then catch and finally blocks."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError
from mockkube.client.http import HttpClient
from mockkube.client.kubeconfig import KubeconfigError
from mockkube.client.kubeconfig import load as read_kubeconfig
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.cluster.temporary_cluster import run_temporary_cluster
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock, RealClock
from mockkube.runtime.steps import LivelockError
from mockkube.scenario.bindings import resolve
from mockkube.scenario.errors import ScenarioError, StepFailed, StepNotSupported, StepTimedOut
from mockkube.scenario.fields import read
from mockkube.scenario.live_world import LiveWorld
from mockkube.scenario.responses import format_error
from mockkube.scenario.runner.catalogue import VERBS
from mockkube.scenario.runner.cluster_setup import (
    apply_late_settings,
    build_cluster,
    make_real_configuration,
    read_setup,
)
from mockkube.scenario.runner.results import ComponentStart, RunOutcome, RunResult, StepResult, read_trace
from mockkube.scenario.scenario import MatrixCell, Scenario, ScenarioOperation, StepBlock
from mockkube.scenario.simulated_world import SimulatedWorld
from mockkube.scenario.world import RunContext, World

REAL_SECONDS_MAX: Final = 300.0
_LOG: Final = logging.getLogger("mockkube.scenario")
_NOT_REACHED: Final = "a step before it failed"

StepListener = Callable[[StepResult], None]


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """One run of a scenario: a seed and a cell of its matrix."""

    scenario: Scenario
    seed: int = 0
    cell: MatrixCell = field(default_factory=MatrixCell)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options that all runs share."""

    # Limit of one run in real time.
    real_seconds_max: float = REAL_SECONDS_MAX
    keeps_traced_steps: bool = False
    keeps_trace: bool = False
    # Path of the real kubectl for the step `kubectl`; empty: the built-in commands.
    kubectl: str = ""
    # Whether each run has a cluster with an address, in real time.
    real_time: bool = False
    # Kubeconfig of a running cluster; empty: each run has a cluster of its own.
    against: str = ""

    def to_arguments(self) -> tuple[str, ...]:
        """Return the command line options that play in the same way."""
        live = ("--real-time",) if self.real_time else ()
        against = ("--against", self.against) if self.against else ()
        return (*live, *against, *(("--kubectl", self.kubectl) if self.kubectl else ()))


def _ignore_result(result: StepResult) -> None:
    pass


async def play(
    run: ScenarioRun,
    options: RunOptions | None = None,
    on_step: StepListener = _ignore_result,
    clock: Clock | None = None,
) -> RunResult:
    """Run a scenario and return its result; raises nothing but cancellation.

    `on_step` is called with the result of each step.
    """
    options, clock = options or RunOptions(), clock or RealClock()
    began = clock.monotonic()
    result = _initial_result(run, options)
    if run.scenario.skip:
        return replace(result, outcome=RunOutcome.SKIPPED, message=run.scenario.skip)
    try:
        async with asyncio.timeout(options.real_seconds_max):
            played = _play_live if options.real_time or options.against else _play_simulated
            result = await played(run, options, on_step, result)
    except TimeoutError:
        text = f"it took longer than {options.real_seconds_max:g} s"
        result = replace(result, outcome=RunOutcome.TIMED_OUT, message=text)
    except (ConfigurationError, ScenarioError) as error:
        result = replace(result, outcome=RunOutcome.BROKEN, message=str(error))
    except (StartError, KubeconfigError) as error:
        result = replace(result, outcome=RunOutcome.NOT_STARTED, message=str(error))
    except LivelockError as error:
        result = replace(result, outcome=RunOutcome.TIMED_OUT, message=str(error))
    except StepFailed as error:
        result = replace(result, outcome=RunOutcome.FAILED, message=str(error))
    return replace(result, real_seconds=clock.monotonic() - began)


def _initial_result(run: ScenarioRun, options: RunOptions) -> RunResult:
    """Return the result of a run before its first step."""
    scenario = run.scenario
    return RunResult(
        scenario.name,
        str(scenario.file),
        run.seed,
        str(run.cell),
        RunOutcome.PASSED,
        claims=scenario.claims,
        planned_steps=sum(len(block.operations) for block in scenario.blocks),
    )


async def _play_simulated(run: ScenarioRun, options: RunOptions, on_step: StepListener, result: RunResult) -> RunResult:
    """Run on a simulated cluster, in virtual time."""
    context = make_context(run, options)
    setup = read_setup(run.scenario, context.bindings)
    cluster = build_cluster(run.scenario, setup, run.seed)
    async with cluster:
        await apply_late_settings(cluster, setup)
        world = SimulatedWorld(cluster, context)
        settings = {name: world.settings(name) for name in cluster.get_component_specs()}
        play = ScenarioRunner(world, run.scenario, on_step)
        await play.play()
        steps = tuple(play.steps)
        result = replace(
            result,
            outcome=play.outcome,
            message=play.message,
            steps=steps,
            initial_components=_initial_components(settings, steps),
        )
        return _with_trace(result, cluster, options)


async def _play_live(run: ScenarioRun, options: RunOptions, on_step: StepListener, result: RunResult) -> RunResult:
    """Run in real time: on a cluster of its own, or on a running one."""
    context, clock = make_context(run, options), RealClock()
    async with AsyncExitStack() as stack:
        path = Path(options.against)
        if not options.against:
            configuration = make_real_configuration(read_setup(run.scenario, context.bindings))
            path = (await stack.enter_async_context(run_temporary_cluster(configuration))).kubeconfig
        client = await stack.enter_async_context(HttpClient(read_kubeconfig(path), "mockkube-scenario", clock=clock))
        world = LiveWorld(client, path.resolve(), clock, context)
        await world.list_components()
        play = ScenarioRunner(world, run.scenario, on_step)
        await play.play()
        return replace(
            result, outcome=play.outcome, message=play.message, steps=tuple(play.steps), virtual_seconds=world.now
        )


def _initial_components(
    settings: Mapping[str, ComponentSettings], steps: Sequence[StepResult]
) -> tuple[ComponentStart, ...]:
    """Return version of each component at the start, and those of its gates that steps change."""
    component_changes = [one.arguments for one in steps if one.verb == "component" and isinstance(one.arguments, dict)]
    gates = sorted({gate for one in component_changes for gate in one.get("featureGates") or ()})
    return tuple(
        ComponentStart(name, str(one.version), tuple(gate for gate in gates if one.capabilities().enabled(gate)))
        for name, one in settings.items()
    )


def _with_trace(result: RunResult, cluster: SimulatedCluster, options: RunOptions) -> RunResult:
    """Return a result with time, digest and trace of the simulated cluster."""
    return replace(
        result,
        virtual_seconds=cluster.clock.monotonic(),
        worker_steps=cluster.steps,
        digest=cluster.trace.compute_digest(),
        traced_steps=tuple(read_trace(cluster.trace)) if options.keeps_traced_steps else (),
        trace=cluster.trace.render() if options.keeps_trace else "",
    )


def make_context(run: ScenarioRun, options: RunOptions) -> RunContext:
    """Return the context of a run, with variables and matrix cell bound."""
    scenario = run.scenario
    bindings = {**dict(scenario.variables), **dict(run.cell.values)}
    bindings["namespace"] = scenario.namespace
    bindings["seed"] = run.seed
    # A variable may refer to those before it, to the namespace, the seed and the cell.
    for name, value in scenario.variables:
        bindings[name] = resolve(bindings.get(name, value), bindings)
    return RunContext(
        bindings=bindings,
        directory=scenario.file.parent,
        namespace=scenario.namespace,
        timeout=scenario.timeout,
        deletion_timeout=scenario.deletion_timeout,
        kubectl=options.kubectl,
    )


class ScenarioRunner:
    """Plays the steps of one scenario in a world."""

    def __init__(self, world: World, scenario: Scenario, on_step: StepListener = _ignore_result) -> None:
        self.outcome = RunOutcome.PASSED
        self.message = ""
        self.steps: list[StepResult] = []
        self._world, self._scenario, self._on_step = world, scenario, on_step

    async def play(self) -> None:
        """Play all blocks until one fails."""
        if self._scenario.creates_namespace:
            await self._create_namespace()
        for block in self._scenario.blocks:
            await self._play_block(block)
            if self.outcome is not RunOutcome.PASSED:
                return

    async def _create_namespace(self) -> None:
        """Create the namespace of the scenario."""
        namespace = {"metadata": {"name": self._scenario.namespace}}
        try:
            await self._world.client().create("Namespace", {"apiVersion": "v1", "kind": "Namespace", **namespace})
        except AlreadyExists:
            return
        await self._world.settle()

    async def _play_block(self, block: StepBlock) -> None:
        """Play a block, its catch steps after a failure, and its finally steps."""
        context = self._world.context
        outside = dict(context.bindings)
        for name, value in block.bindings:
            context.bindings[name] = resolve(value, context.bindings)
        try:
            if not await self._play_until_failure(block.operations, block.name):
                await self._play_all((*block.catch, *self._scenario.catch), f"{block.name}: catch")
        finally:
            await self._play_all(block.finally_operations, f"{block.name}: finally")
            # Variables of a block end with it, and those they hid come back.
            for name, _ in block.bindings:
                context.bindings.pop(name, None)
                if name in outside:
                    context.bindings[name] = outside[name]

    async def _play_until_failure(self, operations: Sequence[ScenarioOperation], block: str) -> bool:
        """Play operations until one fails; return whether all passed."""
        for operation in operations:
            result = await self._play_operation(operation, block)
            if result.outcome not in (RunOutcome.PASSED, RunOutcome.SKIPPED):
                self.outcome, self.message = result.outcome, f"line {result.line}: {result.verb}: {result.message}"
                return False
        return True

    async def _play_all(self, operations: Sequence[ScenarioOperation], block: str) -> None:
        """Play all operations even if one fails; an earlier failure of the run keeps its message."""
        for operation in operations:
            result = await self._play_operation(operation, block)
            if self.outcome is RunOutcome.PASSED and result.outcome not in (RunOutcome.PASSED, RunOutcome.SKIPPED):
                self.outcome, self.message = result.outcome, f"line {result.line}: {result.verb}: {result.message}"

    async def _play_operation(self, operation: ScenarioOperation, block: str) -> StepResult:
        """Play one operation and record its result."""
        world = self._world
        began, said, moment = world.now, len(world.context.log), world.trace_length
        world.warnings.clear()
        outcome, message = await self._try_operation(operation)
        # A component that crashed makes every later result meaningless, so the run counts as broken even if the step
        # passed.
        if failed := world.failed_components():
            errors = "; ".join(f"{name} has failed: {why}" for name, why in failed.items())
            outcome, message = RunOutcome.BROKEN, "\n".join(filter(None, (message, errors)))
        log = (*world.context.log[said:], *(f"Warning: {text}" for text in dict.fromkeys(world.warnings)))
        result = StepResult(
            operation.verb,
            operation.description,
            block,
            operation.line,
            outcome,
            message,
            began,
            world.now,
            log,
            operation.arguments,
            moment,
        )
        self.steps.append(result)
        self._on_step(result)
        return result

    async def _try_operation(self, operation: ScenarioOperation) -> tuple[RunOutcome, str]:
        """Play one operation; return its outcome and message."""
        try:
            await self._execute(operation)
        except StepFailed as error:
            return RunOutcome.FAILED, str(error)
        except ApiError as error:
            return RunOutcome.FAILED, format_error(error)
        except StepNotSupported as error:
            return RunOutcome.SKIPPED, str(error)
        except (LivelockError, StepTimedOut) as error:
            return RunOutcome.TIMED_OUT, str(error)
        except ScenarioError as error:
            return RunOutcome.BROKEN, str(error)
        except Exception as error:  # a bug of ours ends this run, not the others
            _LOG.exception("%s", operation.location.error(operation.verb))
            return RunOutcome.BROKEN, f"{type(error).__name__}: {error}"
        return RunOutcome.PASSED, ""

    async def _execute(self, operation: ScenarioOperation) -> None:
        """Parse the step with the variables of now, play it, and let the cluster settle."""
        bound = replace(operation.location, bindings=self._world.context.bindings)
        step = read(VERBS[operation.verb], operation.arguments, bound)
        await step.play(self._world)
        # A step may have moved the clock through the API, as a client in real time would; the runner has to follow.
        await self._world.follow_control_clock()
        if self._scenario.settling == "after-each-step":
            await self._world.settle()
