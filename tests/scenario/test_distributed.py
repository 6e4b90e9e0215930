"""Explorations and scenarios on a Dask cluster: results as on this machine, also when a worker is killed."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mockkube.cluster.configuration.errors import StartError
from mockkube.explore.counterexample_scenario import render_counterexamples
from mockkube.explore.exploration import explore_plan
from mockkube.explore.plans.loading import load
from mockkube.explore.plans.orders import DisturbanceMove, Move, Moves, list_paths
from mockkube.explore.plans.plan import Direction, RolloutPlan
from mockkube.explore.players import ParallelPlayer
from mockkube.explore.replay import collect_evidence, without_logs
from mockkube.explore.search import PlayedPath, State
from mockkube.report import summary
from mockkube.report.pages import exploration_page

pytest.importorskip("distributed", reason="Dask is not installed")
from distributed import Client

from mockkube.distributed.dask_pool import DaskPool
from mockkube.distributed.run_environment import WorkerCall
from mockkube.explore.distributed_player import DistributedPlayer

pytestmark = [
    pytest.mark.slow,  # starts five processes, and explores
    pytest.mark.timeout(600),  # on a machine that may be busy
    # Dask's own, such as sockets of a scheduler that was killed.
    pytest.mark.filterwarnings("ignore"),
]

needs_proc = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="the processes are listed in /proc")
ROOT = Path(__file__).parents[2]
WORKERS = 4
GATE = "TaintTolerationComparisonOperators"
PLAN = """\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: small}
spec:
  change:
    kube-apiserver: {gates: {TaintTolerationComparisonOperators: true}}
    kube-scheduler: {gates: {TaintTolerationComparisonOperators: true}}
    kube-controller-manager: {gates: {TaintTolerationComparisonOperators: true}}
  nodes:
    - taints: [{key: sla, value: "950", effect: NoSchedule}]
  setup:
    - apply: settings.yaml
  disturbances:
    - {name: the scheduler restarts, when: every-step, do: [{restart: kube-scheduler}]}
  workload:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: batch}
      spec:
        replicas: 2
        selector: {matchLabels: {app: batch}}
        template:
          metadata: {labels: {app: batch}}
          spec:
            containers: [{name: main, image: i}]
            tolerations: [{key: sla, operator: Gt, value: "900", effect: NoSchedule}]
  seconds: 5
"""
SETTINGS = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {level: high}}\n"
SCENARIO = """\
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: files}
spec:
  seeds: [1, 2, 3]
  vars: {which: settings}
  cluster: {without: [scheduler, controllers, kubelets]}
  steps:
  - apply: {file: ($which).yaml}
  - assert: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: high}}
  - command: {entrypoint: ./show.sh, check: {($stdout): from a file of its own}}
---
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: fails}
spec:
  cluster: {without: [scheduler, controllers, kubelets]}
  steps:
  - assert: {apiVersion: v1, kind: ConfigMap, metadata: {name: absent}}
---
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: lacks a file}
spec:
  cluster: {without: [scheduler, controllers, kubelets]}
  steps:
  - apply: {file: absent.yaml}
"""


SLOW = """\
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: slow}
spec:
  seeds: [1, 2, 3, 4, 5, 6, 7, 8]
  cluster: {without: [scheduler, controllers, kubelets]}
  steps:
  - command: {entrypoint: sleep, args: ["600"], timeout: 700s}
"""
WAITS = """\
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: waits}
spec:
  seeds: [1, 2, 3, 4]
  cluster: {without: [scheduler, controllers, kubelets]}
  steps:
  - command: {entrypoint: cat, args: [PIPE], timeout: 700s}
"""
PROPOSAL = """
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.proposals.proposal import Operator, Proposal, by_pair

