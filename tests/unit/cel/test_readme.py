"""The README of the CEL package runs as written."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[3] / "cel" / "README.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    exec(compile(example, str(README), "exec"), {})
    estimate, outcome, error, *_ = capsys.readouterr().out.splitlines()
    value, cost = outcome.split()
    assert value == "True"
    assert 0 < int(cost) <= int(estimate)
    assert error.startswith("compilation failed: ERROR: <input>:1:1: undeclared reference to 'nme'")
