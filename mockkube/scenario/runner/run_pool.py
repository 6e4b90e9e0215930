"""Run many scenarios, spread over processes."""

import asyncio
import gc
import multiprocessing
import shlex
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from types import FrameType
from typing import Final

from mockkube.cluster.configuration.errors import StartError
from mockkube.proposals.loading import proposal_files
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.runner.results import RunResult
from mockkube.scenario.runner.scenario_runner import RunOptions, ScenarioRun, play
from mockkube.scenario.scenario import Scenario

# Whether SIGINT has reached this process of the pool.
_is_interrupted = False
# Collect garbage less often than by default: most objects are decoded JSON, which has no reference cycles.
_GC_THRESHOLDS: Final = (50_000, 20, 100)


def list_runs(
    scenarios: Iterable[Scenario], *, name: str = "", cell: str | None = None, seeds: Sequence[int] = ()
) -> list[ScenarioRun]:
    """Return every run of these scenarios, restricted to a name, a cell and seeds if given."""
    known = list(scenarios)
    chosen = [one for one in known if name in ("", one.name)]
    if not chosen:
        raise ScenarioError(f"no scenario is called {name!r}: there are {', '.join(one.name for one in known)}")
    runs = [
        ScenarioRun(one, seed, combination)
        for one in chosen
        for combination in one.list_cells()
        for seed in seeds or one.seeds
        if cell in (None, str(combination))
    ]
    if not runs:
        cells = dict.fromkeys(str(combination) or "''" for one in chosen for combination in one.list_cells())
        raise ScenarioError(f"no combination is called {cell!r}: there are {'; '.join(cells)}")
    return runs


def replay_command(result: RunResult) -> str:
    """Return the command line that repeats one run."""
    cell = ["--cell", result.cell] if result.cell else []
    which = ["--scenario", result.scenario, "--seed", str(result.seed), *cell]
    proposals = [word for file in proposal_files() for word in ("--proposal", file)]
    return shlex.join(["mockkube", *proposals, "test", result.file, *which, *result.options])


def play_all(runs: Sequence[ScenarioRun], options: RunOptions, workers: int) -> Iterator[tuple[int, RunResult]]:
    """Play runs in several processes; yield index and result of each as it ends."""
    if workers <= 1 or len(runs) == 1:
        set_gc_thresholds()
        for index, run in enumerate(runs):
            yield index, play_one(run, options)
        return
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    gc.collect()
    gc.freeze()  # what is loaded is shared with the processes, as long as nobody writes to it
    with ProcessPoolExecutor(min(workers, len(runs)), mp_context=context, initializer=_initialize_process) as pool:
        futures = {pool.submit(_play_in_process, run, options): index for index, run in enumerate(runs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise StartError("a process that ran scenarios has died: use --workers 1 to see why") from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def set_gc_thresholds() -> None:
    """Raise the thresholds of the garbage collector."""
    gc.set_threshold(*_GC_THRESHOLDS)


def _initialize_process() -> None:
    """Prepare a process of the pool."""
    set_gc_thresholds()
    signal.signal(signal.SIGINT, _note_interrupt)


def _note_interrupt(_number: int, _frame: FrameType | None) -> None:
    """Play nothing more. The pool ends the process: if it ended by itself, the pool would kill the others at once."""
    global _is_interrupted
    _is_interrupted = True


def _play_in_process(run: ScenarioRun, options: RunOptions) -> RunResult:
    """Play one run in a process of the pool; on SIGINT, which a terminal sends to all processes, stop its cluster."""
    if _is_interrupted:
        raise KeyboardInterrupt
    waiting = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return play_one(run, options)
    except KeyboardInterrupt:
        _note_interrupt(signal.SIGINT, None)
        raise
    finally:
        signal.signal(signal.SIGINT, waiting)


def play_one(run: ScenarioRun, options: RunOptions) -> RunResult:
    """Play one run in an event loop of its own."""
    return asyncio.run(play(run, options))
