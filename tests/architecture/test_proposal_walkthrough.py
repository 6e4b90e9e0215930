"""Run the files and commands of docs/how-to/write-a-proposal.md and docs/proposals.md as they are written there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
_WALK = "".join((TOP / "docs" / page).read_text() for page in ("how-to/write-a-proposal.md", "proposals.md"))
_COMMANDS = [
    (command, shown)
    for block in re.findall(r"```console\n(.*?)```", _WALK, re.S)
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
]

pytestmark = pytest.mark.heavy  # starts processes that explore


def _named(kind: str) -> dict[str, str]:
    """Return the blocks of a language by the name of the file that the text before them gives."""
    return dict(re.findall(rf"`([\w/.]+)`[^`]*:\n\n```{kind}\n(.*?)```", _WALK, re.S))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with the files of the pages."""
    place = tmp_path_factory.mktemp("walk")
    for name, text in {**_named("python"), **_named("yaml")}.items():
        (place / name).write_text(text)
    _write_command(place)
    return place


def _write_command(place: Path) -> None:
    command = place / "bin" / "mockkube"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mockkube.cli "$@"\n')
    command.chmod(0o755)


def test_the_pages_have_files_and_commands() -> None:
    assert list(_named("python")) == ["prefix.py", "quiet.py"]
    assert list(_named("yaml")) == ["prefix.yaml", "rollout.yaml", "quiet.yaml"]
    assert [command.partition(".py ")[2].split()[0] for command, _ in _COMMANDS] == [
        "eval", "eval", "eval", "test", "explore", "explore", "test",
    ]  # fmt: skip


@pytest.mark.parametrize(("command", "shown"), _COMMANDS, ids=[command for command, _ in _COMMANDS])
def test_a_command_prints_the_output_of_the_page(place: Path, command: str, shown: str) -> None:
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(TOP), "COLUMNS": "200"}
    done = subprocess.run(command, shell=True, cwd=place, env=environment, capture_output=True, text=True)
    assert _pattern(shown).fullmatch(done.stdout), done.stdout + done.stderr


def _pattern(shown: str) -> re.Pattern[str]:
    """Return what matches a text in which `...` on a line of its own stands for any lines."""
    lines = [r"(?:.*\n)*?" if line == "...\n" else re.escape(line) for line in shown.splitlines(keepends=True)]
    return re.compile("".join(lines))