GATE = "TaintTolerationPrefix"
PROPOSAL = Proposal(
    kep=9999,
    gate=GATE,
    train=ReleaseTrain(GATE, stages=(GateStage(Version(1, 36), Maturity.ALPHA, False),)),
    tolerations={"Prefix": Operator(lambda toleration, at: [], by_pair(lambda value, taint: taint.startswith(value)))},
)
"""


@dataclass
class DaskCluster:
    """A scheduler and workers, as processes of this machine."""

    directory: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def start(self, workers: int) -> None:
        file = self.directory / "scheduler.json"
        self.scheduler = self.run("scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(file))
        assert self.scheduler.stderr is not None
        for line in self.scheduler.stderr:
            if found := re.search(rb"Scheduler at:\s+(tcp://\S+)", line):
                self.address = found[1].decode()
                break
        self.scheduler.stderr.close()
        for _ in range(workers):
            self.add_worker()
        if workers:
            with self.client() as client:
                client.wait_for_workers(workers, timeout=60)

    def add_worker(self, *options: str) -> None:
        given = ("--nthreads", "1", "--no-nanny", "--local-directory", str(self.directory), *options)
        process = self.run("worker", self.address, *given, quiet=True)
        self.workers[process.pid] = process

    def run(self, *arguments: str, quiet: bool = False) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
            cwd=self.directory,  # not where the commands run: files have to be shipped
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if quiet else subprocess.PIPE,
        )

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        with Client(self.address, set_as_default=False, timeout=60) as client:
            yield client

    def count_tasks(self) -> Counter[str]:
        """Return how often each task has ended with a result, on any worker."""
        with self.client() as client:
            log = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.transition_log))
        ends = [(str(one[0]), one[1], one[2]) for one in log]
        return Counter(key for key, start, end in ends if key.startswith("mockkube-") and (start, end) == MADE)

    def stop(self) -> None:
        for process in (*self.workers.values(), self.scheduler):
            if process is not None:
                process.kill()
                process.wait()


MADE = ("processing", "memory")
PATH_TASK = "mockkube-path-"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a plan, scenarios, and files that they refer to."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "settings.yaml").write_text(SETTINGS)
    (folder / "files.yaml").write_text(SCENARIO)
    (folder / "slow.yaml").write_text(SLOW)
    (folder / "said.txt").write_text("from a file of its own")
    (folder / "show.sh").write_text("#!/bin/sh\ncat said.txt\n")
    (folder / "show.sh").chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run commands in the folder."""
    monkeypatch.chdir(folder)
    return folder


@dataclass
class LocalExploration:
    """Exploration on this machine: its outputs, and the paths that were played."""

    json: str
    page: str
    played: list[Moves]


@pytest.fixture(scope="module")
def local(folder: Path) -> LocalExploration:
    with contextlib.chdir(folder), without_logs():
        plan = load(Path("plan.yaml"))
        with RecordingPlayer(plan, 2) as player:
            result = explore_plan(plan, player)
        page = exploration_page.render(collect_evidence(result))
        scenarios = render_counterexamples(result)
    return LocalExploration(json.dumps(summary.to_json(result, scenarios), indent=2) + "\n", page, player.played)


class RecordingPlayer(ParallelPlayer):
    """Records the paths that it plays."""

    def __init__(self, plan: RolloutPlan, workers: int) -> None:
        super().__init__(plan, workers)
        self.played: list[Moves] = []

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        self.played += paths
        return super().__call__(paths)


class RecordingDistributedPlayer(DistributedPlayer):
    """Records the paths that workers have played."""

    def __init__(self, plan: RolloutPlan, pool: DaskPool) -> None:
        super().__init__(plan, pool)
        self.played: list[PlayedPath] = []

    def __call__(self, paths: Sequence[Moves]) -> Iterator[PlayedPath]:
        for one in super().__call__(paths):
            self.played.append(one)
            yield one


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Return a cluster with four workers; a test that ends one starts another."""
    with start_dask(tmp_path_factory.mktemp("dask"), WORKERS) as cluster:
        yield cluster


@contextlib.contextmanager
def start_dask(directory: Path, workers: int, **environment: str) -> Iterator[DaskCluster]:
    cluster = DaskCluster(directory, environment={**os.environ, **environment})
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()


def mockkube(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "mockkube", *arguments], capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def start_mockkube(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mockkube", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def without_times(text: str) -> str:
    """Return JUnit's XML, a page or a table without the seconds of real time, which no two runs share."""
    return re.sub(r'time="[0-9.]+"|\b[0-9]+\.[0-9]{2} ?s\b', "", text)


