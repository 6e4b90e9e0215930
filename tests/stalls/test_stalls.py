"""No request holds the event loop for long, whatever it contains: `make stalls` with what it says as a test."""

import subprocess
import sys
from pathlib import Path

import pytest

REVIEWED = "review"
"""Cases of the first attacks: the whole corpus takes ten minutes."""


def play(*names: str) -> str:
    command = [sys.executable, str(Path(__file__).with_name("run.py")), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    return done.stdout


@pytest.mark.heavy
@pytest.mark.timeout(900)
def test_known_attacks_do_not_hold_the_loop() -> None:
    said = play(REVIEWED)
    assert "longest stall: " in said
    assert "peak memory: " in said


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_third_case_of_the_corpus_holds_the_loop() -> None:
    # The whole corpus takes ten minutes: `make stalls`.
    said = play("--every", "3")
    assert said.count(" MiB ") > 80
