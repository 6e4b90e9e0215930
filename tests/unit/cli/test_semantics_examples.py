"""The examples of docs/semantics.md: what is typed there answers what is written there."""

import io
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_PAGE = (Path(__file__).parents[3] / "docs" / "semantics.md").read_text()
_EXAMPLES = [
    (command, shown)
    for block in re.findall(r"```console\n(.*?)```", _PAGE, re.S)
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
]


def test_the_page_has_examples() -> None:
    assert len(_EXAMPLES) >= 8


@pytest.mark.parametrize(("line", "shown"), _EXAMPLES, ids=[line for line, _ in _EXAMPLES])
def test_an_example_answers_as_written(
    mockkube: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, line: str, shown: str
) -> None:
    *before, command = re.split(r" \| (?=mockkube)", line)
    given = shlex.split(before[0])[1] if before else ""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    assert mockkube(*shlex.split(command)[1:]).out == shown