# Explorations


def test_an_exploration_equals_a_local_one_to_the_byte_and_plays_each_path_once(
    dask: DaskCluster, local: LocalExploration
) -> None:
    done = mockkube("explore", "plan.yaml", "--dask", dask.address, "-o", "json", "--report", "page.html")
    assert (done.stdout, Path("page.html").read_text()) == (local.json, local.page)
    assert json.loads(done.stdout)["neverAccepted"] == {}, "the file of an action was shipped"
    tasks = {key: count for key, count in dask.count_tasks().items() if PATH_TASK in key}
    assert len(tasks) == len(local.played) == len(set(local.played))
    assert set(tasks.values()) == {1}


@pytest.mark.parametrize("workers", [1, 4])
def test_the_number_of_local_processes_changes_nothing(local: LocalExploration, workers: int) -> None:
    assert mockkube("explore", "plan.yaml", "--workers", str(workers), "-o", "json").stdout == local.json


def test_workers_explore_no_state_twice(tmp_path: Path, local: LocalExploration) -> None:
    plan = load(Path("plan.yaml"))
    # Threads of one worker: the scheduler has no other one to which it could move a path.
    with start_dask(tmp_path, 0) as cluster:
        cluster.add_worker("--nthreads", "4")
        with DaskPool(cluster.address) as pool:
            player = RecordingDistributedPlayer(plan, pool)
            result = explore_plan(plan, player)
    assert [one.moves for one in player.played] == local.played
    # Each path has cost its last move, no matter which thread played what it continues.
    assert [one.continued_at for one in player.played] == [max(len(one.moves) - 1, 0) for one in player.played]
    tried = Counter(_find_last_move(one) for one in player.played if one.moves)
    assert (len(tried), tried.total()) == (result.distinct_moves, result.played)


def _find_last_move(played: PlayedPath) -> tuple[State, Move]:
    """Return the last move of a path, and the state before it."""
    return (played.start, *(one.state for one in played.results))[-2], played.moves[-1]


def test_a_killed_worker_costs_nothing_but_time(dask: DaskCluster, local: LocalExploration) -> None:
    process = start_mockkube("explore", "plan.yaml", "--dask", dask.address, "-o", "json")
    with dask.client() as client:
        kill_busy_worker(client, dask, process, PATH_TASK, holds=1)
        out, err = process.communicate()
        assert len(client.nthreads()) == WORKERS - 1
    dask.add_worker()
    assert (process.returncode, out) == (0, local.json), err
    assert "paths done (100 %)" in err


def kill_busy_worker(
    client: Client, dask: DaskCluster, command: subprocess.Popen[str], task: str, *, holds: int = 0
) -> None:
    """Kill a worker that plays a task for a command, and holds the results of others."""
    pids = client.run(os.getpid)
    while True:
        assert command.poll() is None, command.communicate()
        held = client.has_what()
        for worker, keys in client.processing().items():
            held_here = [key for key in held.get(worker, ()) if task in str(key)]
            if any(task in str(key) for key in keys) and len(held_here) >= holds:
                os.kill(pids[worker], signal.SIGKILL)
                dask.workers[pids[worker]].wait()
                return


@needs_proc
def test_killed_processes_of_a_worker_cost_nothing_but_time(tmp_path: Path) -> None:
    plan = load(Path("plan.yaml"))
    moves = next(iter(list_paths(plan))).moves
    with start_dask(tmp_path, 1) as cluster, DaskPool(cluster.address) as pool:
        player = DistributedPlayer(plan, pool)
        (first,) = player([moves[:2]])
        (second,) = player([moves[:3]])
        for pid in list_processes_below(tmp_path):
            os.kill(pid, signal.SIGKILL)
        (third,) = player([moves[:4]])
        (whole,) = player.play_from_start([moves[:4]])
    assert (first.continued_at, second.continued_at, third.continued_at) == (0, 2, 0)
    assert (third.results, third.results[:3], second.results[:2]) == (whole.results, second.results, first.results)


