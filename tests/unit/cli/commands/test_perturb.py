"""`mockkube perturb` as a user types it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Mockkube = Callable[..., Any]
PROOF = Path(__file__).parents[3] / "perturb"
OPERATOR = str(PROOF / "operators" / "two_writes.py")
CRASH = "crash/1/create-configmaps-1"


def perturb(mockkube: Mockkube, *arguments: str, operator: tuple[str, ...] = (sys.executable, OPERATOR)) -> Any:
    workload = ("--workload", str(PROOF / "workloads" / "create"))
    return mockkube("perturb", *workload, "--references", "1", *arguments, "--", *operator)


def test_a_mistake_in_the_workload_is_named(mockkube: Mockkube, tmp_path: Path) -> None:
    answer = mockkube("perturb", "--workload", str(tmp_path))
    assert (answer.code, "no controller: give its command after --" in answer.err) == (2, True)


def test_a_program_that_does_not_exist_is_named(mockkube: Mockkube) -> None:
    answer = perturb(mockkube, operator=("./no-such-program",))
    assert answer.code == 2
    assert "./no-such-program: No such file or directory: give a program that can be started" in answer.err


@pytest.mark.slow
@pytest.mark.heavy
class TestFindings:
    def test_they_are_shown_with_the_command_that_repeats_them(self, mockkube: Mockkube, tmp_path: Path) -> None:
        files = {flag: tmp_path / flag for flag in ("junit", "report", "markdown")}
        files["picture"] = tmp_path / "answer.svg"
        options = [word for flag, path in files.items() for word in (f"--{flag}", str(path))]
        answer = perturb(mockkube, "--only", CRASH, "--verbose", *options)
        assert answer.code == 1
        assert f"1. {CRASH}: controller is killed after its first create of configmaps in default" in answer.out
        assert "object lost: services default/db is missing" in answer.out
        assert "in 2 of 2 runs" in answer.out
        assert "controller     is killed" in answer.out
        assert f"--only {CRASH} --seed 0 -- {sys.executable} {OPERATOR}" in answer.out
        assert answer.out.splitlines()[-1].startswith("1 finding in 1 perturbation")

        cases = ElementTree.parse(files["junit"]).getroot().findall("*/testcase")
        assert [(case.get("name"), case.find("failure") is not None) for case in cases] == [
            ("undisturbed", False),
            (CRASH, True),
        ]
        assert "The controller does not recover from 1 of 1" in files["picture"].read_text()
        for flag in ("report", "markdown"):
            text = files[flag].read_text()
            assert CRASH in text
            assert "services default/db is missing" in text
            assert "create configmaps default/db-config" in text  # the timeline

    def test_perturbations_can_be_listed(self, mockkube: Mockkube) -> None:
        answer = perturb(mockkube, "--list")
        listed = [line.partition(":")[0] for line in answer.out.splitlines()]
        assert answer.code == 0
        assert {CRASH, "timeout/1/create-services-1", "lag/1/databases.example.com", "restart/1"} <= set(listed)

    def test_an_unknown_one_is_refused(self, mockkube: Mockkube) -> None:
        answer = perturb(mockkube, "--only", "crash/1/create-configmap-1")
        assert (answer.code, f"did you mean {CRASH}" in answer.err) == (2, True)

    def test_a_workload_that_fails_undisturbed_is_refused(self, mockkube: Mockkube, tmp_path: Path) -> None:
        (tmp_path / "perturb.yaml").write_text(
            "apiVersion: mockkube.dev/v1alpha1\nkind: PerturbWorkload\nspec:\n"
            "  cluster: {without: [scheduler, controllers, kubelets]}\n  timeout: 2s\n  patience: 1s\n"
            "  steps: [{delete: {ref: Nonsense/a}}]\n"
        )
        program = "import time; print('here I am', flush=True); time.sleep(60)"
        answer = mockkube("perturb", "--workload", str(tmp_path), "--", sys.executable, "-c", program)
        assert answer.code == 2
        assert "fails without any perturbation: the controller sends no request" in answer.err
        assert "here I am" in answer.err


@pytest.mark.heavy
def test_a_signal_ends_the_controller_too(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    program = f"import os, pathlib, time; pathlib.Path({str(started)!r}).write_text(str(os.getpid())); time.sleep(600)"
    command = [sys.executable, "-m", "mockkube", "perturb", "--workload", str(PROOF / "workloads" / "create")]
    with subprocess.Popen([*command, "--", sys.executable, "-c", program], stderr=subprocess.DEVNULL) as session:
        while not (started.exists() and started.read_text()):
            assert session.poll() is None
            time.sleep(0.05)
        session.terminate()
        assert session.wait(30) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
