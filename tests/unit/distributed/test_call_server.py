"""The process that plays calls: its files, its proposals, its errors, and its end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from pickle import loads
from typing import Any

import pytest

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.distributed.call_server import CallResult, read_frame, write_frame
from mockkube.distributed.code_version import CodeVersion
from mockkube.distributed.run_environment import (
    FILES_BYTES_MAX,
    RunEnvironment,
    WorkerCall,
    dump_call,
    dump_environment,
    make_environment,
    pack_files,
)
from mockkube.proposals.loading import load_file, proposals_from_files

PROPOSAL = """
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.proposals.proposal import Proposal

PROPOSAL = Proposal(
    kep=9999, gate="Quiet", train=ReleaseTrain("Quiet", stages=(GateStage(Version(1, 36), Maturity.ALPHA, False),))
)
"""


class Process:
    def __init__(self, environment: RunEnvironment) -> None:
        command = "from mockkube.distributed.call_server import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
        )
        assert self.process.stdin
        assert self.process.stdout
        self.requests, self.answers = self.process.stdin, self.process.stdout
        write_frame(self.requests, dump_environment(environment))

    def call(self, function: Any, *arguments: Any, files: Any = ()) -> CallResult:
        write_frame(self.requests, dump_call(WorkerCall(function, arguments, files)))
        result = loads(read_frame(self.answers))
        assert isinstance(result, CallResult)
        return result


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOCKKUBE_PROPOSALS", raising=False)
    return tmp_path


@pytest.fixture
def start(place: Path) -> Iterator[Any]:
    started: list[Process] = []

    def start(environment: RunEnvironment | None = None) -> Process:
        started.append(Process(environment or make_environment("run")))
        return started[-1]

    yield start
    for one in started:
        one.requests.close()
        one.process.wait()
        one.answers.close()


def test_files_stand_at_the_same_place_below_another_root(start: Any, place: Path) -> None:
    (place / "folder").mkdir()
    (place / "folder" / "data.txt").write_text("content")
    process = start()
    files = pack_files([Path("folder/data.txt")])
    assert process.call(Path.read_text, Path("folder/data.txt"), files=files).value == "content"
    assert process.call(os.getcwd).value.endswith(str(place))
    assert process.call(os.getcwd).value != str(place)


def test_proposals_come_from_the_copy_of_their_file(start: Any, place: Path) -> None:
    (place / "quiet.py").write_text(PROPOSAL)
    with proposals_from_files(["quiet.py"]):
        process = start()
        [proposal] = load_file("quiet.py")
        found = process.call(getattr, proposal, "origin").value
        listed = process.call(os.getenv, "MOCKKUBE_PROPOSALS").value
    assert found == listed
    assert found.endswith(f"{place}/quiet.py")
    assert found != f"{place}/quiet.py"


def test_what_code_prints_is_no_answer(start: Any) -> None:
    process = start()
    assert process.call(print, "text").value is None
    assert process.call(int, "7").value == 7


def test_errors_come_back_and_the_next_call_is_played(start: Any) -> None:
    process = start()
    failed = process.call(int, "seven")
    assert isinstance(failed.error, ValueError)
    assert "invalid literal" in failed.bug
    assert process.call(int, "7").value == 7


def test_a_value_that_is_no_data_is_an_error(start: Any) -> None:
    assert "pickle" in start().call(eval, "lambda: 0").bug


def test_other_code_plays_nothing(start: Any) -> None:
    other = replace(make_environment("run"), code=CodeVersion("0.0.1", "", "3.11"))
    assert start(other).call(int, "7").mismatch.startswith("has mockkube")


def test_the_process_ends_with_its_input_and_leaves_no_file(
    start: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = place / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    process = start()
    assert Path(process.call(os.getcwd).value).is_relative_to(temporary)
    process.requests.close()
    assert process.process.wait() == 0
    assert list(temporary.iterdir()) == []


def test_an_interrupt_ends_the_process_quietly(start: Any) -> None:
    process = start()
    process.call(int, "7")
    process.process.send_signal(signal.SIGINT)
    assert process.process.wait() == 0


def test_files_that_are_too_large_are_refused(place: Path) -> None:
    with open("large", "wb") as file:
        file.truncate(FILES_BYTES_MAX + 1)
    with pytest.raises(ConfigurationError, match="larger than 32 MiB"):
        pack_files([Path("large")])
