"""Run a scenario: a cluster for each run, one step after the other, then catch and finally blocks."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError
from mockkube.client.http import HttpClient
from mockkube.client.kubeconfig import KubeconfigError
from mockkube.client.kubeconfig import load as read_kubeconfig
from mockkube.cluster.components import Settings
from mockkube.cluster.errors import ConfigurationError, StartError
from mockkube.cluster.laboratory import Laboratory
from mockkube.cluster.passing import passing_cluster
from mockkube.runtime.clock import Clock, RealClock
from mockkube.runtime.steps import LivelockError
from mockkube.scenario.bindings import resolve
from mockkube.scenario.catalogue import VERBS
from mockkube.scenario.errors import Failure, Impossible, ScenarioError, TimedOut
from mockkube.scenario.fields import read
from mockkube.scenario.furnishing import complete, laboratory_of, real_configuration_of, setup_of
from mockkube.scenario.laboratory_world import LaboratoryWorld
from mockkube.scenario.live_world import LiveWorld
from mockkube.scenario.outcomes import refusal
from mockkube.scenario.results import Began, Outcome, RunResult, StepResult, story_of
from mockkube.scenario.scenario import Block, Cell, Operation, Scenario
from mockkube.scenario.world import Scene, World

REAL_SECONDS_MAX: Final = 300.0
_LOG: Final = logging.getLogger("mockkube.scenario")
_NOT_REACHED: Final = "a step before it failed"

Told = Callable[[StepResult], None]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a scenario: a seed and a cell of its matrix."""

    scenario: Scenario
    seed: int = 0
    cell: Cell = field(default_factory=Cell)


@dataclass(frozen=True, slots=True)
class Manner:
    """Options that all runs share."""

    # Limit of one run in real time.
    real_seconds_max: float = REAL_SECONDS_MAX
    keeps_story: bool = False
    keeps_trace: bool = False
    # Path of the real kubectl for the step `kubectl`; empty: the built-in commands.
    kubectl: str = ""
    # Whether each run has a cluster with an address, in real time.
    real_time: bool = False
    # Kubeconfig of a running cluster; empty: each run has a cluster of its own.
    against: str = ""

    def options(self) -> tuple[str, ...]:
        """Return the command line options that play in the same way."""
        live = ("--real-time",) if self.real_time else ()
        against = ("--against", self.against) if self.against else ()
        return (*live, *against, *(("--kubectl", self.kubectl) if self.kubectl else ()))


def _unheard(result: StepResult) -> None:
    pass


async def play(run: Run, manner: Manner | None = None, told: Told = _unheard, clock: Clock | None = None) -> RunResult:
    """Run a scenario and return its result; raises nothing but cancellation.

    `told` is called with the result of each step.
    """
    manner, clock = manner or Manner(), clock or RealClock()
    began = clock.monotonic()
    result = _begun(run, manner)
    if run.scenario.skip:
        return replace(result, outcome=Outcome.SKIPPED, message=run.scenario.skip)
    try:
        async with asyncio.timeout(manner.real_seconds_max):
            played = _live if manner.real_time or manner.against else _in_laboratory
            result = await played(run, manner, told, result)
    except TimeoutError:
        text = f"it took longer than {manner.real_seconds_max:g} s"
        result = replace(result, outcome=Outcome.TIMED_OUT, message=text)
    except (ConfigurationError, ScenarioError) as error:
        result = replace(result, outcome=Outcome.BROKEN, message=str(error))
    except (StartError, KubeconfigError) as error:
        result = replace(result, outcome=Outcome.NOT_STARTED, message=str(error))
    except LivelockError as error:
        result = replace(result, outcome=Outcome.TIMED_OUT, message=str(error))
    except Failure as error:
        result = replace(result, outcome=Outcome.FAILED, message=str(error))
    return replace(result, real_seconds=clock.monotonic() - began)


