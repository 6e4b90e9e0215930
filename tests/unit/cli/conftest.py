"""The command line as a user types it, in a home of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mockkube.cli.main import run


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where clusters keep their directories."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MOCKKUBE_NAME", raising=False)
    return tmp_path / "state" / "mockkube"


@pytest.fixture
def mockkube(state: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def call(*arguments: str) -> Answer:
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return Answer(code, out, err)

    return call
