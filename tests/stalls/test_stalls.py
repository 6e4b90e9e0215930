"""No request holds the event loop for long, whatever it contains: `make stalls` with what it says as a test."""

import subprocess
import sys
from pathlib import Path

import pytest


def play(*arguments: str) -> str:
    command = [sys.executable, str(Path(__file__).with_name("run.py")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    return done.stdout


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_floods_of_frames_do_not_hold_the_loop() -> None:
    said = play("HTTP/2")
    assert "longest stall: " in said
    assert "peak memory: " in said


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_known_attacks_do_not_hold_the_loop_over_http2() -> None:
    play("review", "--http2")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_third_case_of_the_corpus_holds_the_loop() -> None:
    # The whole corpus takes ten minutes: `make stalls`.
    said = play("--every", "3")
    assert said.count(" MiB ") > 80
