"""The day of a busy cluster, in short: its trace is the same in every run."""

import subprocess
import sys
from pathlib import Path


def test_two_runs_of_a_busy_cluster_write_the_same() -> None:
    script = str(Path(__file__).with_name("day.py"))
    command = [sys.executable, script, "--nodes", "5", "--periods", "2", "--pods", "3000", "--runs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (line.split()[-1] for line in done.stdout.splitlines() if "trace" in line)
    assert first == second
