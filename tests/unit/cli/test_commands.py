"""Each command through the entry point: what it prints, and the exit code a script sees."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockkube.cli.catalogue import COMMANDS
from mockkube.cluster.state.kubeconfig import KubeconfigEntries, render_kubeconfig
from mockkube.cluster.state.state_directory import ComponentSummary, RunningRecord, StateDirectory, StateLock

Mockkube = Callable[..., Any]


@pytest.fixture
def lab(state: Path) -> StateDirectory:
    """A cluster that was started before."""
    directory = StateDirectory(state / "lab")
    directory.path.mkdir(parents=True)
    directory.kubeconfig.write_text(render_kubeconfig(KubeconfigEntries("lab", "http://127.0.0.1:1")))
    directory.database.write_text("")
    return directory


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_every_command_explains_itself(mockkube: Mockkube, name: str) -> None:
    answer = mockkube(name, "--help")
    assert answer.code == 0
    assert answer.out.startswith(f"Usage: mockkube {name} [OPTIONS]")


def test_help_lists_the_commands_in_order(mockkube: Mockkube) -> None:
    lines = mockkube("--help").out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == [entry.name for entry in COMMANDS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["up", "lab"], "Got unexpected extra argument (lab): see 'mockkube up --help'", id="an argument too many"
        ),
        pytest.param(["explore"], "Missing argument 'PLAN': see 'mockkube explore --help'", id="missing argument"),
        pytest.param(
            ["perturb", "--time", "x"], "Invalid value for '--time': 'x' is not a valid number", id="not a number"
        ),
        pytest.param(["vresion"], "no command 'vresion': did you mean 'version'?", id="misspelt command"),
        pytest.param(["zzz"], "no command 'zzz': known are up, down", id="unknown command"),
        pytest.param(["up", "--prot", "1"], "No such option '--prot'", id="misspelt flag"),
        pytest.param(["up", "--port", "x"], "--port: 'x' is not a port: give a number from 0 to 65535", id="value"),
        pytest.param(["up", "--bind", "0.0.0.0", "--no-tls"], "--bind: 0.0.0.0 can be reached from", id="no TLS"),
        pytest.param(["up", "--config", "/absent"], "/absent: No such file or directory: give a readable", id="file"),
        pytest.param(["up", "--component", "etcd=1"], "--component: 'etcd' is not a component", id="component"),
        pytest.param(["up", "--ephemeral", "--db", "x"], "--db and --ephemeral: only one", id="two databases"),
        pytest.param(["down", "--name", "../x"], "--name: '../x' cannot name a cluster", id="name that climbs"),
        pytest.param(["version", "-o", "xml"], "Invalid value for '-o'", id="format"),
        pytest.param(["completion", "tcsh"], "Invalid value for '{bash|zsh|fish}'", id="shell"),
        pytest.param(["kubeconfig", "--set-context"], "--set-context: no file to set it in", id="context"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(mockkube: Mockkube, arguments: list[str], message: str) -> None:
    answer = mockkube(*arguments)
    assert answer.code == 2
    assert answer.err.startswith(f"mockkube: {message}")
    assert answer.err.count("\n") == 1
    assert answer.out == ""


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)], ids=["json", "yaml"])
def test_version_for_programs(mockkube: Mockkube, output: str, read: Callable[[str], Any]) -> None:
    facts = read(mockkube("version", "-o", output).out)
    assert facts.items() >= {"kubernetes": "1.36", "kubernetesOldest": "1.33", "kubernetesNewest": "1.37"}.items()


def test_version_as_a_flag(mockkube: Mockkube) -> None:
    assert mockkube("--version").out == f"mockkube {version('mockkube')}\n"


def test_version_for_people(mockkube: Mockkube) -> None:
    answer = mockkube("version")
    assert answer.out.endswith("(Kubernetes 1.36 by default, 1.33 to 1.37)\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(mockkube: Mockkube, shell: str) -> None:
    answer = mockkube("completion", shell)
    assert answer.code == 0
    assert f"_MOCKKUBE_COMPLETE={shell}_complete" in answer.out


def test_status_of_nothing(mockkube: Mockkube) -> None:
    answer = mockkube("status")
    assert (answer.code, answer.out) == (1, "No clusters; start one with 'mockkube up'.\n")


def test_status_of_running_and_stopped_clusters(mockkube: Mockkube, lab: StateDirectory) -> None:
    running = StateDirectory(lab.path.parent / "busy")
    with StateLock(running):
        starting = mockkube("status", "--name", "busy", "-o", "json")
        pid = running.find_holder_pid()
        assert pid is not None
        RunningRecord(pid, "https://127.0.0.1:5", "1.35", "memory:", "/k").write(running)
        answer = mockkube("status")
        assert answer.code == 0
        assert [line.split() for line in answer.out.splitlines()] == [
            ["NAME", "STATE", "VERSION", "URL", "PID", "DATABASE"],
            ["busy", "Running", "1.35", "https://127.0.0.1:5", str(pid), "memory:"],
            ["lab", "Stopped"],
        ]
    assert (starting.code, json.loads(starting.out)[0]["state"]) == (1, "Starting")


def test_status_of_a_single_cluster_lists_its_components(mockkube: Mockkube, lab: StateDirectory) -> None:
    with StateLock(lab):
        components = (
            ComponentSummary("kube-apiserver", "1.35", True, "https://127.0.0.1:5"),
            ComponentSummary("kubelet", "1.34", False),
        )
        pid = lab.find_holder_pid()
        assert pid is not None
        record = RunningRecord(pid, "https://127.0.0.1:5", "1.36", "memory:", "/k")
        record.with_components(components).write(lab)
        told = mockkube("status").out.splitlines()
        [status] = json.loads(mockkube("status", "-o", "json").out)
    assert [line.split() for line in told[3:]] == [
        ["COMPONENT", "VERSION", "RUNNING", "URL"],
        ["kube-apiserver", "1.35", "true", "https://127.0.0.1:5"],
        ["kubelet", "1.34", "false"],
    ]
    assert status["components"][1] == {"name": "kubelet", "version": "1.34", "running": False, "url": ""}


def test_status_of_a_cluster_that_is_not_there(mockkube: Mockkube) -> None:
    answer = mockkube("status", "--name", "gone", "-o", "json")
    assert (answer.code, json.loads(answer.out)[0]["state"]) == (1, "Absent")


def test_the_variable_names_the_cluster(
    mockkube: Mockkube, lab: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCKKUBE_NAME", "lab")
    assert mockkube("kubeconfig").out == lab.kubeconfig.read_text()
    monkeypatch.setenv("MOCKKUBE_NAME", "../lab")
    assert mockkube("kubeconfig").err.startswith("mockkube: MOCKKUBE_NAME: '../lab' cannot name a cluster")


def test_kubeconfig_prints_the_file_or_its_path(mockkube: Mockkube, lab: StateDirectory) -> None:
    assert mockkube("kubeconfig", "--name", "lab").out == lab.kubeconfig.read_text()
    assert mockkube("kubeconfig", "--name", "lab", "--path").out == f"{lab.kubeconfig}\n"


def test_kubeconfig_of_a_cluster_that_never_was(mockkube: Mockkube) -> None:
    answer = mockkube("kubeconfig")
    assert answer.code == 1
    assert answer.err == "mockkube: no cluster 'default' was ever started: start it with 'mockkube up'\n"


def test_kubeconfig_is_merged_until_the_cluster_is_down(
    mockkube: Mockkube, lab: StateDirectory, tmp_path: Path
) -> None:
    path = tmp_path / "config"
    merged = mockkube("kubeconfig", "--name", "lab", "--merge", str(path), "--set-context")
    assert merged.out == f"Merged into {path}\n"
    assert yaml.safe_load(path.read_text())["current-context"] == "mockkube-lab"
    assert mockkube("down", "--name", "lab").out == "Cluster 'lab' was not running\n"
    assert yaml.safe_load(path.read_text())["current-context"] == ""


def test_down_deletes_only_when_told(mockkube: Mockkube, lab: StateDirectory) -> None:
    assert mockkube("down", "--name", "lab").code == 0
    assert lab.kubeconfig.exists()
    assert mockkube("down", "--name", "lab", "--delete").out.endswith(f"Deleted {lab.path}\n")
    assert not lab.path.exists()


def test_down_of_a_cluster_that_never_was_makes_nothing(mockkube: Mockkube, state: Path) -> None:
    answer = mockkube("down", "--name", "gone", "--delete")
    assert (answer.code, answer.out) == (0, "Cluster 'gone' was not running\n")
    assert not state.exists()


def test_without_a_command_the_help_is_shown(mockkube: Mockkube) -> None:
    answer = mockkube()
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == mockkube("--help").out


def test_status_leaves_out_what_holds_no_cluster(mockkube: Mockkube, state: Path) -> None:
    (state / "killed" / "certificates").mkdir(parents=True)
    assert mockkube("status").out == "No clusters; start one with 'mockkube up'.\n"
    assert json.loads(mockkube("status", "--name", "killed", "-o", "json").out)[0]["state"] == "Absent"
    assert mockkube("down", "--name", "killed").out == "Cluster 'killed' was not running\n"
    assert not (state / "killed").exists()
