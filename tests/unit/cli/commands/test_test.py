"""`mockkube test`, through the entry point."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from mockkube.cli.main import run

SCENARIO = """
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: one}
spec:
  cluster: {without: [scheduler, controllers, kubelets]}
  steps:
    - create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}
    - assert: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: %s}}
"""


@pytest.fixture
def played(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def play(text: str, *arguments: str) -> tuple[int, str, str]:
        path = tmp_path / "one.yaml"
        path.write_text(text)
        code = run(["test", str(path), "--workers", "1", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return play


def test_what_passes_ends_with_zero(played) -> None:
    code, out, _ = played(SCENARIO % "v")
    assert (code, out.splitlines()[-1]) == (0, "1 run as expected")


def test_a_cluster_that_runs_is_not_for_other_machines(played) -> None:
    code, _, err = played(SCENARIO % "v", "--dask", "tcp://127.0.0.1:1", "--against", "kubeconfig")
    assert (code, err) == (2, "mockkube: --against: other machines may not reach that cluster: leave out --dask\n")


def test_what_fails_ends_with_one_and_says_how_to_play_it_again(played) -> None:
    code, out, _ = played(SCENARIO % "w")
    assert code == 1
    assert "data.k: expected 'w', found 'v'" in out
    assert "replay: mockkube test" in out


def test_a_mistake_in_a_file_ends_with_two_and_names_the_line(played) -> None:
    code, _, err = played(SCENARIO.replace("assert:", "asert:") % "v")
    assert code == 2
    assert "one.yaml:9: spec.steps[1].asert: no step is called so: did you mean 'assert'?" in err


def test_gates_that_no_component_has_end_with_two(played) -> None:
    code, out, _ = played(SCENARIO.replace("{without", "{featureGates: {Nonsense: true}, without") % "v")
    assert code == 2
    assert "unrecognized feature gate: Nonsense" in out


def test_junit_tells_of_every_run(played, tmp_path: Path) -> None:
    played(SCENARIO % "w", "--junit", str(tmp_path / "junit.xml"))
    text = (tmp_path / "junit.xml").read_text()
    assert '<testsuites name="1 run: 1 failed" tests="1" failures="1" errors="0" skipped="0"' in text
    assert "<failure message=" in text


def test_traces_of_the_same_seed_are_the_same(played) -> None:
    one, two = (played(SCENARIO % "v", "--trace", "-", "--seed", "7")[1].partition("# one")[2] for _ in range(2))
    assert one == two
    assert "create core/configmaps default/a" in one


def test_the_schema_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["test", "--schema"]) == 0
    assert '"expectRejected"' in capsys.readouterr().out


def test_an_interrupt_ends_what_scenarios_have_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = (SCENARIO % "v").replace("steps:", "matrix: {n: [1, 2]}\n  steps:\n    - script: 'exec sleep 300 > pipe'")
    (tmp_path / "one.yaml").write_text(text)
    command = [sys.executable, "-m", "mockkube", "test", str(tmp_path / "one.yaml"), "--jobs", "2"]
    playing = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # a shell that started the tests in the background has told them, and whom they start, to ignore it
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    with (tmp_path / "pipe").open() as pipe:  # once a program has it open
        os.killpg(playing.pid, signal.SIGINT)
        assert playing.wait(60) == 130
        assert pipe.read() == ""  # no program has it open any more


def test_a_report_is_one_page(played, tmp_path: Path) -> None:
    played(SCENARIO % "v", "--report", str(tmp_path / "report.html"), "--picture", str(tmp_path / "answer.svg"))
    assert (tmp_path / "answer.svg").read_text().startswith("<svg")
    assert (tmp_path / "report.html").read_text().lower().startswith("<!doctype html>")


def test_every_file_with_a_mistake_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.yaml").write_text(SCENARIO % "v")
    (tmp_path / "unknown.yaml").write_text((SCENARIO % "v").replace("cluster:", "clutser:"))
    (tmp_path / "verb.yaml").write_text((SCENARIO % "v").replace("- create:", "- craete:"))
    (tmp_path / "chart.yaml").write_text("{{ not: [yaml")
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "bad.yaml").write_text((SCENARIO % "v").replace("cluster:", "clutser:"))
    assert run(["test", str(tmp_path), "--list"]) == 2
    first, *listed = capsys.readouterr().err.splitlines()
    assert first == "mockkube: 2 of 3 files cannot be run:"
    assert [line.split(":")[0].strip() for line in listed] == [
        str(tmp_path / "unknown.yaml"),
        str(tmp_path / "verb.yaml"),
    ]


def test_a_rollout_plan_is_sent_to_explore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("apiVersion: mockkube.dev/v1alpha1\nkind: RolloutPlan\nmetadata: {name: x}\n")
    assert run(["test", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"mockkube: {path}: a rollout plan, not a scenario: explore it with 'mockkube explore {path}'\n"
    )
