"""The mutations still fit the code, and a sample of them is noticed; `make mutants` runs them all."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(RUN), *arguments], capture_output=True, text=True)


def test_the_text_of_every_mutation_occurs_once() -> None:
    done = _run("--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_every_mutation_has_a_name_of_its_own_and_a_scenario() -> None:
    program = (
        "from mutations import MUTATIONS; from pathlib import Path; "
        "names = [one.name for one in MUTATIONS]; assert len(set(names)) == len(names); "
        f"missing = [one.caught_by for one in MUTATIONS if not Path({str(RUN.parents[2] / 'conformance')!r}, "
        "one.caught_by).is_file()]; assert not missing, missing"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=RUN.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_sample_of_mutations_is_noticed_by_scenarios() -> None:
    done = _run("--sample")
    assert done.returncode == 0, done.stdout + done.stderr
