"""Play scenarios on the workers of a Dask cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from mockkube.distributed.dask_pool import DaskPool
from mockkube.distributed.run_environment import (
    ShippedFile,
    WorkerCall,
    list_files,
    pack_files,
    to_given_text,
    to_local_path,
)
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.named_files import find_named_files
from mockkube.scenario.runner.results import RunResult, StepResult
from mockkube.scenario.runner.run_pool import play_one, set_gc_thresholds
from mockkube.scenario.runner.scenario_runner import RunOptions, ScenarioRun, make_context
from mockkube.scenario.scenario import Scenario, ScenarioOperation
from mockkube.scenario.steps.script import CommandStep, ScriptStep

# Steps that run programs, which may read any file beside the scenario.
_PROGRAMS = (ScriptStep.verb, CommandStep.verb)


def play_distributed(
    runs: Sequence[ScenarioRun], options: RunOptions, pool: DaskPool
) -> Iterator[tuple[int, RunResult]]:
    """Play runs on the workers; yield index and result of each as it ends."""
    return pool.run_calls([WorkerCall(_play_on_worker, (run, options), _pack_files(run, options)) for run in runs])


def _pack_files(run: ScenarioRun, options: RunOptions) -> tuple[ShippedFile, ...]:
    """Return the files that a run reads."""
    scenario = run.scenario
    operations = list(_list_operations(scenario))
    directory = scenario.file.parent
    if any(one.verb in _PROGRAMS for one in operations):
        return pack_files(chain(list_files(directory), _find_files(run, options, operations)))
    return pack_files(_find_files(run, options, operations))


def _find_files(run: ScenarioRun, options: RunOptions, operations: Sequence[ScenarioOperation]) -> list[Path]:
    try:
        bindings = make_context(run, options).bindings
    except StepFailed:
        return []  # the run will fail for the same reason
    for block in run.scenario.blocks:
        bindings.update(block.bindings)
    return find_named_files([one.arguments for one in operations], run.scenario.file.parent, bindings)


def _list_operations(scenario: Scenario) -> Iterator[ScenarioOperation]:
    for block in scenario.blocks:
        yield from (*block.operations, *block.catch, *block.finally_operations)
    yield from scenario.catch


def _play_on_worker(run: ScenarioRun, options: RunOptions) -> RunResult:
    """Play a run whose files were shipped; paths in its result are those of the machine that they came from."""
    set_gc_thresholds()
    file = run.scenario.file
    if file.is_absolute():
        run = replace(run, scenario=replace(run.scenario, file=to_local_path(str(file))))
    run.scenario.file.parent.mkdir(parents=True, exist_ok=True)  # programs run there, even if it has no other file
    result = play_one(run, options)
    return replace(
        result,
        file=str(file),
        message=to_given_text(result.message),
        steps=tuple(_with_given_paths(one) for one in result.steps),
    )


def _with_given_paths(step: StepResult) -> StepResult:
    return replace(step, message=to_given_text(step.message), log=tuple(map(to_given_text, step.log)))
