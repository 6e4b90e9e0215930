"""Every command of README, typed into a shell in a new home, does what stands below it; so do those of other pages."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text()
DEVELOP: Final = README.index("## Develop")
"""From here on commands run these tests themselves."""
_BLOCK: Final = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE: Final = re.compile(r"`([\w.]+)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NO: Final = frozenset(("explore", "why", "scan"))
"""What exits with 1 when the answer is no."""
_END: Final = "@@ ended with"

Commands = list[tuple[str, str]]


def commands_of(text: str) -> Commands:
    """Return the commands of the console blocks of a text, each with what is shown below it."""
    blocks = "".join(_BLOCK.findall(text))
    return re.findall(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", blocks, re.MULTILINE)


def pattern_of(shown: str) -> re.Pattern[str]:
    """Return what matches an output: `...` stands for any lines, numbers for any numbers, blanks for any blanks."""
    lines = []
    for line in shown.splitlines():
        words = [re.sub(r"\d+[smh]?", r"\\d+(?:[smh]\\d*s?)?", re.escape(word)) for word in line.split()]
        lines.append(r"(?:.*\n)*?" if line == "..." else r"\s*" + r"\s+".join(words) + r"\s*?\n")
    return re.compile("".join(lines))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that looks like a checkout to who types in it: the files of README and `.venv` are there."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name, text in _FILE.findall(README):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def environment(place: Path) -> dict[str, str]:
    """The environment of a login shell: a home of its own, and nothing of a virtual environment."""
    own = os.path.dirname(sys.executable)
    path = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep) if folder != own)
    # the port of README may be taken on this machine
    return {"PATH": path, "HOME": str(place), "MOCKKUBE_PORT": "0", "LANG": "C.UTF-8", "COLUMNS": "200"}


@contextmanager
def running(command: str, place: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run what `make up` runs, as in a terminal of its own; yield the first line that it prints."""
    arguments = re.fullmatch(r"make up ARGS='(.*)'", command)
    assert arguments is not None, command
    started = ["bash", "-c", f"exec .venv/bin/mockkube up {arguments[1]}"]
    with subprocess.Popen(started, stdout=subprocess.PIPE, text=True, cwd=place, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.terminate()
            process.wait(30)


def type_in(commands: Commands, place: Path, environment: dict[str, str]) -> list[str]:
    """Type commands into one shell; return what is not as it stands below them."""
    script = "".join(f'{command}\necho "{_END} $?"\n' for command, _ in commands)
    done = subprocess.run(
        ["bash"], input=script, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=500
    )
    answers = re.findall(rf"(.*?){_END} (\d+)\n", done.stdout, re.DOTALL)
    assert len(answers) == len(commands), done.stdout + done.stderr
    wrong = [
        f"$ {command}\nexit code {code}\n{out}"
        for (command, shown), (out, code) in zip(commands, answers, strict=True)
        if not pattern_of(shown).fullmatch(out) or int(code) > (not _NO.isdisjoint(command.split()))
    ]
    return [*wrong, done.stderr] if wrong else wrong


def test_readme_works_as_pasted(place: Path, environment: dict[str, str]) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl on the path, which half of README needs")
    (start, shown), *commands = commands_of(README[:DEVELOP])
    assert len(commands) > 15
    with running(start, place, environment) as first:
        assert pattern_of(shown.splitlines()[0]).fullmatch(first)
        assert type_in(commands, place, environment) == []


def test_readme_works_as_pasted_without_kubectl(place: Path, environment: dict[str, str]) -> None:
    (start, _), *commands = commands_of(README[:DEVELOP])
    chosen = [one for one in commands if not {"kubectl", "why", "explore", "pip"} & set(one[0].split())]
    with running(start, place, environment):
        assert type_in(chosen, place, environment) == []


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("commands.md", "## mockkube test"),
        ("commands.md", "## mockkube examples"),
        pytest.param("commands.md", "## mockkube explore", marks=pytest.mark.slow),
        ("testing.md", "## Other languages"),
    ],
)
def test_a_page_works_as_pasted(page: str, heading: str, place: Path, environment: dict[str, str]) -> None:
    text = (ROOT / "docs" / page).read_text().partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    commands = commands_of(text)
    assert commands
    environment["PATH"] = f"{place / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    assert type_in(commands, place, environment) == []


def test_what_readme_says_to_make_there_is() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = [command.split()[1] for command, _ in commands_of(README) if command.startswith("make ")]
    assert {"up", "test", "quick", "lint"} == set(named) <= set(targets)
