"""mockkube's own components as processes of their own: one perturbation; `make perturb` tries all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.heavy
def test_controllers_scheduler_and_kubelets_get_over_a_crash_of_the_controllers() -> None:
    workload = ROOT / "conformance" / "perturb" / "components"
    options = ["--workload", str(workload), "--steps", "1", "--references", "1", "--quiet"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(
        [sys.executable, "-m", "mockkube", "perturb", *options, "--only", "crash/1/create-replicasets.apps-1"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "no findings in 1 perturbation (1 took place)" in run.stdout
