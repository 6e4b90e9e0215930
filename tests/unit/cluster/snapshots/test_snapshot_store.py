"""Where snapshots are kept: the same in files and in memory."""

from pathlib import Path

import pytest

from mockkube.cluster.snapshots.snapshot_store import FileSnapshotStore, MemorySnapshotStore, SnapshotStore


@pytest.fixture(params=["memory", "files"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> SnapshotStore:
    return MemorySnapshotStore() if request.param == "memory" else FileSnapshotStore(tmp_path / "snapshots")


def test_what_is_kept_is_fetched(vault: SnapshotStore) -> None:
    vault.save("a", b"1")
    vault.save("a", b"2")
    assert (vault.load("a"), vault.load("b")) == (b"2", None)


def test_what_is_not_retained_is_gone(vault: SnapshotStore) -> None:
    vault.delete_except(["a"])
    vault.save("a", b"1")
    vault.save("b", b"1")
    vault.delete_except(["b", "c"])
    assert (vault.load("a"), vault.load("b")) == (None, b"1")


def test_nobody_else_can_read_the_files(tmp_path: Path) -> None:
    FileSnapshotStore(tmp_path / "snapshots").save("a", b"1")
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "snapshots", tmp_path / "snapshots" / "a")]
    assert modes == [0o700, 0o600]