def _begun(run: Run, manner: Manner) -> RunResult:
    """Return the result of a run before its first step."""
    scenario = run.scenario
    return RunResult(
        scenario.name,
        str(scenario.file),
        run.seed,
        str(run.cell),
        Outcome.PASSED,
        claims=scenario.claims,
        planned=sum(len(block.operations) for block in scenario.blocks),
    )


async def _in_laboratory(run: Run, manner: Manner, told: Told, result: RunResult) -> RunResult:
    """Run on a simulated cluster, in virtual time."""
    scene = scene_of(run, manner)
    setup = setup_of(run.scenario, scene.bindings)
    laboratory = laboratory_of(run.scenario, setup, run.seed)
    async with laboratory:
        await complete(laboratory, setup)
        world = LaboratoryWorld(laboratory, scene)
        settings = {name: world.settings(name) for name in laboratory.components()}
        play = Play(world, run.scenario, told)
        await play.play()
        steps = tuple(play.steps)
        result = replace(result, outcome=play.outcome, message=play.message, steps=steps, began=_began(settings, steps))
        return _seen(result, laboratory, manner)


async def _live(run: Run, manner: Manner, told: Told, result: RunResult) -> RunResult:
    """Run in real time: on a cluster of its own, or on a running one."""
    scene, clock = scene_of(run, manner), RealClock()
    async with AsyncExitStack() as stack:
        path = Path(manner.against)
        if not manner.against:
            configuration = real_configuration_of(setup_of(run.scenario, scene.bindings))
            path = (await stack.enter_async_context(passing_cluster(configuration))).kubeconfig
        client = await stack.enter_async_context(HttpClient(read_kubeconfig(path), "mockkube-scenario", clock=clock))
        world = LiveWorld(client, path.resolve(), clock, scene)
        await world.look()
        play = Play(world, run.scenario, told)
        await play.play()
        return replace(
            result, outcome=play.outcome, message=play.message, steps=tuple(play.steps), virtual_seconds=world.now
        )


def _began(settings: Mapping[str, Settings], steps: Sequence[StepResult]) -> tuple[Began, ...]:
    """Return version of each component at the start, and those of its gates that steps change."""
    component_changes = [one.arguments for one in steps if one.verb == "component" and isinstance(one.arguments, dict)]
    gates = sorted({gate for one in component_changes for gate in one.get("featureGates") or ()})
    return tuple(
        Began(name, str(one.version), tuple(gate for gate in gates if one.capabilities().enabled(gate)))
        for name, one in settings.items()
    )


def _seen(result: RunResult, laboratory: Laboratory, manner: Manner) -> RunResult:
    """Return a result with time, digest and trace of the simulated cluster."""
    return replace(
        result,
        virtual_seconds=laboratory.clock.monotonic(),
        worker_steps=laboratory.steps,
        digest=laboratory.trace.digest(),
        story=tuple(story_of(laboratory.trace)) if manner.keeps_story else (),
        trace=laboratory.trace.text() if manner.keeps_trace else "",
    )


def scene_of(run: Run, manner: Manner) -> Scene:
    """Return the context of a run, with variables and matrix cell bound."""
    scenario = run.scenario
    bindings = {**dict(scenario.variables), **dict(run.cell.values)}
    bindings["namespace"] = scenario.namespace
    bindings["seed"] = run.seed
    # A variable may refer to those before it, to the namespace, the seed and the cell.
    for name, value in scenario.variables:
        bindings[name] = resolve(bindings.get(name, value), bindings)
    return Scene(
        bindings=bindings,
        directory=scenario.file.parent,
        namespace=scenario.namespace,
        timeout=scenario.timeout,
        deletion_timeout=scenario.deletion_timeout,
        kubectl=manner.kubectl,
    )


