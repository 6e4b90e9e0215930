"""How a scenario is played: a cluster for each run, one step after the other, catch and finally as told."""

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
from mockkube.client.kubeconfig import read as read_kubeconfig
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
    """One way to play a scenario."""

    scenario: Scenario
    seed: int = 0
    cell: Cell = field(default_factory=Cell)


@dataclass(frozen=True, slots=True)
class Manner:
    """How runs are played, all alike."""

    real_seconds_max: float = REAL_SECONDS_MAX
    """How long one may take."""
    keeps_story: bool = False
    keeps_trace: bool = False
    kubectl: str = ""
    """The real kubectl, for the step of that name; empty: what is built in."""
    real_time: bool = False
    """Whether each run has a cluster with an address, on which time passes by itself."""
    against: str = ""
    """The kubeconfig of a cluster that runs; empty: each run has one of its own."""

    def options(self) -> tuple[str, ...]:
        """Return what the command line has to say to play in the same way."""
        live = ("--real-time",) if self.real_time else ()
        against = ("--against", self.against) if self.against else ()
        return (*live, *against, *(("--kubectl", self.kubectl) if self.kubectl else ()))


def _unheard(result: StepResult) -> None:
    pass


async def play(run: Run, manner: Manner | None = None, told: Told = _unheard, clock: Clock | None = None) -> RunResult:
    """Play a scenario in virtual time; `told` hears of each step. Nothing but cancellation is raised."""
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
    scene = scene_of(run, manner)
    setup = setup_of(run.scenario, scene.bindings)
    laboratory = laboratory_of(run.scenario, setup, run.seed)
    async with laboratory:
        await complete(laboratory, setup)
        world = LaboratoryWorld(laboratory, scene)
        begun = {name: world.settings(name) for name in laboratory.components()}
        play = Play(world, run.scenario, told)
        await play.play()
        steps = tuple(play.steps)
        result = replace(result, outcome=play.outcome, message=play.message, steps=steps, began=_began(begun, steps))
        return _seen(result, laboratory, manner)


async def _live(run: Run, manner: Manner, told: Told, result: RunResult) -> RunResult:
    """Play in real time: on a cluster of its own, or on one that runs."""
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
    """Return how components begin; of their gates, those that steps change."""
    told = [one.arguments for one in steps if one.verb == "component" and isinstance(one.arguments, dict)]
    gates = sorted({gate for one in told for gate in one.get("featureGates") or ()})
    return tuple(
        Began(name, str(one.version), tuple(gate for gate in gates if one.capabilities().enabled(gate)))
        for name, one in settings.items()
    )


def _seen(result: RunResult, laboratory: Laboratory, manner: Manner) -> RunResult:
    """Return a result with what the laboratory has seen."""
    return replace(
        result,
        virtual_seconds=laboratory.clock.monotonic(),
        worker_steps=laboratory.steps,
        digest=laboratory.trace.digest(),
        story=tuple(story_of(laboratory.trace)) if manner.keeps_story else (),
        trace=laboratory.trace.text() if manner.keeps_trace else "",
    )


def scene_of(run: Run, manner: Manner) -> Scene:
    """Return where a run begins: the names of its variables and its cell bound."""
    scenario = run.scenario
    bindings = {**dict(scenario.variables), **dict(run.cell.values)}
    bindings["namespace"] = scenario.namespace
    bindings["seed"] = run.seed
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
    """One run in a world that is there."""

    def __init__(self, world: World, scenario: Scenario, told: Told = _unheard) -> None:
        self.outcome = Outcome.PASSED
        self.message = ""
        self.steps: list[StepResult] = []
        self._world, self._scenario, self._told = world, scenario, told

    async def play(self) -> None:
        """Play all blocks, until one fails."""
        if self._scenario.make_namespace:
            await self._make_namespace()
        for block in self._scenario.blocks:
            await self._block(block)
            if self.outcome is not Outcome.PASSED:
                return

    async def _make_namespace(self) -> None:
        namespace = {"metadata": {"name": self._scenario.namespace}}
        try:
            await self._world.client().create("Namespace", {"apiVersion": "v1", "kind": "Namespace", **namespace})
        except AlreadyExists:
            return
        await self._world.settle()

    async def _block(self, block: Block) -> None:
        scene = self._world.scene
        outside = dict(scene.bindings)
        for name, value in block.bindings:
            scene.bindings[name] = resolve(value, scene.bindings)
        try:
            if not await self._all(block.operations, block.name):
                await self._aside((*block.catch, *self._scenario.catch), f"{block.name}: catch")
        finally:
            await self._aside(block.in_the_end, f"{block.name}: finally")
            for name, _ in block.bindings:
                scene.bindings.pop(name, None)
                if name in outside:
                    scene.bindings[name] = outside[name]

    async def _all(self, operations: Sequence[Operation], block: str) -> bool:
        """Play operations until one fails; return whether none did."""
        for operation in operations:
            result = await self._operation(operation, block)
            if result.outcome not in (Outcome.PASSED, Outcome.SKIPPED):
                self.outcome, self.message = result.outcome, f"line {result.line}: {result.verb}: {result.message}"
                return False
        return True

    async def _aside(self, operations: Sequence[Operation], block: str) -> None:
        """Play operations that follow in any case; the first failure of all is the one that counts."""
        for operation in operations:
            result = await self._operation(operation, block)
            if self.outcome is Outcome.PASSED and result.outcome not in (Outcome.PASSED, Outcome.SKIPPED):
                self.outcome, self.message = result.outcome, f"line {result.line}: {result.verb}: {result.message}"

    async def _operation(self, operation: Operation, block: str) -> StepResult:
        world = self._world
        began, said, moment = world.now, len(world.scene.log), world.moments
        world.warnings.clear()
        outcome, message = await self._outcome(operation)
        if failed := world.failed():
            told = "; ".join(f"{name} has failed: {why}" for name, why in failed.items())
            outcome, message = Outcome.BROKEN, "\n".join(filter(None, (message, told)))
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
        bound = replace(operation.place, bindings=self._world.scene.bindings)
        step = read(VERBS[operation.verb], operation.arguments, bound)
        await step.play(self._world)
        await self._world.catch_up()
        if self._scenario.settling == "after-each-step":
            await self._world.settle()
