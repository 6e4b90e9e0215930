"""`mockkube up` as a process: what it prints, what it refuses, and how it ends."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockkube.cli.commands.up import format_path_line
from mockkube.cluster.state.atomic_files import write_atomically
from mockkube.cluster.state.state_directory import StateDirectory

COMMAND = [sys.executable, "-m", "mockkube.cli"]
AT_EXIT = "import atexit; from mockkube.cli.main import main; atexit.register(print, 'taken apart'); main()"
"""mockkube, which says so when the interpreter takes itself apart: seconds, for thousands of objects."""
Start = Callable[..., subprocess.Popen[str]]

pytestmark = pytest.mark.heavy  # starts processes


@pytest.fixture
def start(state: Path) -> Iterator[Start]:
    """Start `mockkube up --port 0` with further arguments; what still runs at the end is killed."""
    processes: list[subprocess.Popen[str]] = []

    def start_up(*arguments: str, durable: bool = False) -> subprocess.Popen[str]:
        kept = [] if durable else ["--ephemeral"]
        command = [*COMMAND, "up", "--port", "0", *kept, *arguments]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield start_up
    for process in processes:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> list[str]:
    """Return the two lines that tell that the cluster is ready."""
    assert process.stdout is not None
    return [process.stdout.readline(), process.stdout.readline()]


def refused(process: subprocess.Popen[str]) -> str:
    """Return the one line of a cluster that did not start."""
    out, err = process.communicate(timeout=100)
    assert process.returncode == 3
    assert out == ""
    assert err.startswith("mockkube: ")
    assert err.count("\n") == 1
    return err.removeprefix("mockkube: ")


def ask(ready: dict[str, Any], path: str, *, method: str = "GET", body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {ready['token']}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(ready["url"] + path, content, headers, method=method)
    context = ssl.create_default_context(cafile=ready["caFile"])
    with urllib.request.urlopen(request, context=context) as response:
        return json.loads(response.read())


def test_it_says_where_it_is_and_what_to_copy(start: Start, state: Path) -> None:
    ready, export = said(start("--name", "lab", "--version", "1.35"))
    assert ready.startswith("Cluster 'lab' (Kubernetes 1.35) is ready at https://127.0.0.1:")
    assert export == f"export KUBECONFIG={state}/lab/kubeconfig\n"


def test_once_the_ready_file_is_there_it_answers(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    process = start("--ready-file", str(path), "--nodes", "2")
    said(process)
    ready = json.loads(path.read_text())
    assert ready["pid"] == process.pid
    nodes = ask(ready, "/api/v1/nodes")["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["node-1", "node-2"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_without_the_help_of_the_watchdog(
    start: Start, state: Path, tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "ready.json"
    process = start("--ready-file", str(path))
    said(process)
    process.send_signal(number)
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert not path.exists()
    assert StateDirectory(state / "default").find_holder_pid() is None


def test_its_end_does_not_wait_for_the_interpreter_to_take_itself_apart(state: Path) -> None:
    command = [sys.executable, "-c", AT_EXIT, "up", "--port", "0", "--ephemeral"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said(process)
        process.terminate()
        out, _ = process.communicate(timeout=100)
    assert (out, process.returncode) == ("", 0)


def test_status_and_down_know_it(start: Start, mockkube: Callable[..., Any]) -> None:
    process = start()
    said(process)
    [status] = json.loads(mockkube("status", "-o", "json").out)
    assert (status["state"], status["pid"], status["database"]) == ("Running", process.pid, "memory:")
    assert mockkube("down").out == "Cluster 'default' is stopped\n"
    assert process.wait(timeout=60) == 0


def test_the_context_is_in_the_users_kubeconfig_while_it_runs(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "config"
    process = start("--kubeconfig", str(path), "--set-context")
    said(process)
    assert yaml.safe_load(path.read_text())["current-context"] == "mockkube-default"
    process.terminate()
    process.wait(timeout=60)
    assert yaml.safe_load(path.read_text())["contexts"] == []


def test_a_killed_cluster_keeps_what_it_acknowledged_and_starts_again(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    process = start("--ready-file", str(path), durable=True)
    said(process)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kept"}}
    ask(json.loads(path.read_text()), "/api/v1/namespaces", method="POST", body=namespace)
    process.kill()
    process.wait()
    said(start("--ready-file", str(path), durable=True))
    assert ask(json.loads(path.read_text()), "/api/v1/namespaces/kept")["metadata"]["name"] == "kept"


def test_a_port_in_use_is_refused(start: Start) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        assert refused(start("--port", str(port))).startswith(f"port {port} on 127.0.0.1 is in use: stop what listens")


def test_a_second_cluster_of_the_name_is_refused_and_the_first_goes_on(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    first = start("--ready-file", str(path), "--name", "default")
    said(first)
    line = refused(start("--ready-file", str(path), "--name", "default"))
    assert line.startswith(f"cluster 'default' is already running by process {first.pid}: stop it with 'mockkube down")
    assert ask(json.loads(path.read_text()), "/api/v1/nodes")["items"] == []


def test_a_state_directory_that_cannot_be_written_is_refused(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert refused(start()).endswith("make it writable, or set XDG_STATE_HOME to one that is\n")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"this is no database, however long one looks at it" * 40, id="no database"),
        pytest.param(b"", id="a directory"),
    ],
)
def test_a_database_that_cannot_be_read_is_refused_and_left_as_it_is(
    start: Start, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "cluster.db"
    if content:
        write_atomically(path, content)
    else:
        path.mkdir()
    assert str(path) in refused(start("--db", f"sqlite:///{path}", durable=True))
    assert path.is_dir() if not content else path.read_bytes() == content


def test_an_admission_plugin_nobody_knows_is_named(start: Start) -> None:
    process = start("--disable-admission-plugins", "Nonsense")
    _, err = process.communicate(timeout=100)
    assert process.returncode == 2
    assert err == 'mockkube: --disable-admission-plugins plugin "Nonsense" is unknown\n'


def test_the_limit_of_open_files_is_the_users(start: Start) -> None:
    process = start()
    said(process)
    limits = Path(f"/proc/{process.pid}/limits")
    if not limits.exists():
        pytest.skip(f"no {os.path.dirname(limits)} on this system")
    [line] = [line for line in limits.read_text().splitlines() if line.startswith("Max open files")]
    soft, hard = line.split()[3:5]
    assert soft == hard


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the process list is read from /proc")
def test_a_token_given_on_the_command_line_is_not_in_the_process_list(start: Start) -> None:
    process = start("--no-tls", "--token", "a-secret-of-mine", "--name", "a-secret-of-mine-2")
    said(process)
    shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    assert b"a-secret-of-mine" not in shown
    assert shown.count(b"\0") == len(process.args)


def test_ephemeral_clusters_without_a_name_run_side_by_side_and_leave_nothing(start: Start, state: Path) -> None:
    one, two = start("--without", "kubelets"), start("--without", "kubelets")
    lines = [process.stdout.readline() for process in (one, two) if process.stdout is not None]
    assert sorted(line.split()[1] for line in lines) == ["'default'", "'default-2'"]
    for process in (one, two):
        process.terminate()
        assert process.wait(60) == 0
    assert list(state.iterdir()) == []


def test_a_start_that_is_refused_leaves_nothing(start: Start, state: Path) -> None:
    assert "ready file" in refused(start("--ready-file", "/nowhere/ready", durable=True))
    assert list(state.iterdir()) == []


def test_the_path_is_shown_where_the_shell_does_not_find_the_command(tmp_path: Path) -> None:
    program = tmp_path / "a b" / "mockkube"
    program.parent.mkdir()
    program.touch(mode=0o755)
    assert format_path_line(str(program), "/bin") == f"""export PATH='{program.parent}':"$PATH\""""
    assert format_path_line(str(program), f"/bin:{program.parent}") == ""
    assert format_path_line(str(tmp_path / "__main__.py"), "/bin") == ""