def test_an_error_of_a_path_is_raised_where_the_command_was_typed(tmp_path: Path) -> None:
    unknown = (DisturbanceMove(Direction.UP, "nobody planned it"),)
    with start_dask(tmp_path, 1) as cluster, DaskPool(cluster.address) as pool:
        player = DistributedPlayer(load(Path("plan.yaml")), pool)
        with pytest.raises(RuntimeError) as caught:
            list(player([unknown]))
    assert "_play_move" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("by", ["flag", "entry point"])
def test_proposals_reach_the_workers(
    dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    site = tmp_path / "site"
    metadata = site / "prefix_kep-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: prefix-kep\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[mockkube.proposals]\nprefix = prefix_kep\n")
    (site / "prefix_kep.py").write_text(PROPOSAL)
    flags = ["--proposal", str(site / "prefix_kep.py")]
    if by == "entry point":
        flags = []
        monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    gated = PLAN.replace(GATE, "TaintTolerationPrefix").replace('Gt, value: "900"', 'Prefix, value: "9"')
    # Two components suffice here.
    gated = gated.replace("    kube-controller-manager: {gates: {TaintTolerationPrefix: true}}\n", "")
    Path("gated.yaml").write_text(gated)
    local = mockkube(*flags, "explore", "gated.yaml", "--workers", "1", "-o", "json").stdout
    assert mockkube(*flags, "explore", "gated.yaml", "--dask", dask.address, "-o", "json").stdout == local
    assert json.loads(local)["counterexamples"]


# Scenarios


def test_distributed_scenarios_equal_local_ones(dask: DaskCluster, place: Path) -> None:
    outputs = []
    for where in (["--dask", dask.address], ["--workers", "1"]):
        files = {name: f"{name}.out" for name in ("junit", "report", "trace")}
        flags = [word for name, file in files.items() for word in (f"--{name}", file)]
        # An absolute path, too: messages show it as it was given.
        done = mockkube("test", "files.yaml", str(place / "files.yaml"), *where, *flags, "-v", code=2)
        outputs.append(
            [without_times(text) for text in (done.stdout, *(Path(one).read_text() for one in files.values()))]
        )
    assert outputs[0] == outputs[1]
    assert outputs[0][0].count("ok ") == 6 + 6 * 3
    assert f"{place}/absent.yaml: No such file or directory" in outputs[0][0]


def test_scenarios_survive_a_killed_worker(dask: DaskCluster, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "waits.yaml").write_text(WAITS.replace("PIPE", str(pipe)))
    command = ("test", str(tmp_path / "waits.yaml"), "-v")
    expected = let_runs_end(start_mockkube(*command, "--workers", "1"), pipe)
    process = start_mockkube(*command, "--dask", dask.address)
    with dask.client() as client:
        kill_busy_worker(client, dask, process, "play_on_worker")
    dask.add_worker()
    assert let_runs_end(process, pipe) == expected
    assert expected.count("ok ") >= WORKERS


def let_runs_end(command: subprocess.Popen[str], pipe: Path) -> str:
    """Return the output of a command whose runs wait until somebody opens a pipe."""
    while command.poll() is None:
        with contextlib.suppress(OSError):  # none waits at present
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    out, err = command.communicate()
    assert command.returncode == 0, out + err
    return without_times(out)


# Errors


def test_an_address_without_a_scheduler_is_named() -> None:
    with pytest.raises(StartError, match="no scheduler answers within 1 s: start one"):
        DaskPool("tcp://127.0.0.1:1", start_seconds_max=1).__enter__()


