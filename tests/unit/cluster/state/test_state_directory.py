"""One directory per cluster, one process at a time."""

import errno
import os
from pathlib import Path

import pytest

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.state_directory import RunningRecord, StateDirectory, StateLock, redact_url, state_root

RECORD = RunningRecord(pid=1, url="https://127.0.0.1:1", version="1.36", database="memory:", kubeconfig="/k")


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        pytest.param({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/mockkube", id="XDG_STATE_HOME"),
        pytest.param({"XDG_STATE_HOME": "s", "HOME": "/h"}, "/h/.local/state/mockkube", id="a relative one is ignored"),
        pytest.param({"HOME": "/h"}, "/h/.local/state/mockkube", id="the home directory"),
    ],
)
def test_where_state_is_kept(environment: dict[str, str], root: str) -> None:
    assert state_root(environment) == Path(root)


def test_the_lock_names_its_holder_and_is_private(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "a" / "lab")
    assert directory.find_holder_pid() is None
    with StateLock(directory):
        assert directory.find_holder_pid() == os.getpid()
        assert directory.path.stat().st_mode & 0o777 == 0o700
    assert directory.find_holder_pid() is None


def test_a_second_holder_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "lab")
    with StateLock(directory):
        RECORD.write(directory)
        with pytest.raises(StartError, match=rf"cluster 'lab' is already running by process {os.getpid()}: stop it"):
            StateLock(directory).__enter__()
        assert directory.find_holder_pid() == os.getpid()
        assert RunningRecord.read(directory) == RECORD


def test_what_is_said_of_a_running_cluster_ends_with_it(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "lab")
    with StateLock(directory):
        RECORD.write(directory)
    assert RunningRecord.read(directory) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', '{"unknown": 1}'])
def test_a_record_that_cannot_be_read_is_no_record(tmp_path: Path, content: str) -> None:
    directory = StateDirectory(tmp_path)
    directory.running.write_text(content)
    assert RunningRecord.read(directory) is None


def test_a_state_directory_that_cannot_be_made_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match=r"state directory .*file/lab: .*: make it writable, or set XDG_STATE_HOME"):
        StateLock(StateDirectory(tmp_path / "file" / "lab")).__enter__()


def test_the_token_is_kept(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    assert directory.load_token() is None
    directory.token.write_text("abc\n")
    assert directory.load_token() == "abc"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("postgresql://jo:s3cret@db/lab", "postgresql://jo@db/lab", id="password"),
        pytest.param("postgresql://jo:s3:cr@et@db/lab", "postgresql://jo@db/lab", id="password with signs"),
        pytest.param("postgresql://jo@db/lab?password=s3cret", "postgresql://jo@db/lab", id="password as an option"),
        pytest.param("sqlite:////var/lab.db", "sqlite:////var/lab.db", id="a file"),
        pytest.param("/var/lab.db", "/var/lab.db", id="a path"),
        pytest.param("memory:", "memory:", id="memory"),
    ],
)
def test_a_database_is_shown_without_its_password(url: str, shown: str) -> None:
    assert redact_url(url) == shown


def test_keys_that_no_database_belongs_to_go_with_the_lock(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "lab")
    with StateLock(directory) as lock:
        lock.keep_files()
        directory.token.write_text("abc")
        directory.certificates.mkdir()
        (directory.certificates / "ca.crt").write_text("")
    assert not directory.path.exists()


def test_a_cluster_that_has_started_keeps_its_database_and_keys(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "lab")
    with StateLock(directory) as lock:
        lock.keep_files()
        directory.token.write_text("abc")
        directory.control.write_text("")
    assert directory.load_token() == "abc"
    assert directory.is_durable()


def test_a_first_start_that_is_refused_leaves_nothing_of_ours(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "lab")
    with StateLock(directory):
        directory.database.write_text("")
        directory.database.with_name("cluster.db-wal").write_text("")
        directory.token.write_text("abc")
        (directory.path / "notes.txt").write_text("mine")
    assert [path.name for path in directory.path.iterdir()] == ["notes.txt"]


def test_a_later_start_that_is_refused_leaves_what_there_was(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "lab")
    directory.path.mkdir()
    directory.database.write_text("objects")
    with StateLock(directory):
        pass
    assert directory.database.read_text() == "objects"


def test_a_full_disk_is_named_and_nothing_stays_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = StateDirectory(tmp_path / "lab")

    def write(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", write)
        with pytest.raises(StartError, match="No space left on device: free some space, or set XDG_STATE_HOME to one"):
            StateLock(directory).__enter__()
    assert not directory.path.exists()
    with StateLock(directory):
        assert directory.find_holder_pid() == os.getpid()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux has /proc")
def test_a_directory_that_cannot_be_made_is_named_at_once() -> None:
    with pytest.raises(StartError, match=r"state directory /proc/mockkube/lab: .* set XDG_STATE_HOME"):
        StateLock(StateDirectory(Path("/proc/mockkube/lab"))).__enter__()