class Play:
    """Plays the steps of one scenario in a world."""

    def __init__(self, world: World, scenario: Scenario, told: Told = _unheard) -> None:
        self.outcome = Outcome.PASSED
        self.message = ""
        self.steps: list[StepResult] = []
        self._world, self._scenario, self._told = world, scenario, told

    async def play(self) -> None:
        """Play all blocks until one fails."""
        if self._scenario.make_namespace:
            await self._make_namespace()
        for block in self._scenario.blocks:
            await self._block(block)
            if self.outcome is not Outcome.PASSED:
                return

    async def _make_namespace(self) -> None:
        """Create the namespace of the scenario."""
        namespace = {"metadata": {"name": self._scenario.namespace}}
        try:
            await self._world.client().create("Namespace", {"apiVersion": "v1", "kind": "Namespace", **namespace})
        except AlreadyExists:
            return
        await self._world.settle()

    async def _block(self, block: Block) -> None:
        """Play a block, its catch steps after a failure, and its finally steps."""
        scene = self._world.scene
        outside = dict(scene.bindings)
        for name, value in block.bindings:
            scene.bindings[name] = resolve(value, scene.bindings)
        try:
            if not await self._all(block.operations, block.name):
                await self._aside((*block.catch, *self._scenario.catch), f"{block.name}: catch")
        finally:
            await self._aside(block.in_the_end, f"{block.name}: finally")
            # Variables of a block end with it, and those they hid come back.
            for name, _ in block.bindings:
                scene.bindings.pop(name, None)
                if name in outside:
                    scene.bindings[name] = outside[name]

    async def _all(self, operations: Sequence[Operation], block: str) -> bool:
        """Play operations until one fails; return whether all passed."""
        for operation in operations:
            result = await self._operation(operation, block)
            if result.outcome not in (Outcome.PASSED, Outcome.SKIPPED):
                self.outcome, self.message = result.outcome, f"line {result.line}: {result.verb}: {result.message}"
                return False
        return True

    async def _aside(self, operations: Sequence[Operation], block: str) -> None:
        """Play all operations even if one fails; an earlier failure of the run keeps its message."""
        for operation in operations:
            result = await self._operation(operation, block)
            if self.outcome is Outcome.PASSED and result.outcome not in (Outcome.PASSED, Outcome.SKIPPED):
                self.outcome, self.message = result.outcome, f"line {result.line}: {result.verb}: {result.message}"

    async def _operation(self, operation: Operation, block: str) -> StepResult:
        """Play one operation and record its result."""
        world = self._world
        began, said, moment = world.now, len(world.scene.log), world.moments
        world.warnings.clear()
        outcome, message = await self._outcome(operation)
        # A component that crashed makes every later result meaningless, so the run counts as broken even if the step
        # passed.
        if failed := world.failed():
            errors = "; ".join(f"{name} has failed: {why}" for name, why in failed.items())
            outcome, message = Outcome.BROKEN, "\n".join(filter(None, (message, errors)))
        log = (*world.scene.log[said:], *(f"Warning: {text}" for text in dict.fromkeys(world.warnings)))
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
        self._told(result)
        return result

    async def _outcome(self, operation: Operation) -> tuple[Outcome, str]:
        """Play one operation; return its outcome and message."""
        try:
            await self._do(operation)
        except Failure as error:
            return Outcome.FAILED, str(error)
        except ApiError as error:
            return Outcome.FAILED, refusal(error)
        except Impossible as error:
            return Outcome.SKIPPED, str(error)
        except (LivelockError, TimedOut) as error:
            return Outcome.TIMED_OUT, str(error)
        except ScenarioError as error:
            return Outcome.BROKEN, str(error)
        except Exception as error:  # a bug of ours ends this run, not the others
            _LOG.exception("%s", operation.place.error(operation.verb))
            return Outcome.BROKEN, f"{type(error).__name__}: {error}"
        return Outcome.PASSED, ""

    async def _do(self, operation: Operation) -> None:
        """Parse the step with the variables of now, play it, and let the cluster settle."""
        bound = replace(operation.place, bindings=self._world.scene.bindings)
        step = read(VERBS[operation.verb], operation.arguments, bound)
        await step.play(self._world)
        # A step may have moved the clock through the API, as a client in real time would; the runner has to follow.
        await self._world.catch_up()
        if self._scenario.settling == "after-each-step":
            await self._world.settle()
