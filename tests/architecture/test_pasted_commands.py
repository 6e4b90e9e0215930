"""Run the commands of README and of the pages of docs as a user pastes them, and compare their output with the page."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
README: Final = (ROOT / "README.md").read_text()
# From here on, the commands of README would run these tests.
DEVELOP: Final = README.index("## Develop")
_BLOCK: Final = re.compile(r"^( *)```console\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_FILE: Final = re.compile(r"`([\w-]+\.(?:py|yaml))`[^`]*:\n\n```(?:python|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# `make dist` runs the commands of README in an environment into which it has installed the wheel.
ENVIRONMENT: Final = os.environ.get("MOCKKUBE_TEST_ENVIRONMENT", sys.prefix)
# Commands that exit with 1 when the answer is no.
_NO: Final = frozenset(("explore", "why", "scan"))
HOW_TO: Final = (
    "debug-with-logs-and-metrics",
    "inject-faults",
    "rehearse-an-upgrade",
    "run-in-ci",
    "test-with-pytest",
    "use-other-languages",
    "use-virtual-time",
)
_END: Final = "@@ ended with"

Commands = list[tuple[str, str]]


def commands_of(text: str) -> Commands:
    """Return the commands of the console blocks of a text, each with the output shown below it."""
    blocks = "".join(textwrap.dedent(block) for _, block in _BLOCK.findall(text))
    return re.findall(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", blocks, re.MULTILINE)


def write_files(text: str, place: Path) -> None:
    """Write the files that a page asks its reader to save."""
    for name, content in _FILE.findall(text):
        (place / name).write_text(content)


def pattern_of(shown: str) -> re.Pattern[str]:
    """Return a pattern of an output: `...` matches any lines, a number any number, spaces any spaces."""
    lines = []
    for line in shown.splitlines():
        words = [re.sub(r"\d+[smh]?", r"\\d+(?:[smh]\\d*s?)?", re.escape(word)) for word in line.split()]
        lines.append(r"(?:.*\n)*?" if line == "..." else r"\s*" + r"\s+".join(words) + r"\s*?\n")
    return re.compile("".join(lines))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty home directory with `.venv`, as in a checkout."""
    (tmp_path / ".venv").symlink_to(ENVIRONMENT)
    return tmp_path


@pytest.fixture
def environment(place: Path) -> dict[str, str]:
    """The environment of a login shell, without a virtual environment."""
    own = os.path.dirname(sys.executable)
    path = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep) if folder != own)
    # The port that the pages name may be in use on this machine.
    return {"PATH": path, "HOME": str(place), "MOCKKUBE_PORT": "0", "LANG": "C.UTF-8", "COLUMNS": "200"}


@contextmanager
def running(command: str, place: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run the command of `make up` as in a terminal of its own; yield the first line of its output."""
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
    """Run commands in one shell; return those whose output differs from the page."""
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


def needs_kubectl(commands: Commands) -> bool:
    return any("kubectl" in command.split() for command, _ in commands)


@pytest.mark.slow
def test_readme_works_as_pasted(place: Path, environment: dict[str, str]) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl on the path, and README uses it")
    write_files(README, place)
    (start, shown), *commands = commands_of(README[:DEVELOP])
    assert len(commands) > 15
    with running(start, place, environment) as first:
        assert pattern_of(shown.splitlines()[0]).fullmatch(first)
        assert type_in(commands, place, environment) == []


def test_readme_works_as_pasted_without_kubectl(place: Path, environment: dict[str, str]) -> None:
    write_files(README, place)
    (start, _), *commands = commands_of(README[:DEVELOP])
    chosen = [one for one in commands if not {"kubectl", "why", "explore", "pip"} & set(one[0].split())]
    with running(start, place, environment):
        assert type_in(chosen, place, environment) == []


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("commands.md", "## mockkube test"),
        ("commands.md", "## mockkube examples"),
        ("testing.md", ""),
        pytest.param("commands.md", "## mockkube explore", marks=pytest.mark.slow),
        pytest.param("tutorial.md", "", marks=pytest.mark.slow),
        *[(f"how-to/{stem}.md", "") for stem in HOW_TO],
    ],
)
def test_a_page_works_as_pasted(page: str, heading: str, place: Path, environment: dict[str, str]) -> None:
    text = (DOCS / page).read_text()
    if heading:
        text = text.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    commands = commands_of(text)
    assert commands
    if needs_kubectl(commands) and shutil.which("kubectl") is None:
        pytest.skip("no kubectl on the path, and the page uses it")
    write_files(text, place)
    environment["PATH"] = f"{place / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    with nullcontext() if not commands[0][0].startswith("make up") else running(commands.pop(0)[0], place, environment):
        assert type_in(commands, place, environment) == []


def test_every_how_to_guide_with_commands_is_run() -> None:
    pages = {path.stem for path in (DOCS / "how-to").glob("*.md") if commands_of(path.read_text())}
    assert pages - {"write-a-proposal"} == set(HOW_TO)  # test_proposal_walkthrough.py runs that one


def test_targets_of_make_that_readme_names_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = [command.split()[1] for command, _ in commands_of(README) if command.startswith("make ")]
    assert {"up", "test", "quick", "lint"} == set(named) <= set(targets)