def test_an_address_that_is_none_is_a_mistake() -> None:
    done = mockkube("explore", "plan.yaml", "--dask", "nonsense://here:1", code=2)
    assert (done.stderr.count("\n"), "give an address like tcp://host:8786" in done.stderr) == (1, True)


def test_a_cluster_without_workers_is_named(tmp_path: Path) -> None:
    with start_dask(tmp_path, 0) as cluster, pytest.raises(StartError, match="the scheduler has no workers"):
        DaskPool(cluster.address, start_seconds_max=2).__enter__()


def test_a_cluster_that_loses_all_workers_is_named(tmp_path: Path) -> None:
    with start_dask(tmp_path, 1) as cluster, DaskPool(cluster.address, workers_away_seconds_max=1) as pool:
        calls = pool.run_calls([WorkerCall(os.getpid, ()), WorkerCall(signal.pause, ())])
        assert next(calls)[0] == 0
        for worker in cluster.workers.values():
            worker.kill()
        with pytest.raises(StartError, match="all workers have been away for 1 s"):
            next(calls)


def test_workers_with_other_code_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for package, folder in (("mockkube", ROOT), ("mockkube_storage", ROOT / "storage"), ("mockkube_cel", ROOT / "cel")):
        (other / package).mkdir()
        for one in (folder / package).iterdir():
            (other / package / one.name).symlink_to(one)
    (other / "mockkube" / "changed.py").write_text("")
    with start_dask(tmp_path, 1, PYTHONPATH=str(other)) as cluster:
        done = mockkube("explore", "plan.yaml", "--dask", cluster.address, code=3)
    assert done.stderr.count("\n") == 1
    assert re.search(r"the worker tcp://\S+ has mockkube \S+ with other code: install the same build", done.stderr)


def test_a_scheduler_that_ends_is_one_line_and_leaves_no_file(tmp_path: Path) -> None:
    with start_dask(tmp_path, 1) as cluster:
        process = start_mockkube("explore", "plan.yaml", "--dask", cluster.address, "--quiet", "--report", "none.html")
        with cluster.client() as client:
            wait_for_tasks(client, process)
            assert cluster.scheduler is not None
            cluster.scheduler.kill()
            out, err = process.communicate()
    assert (process.returncode, out) == (3, "")
    assert err.count("\n") == 1
    assert "the scheduler has ended" in err
    assert not Path("none.html").exists()


def test_ctrl_c_cancels_the_tasks(dask: DaskCluster) -> None:
    process = start_mockkube("test", "slow.yaml", "--dask", dask.address)
    with dask.client() as client:
        wait_for_tasks(client, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err.strip()) == (130, "", "")
        while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            pass  # the test's own limit of time ends it
    # What a worker had begun has ended, too: a step that sleeps for ten minutes does not hold its thread.
    assert mockkube("test", "files.yaml", "--scenario", "fails", "--dask", dask.address, code=1)


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_ends_leaves_no_process_of_its_exploration(tmp_path: Path, number: signal.Signals) -> None:
    with start_dask(tmp_path, 1) as cluster:
        process = start_mockkube("explore", "plan.yaml", "--dask", cluster.address)
        with cluster.client() as client:
            while not any(PATH_TASK in str(key) for keys in client.has_what().values() for key in keys):
                assert process.poll() is None, process.communicate()
            process.send_signal(number)
            process.communicate()
            while list_processes_below(tmp_path):
                pass  # the test's own limit of time ends it
        assert all(one.poll() is None for one in cluster.workers.values())


def list_processes_below(folder: Path) -> list[int]:
    """Return the processes whose working directory is below a folder: those that workers have started there."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink().parent.is_relative_to(folder):
                found.append(int(entry.name))
    return found


def wait_for_tasks(client: Client, command: subprocess.Popen[str]) -> None:
    """Return when workers have work for a command."""
    while not any(str(key).startswith("mockkube-") for keys in client.processing().values() for key in keys):
        assert command.poll() is None, command.communicate()
