"""Where snapshots are kept: the same in files and in memory."""

from pathlib import Path

import pytest

from mockkube.cluster.vault import FileVault, MemoryVault, Vault


@pytest.fixture(params=["memory", "files"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Vault:
    return MemoryVault() if request.param == "memory" else FileVault(tmp_path / "snapshots")


def test_what_is_kept_is_fetched(vault: Vault) -> None:
    vault.keep("a", b"1")
    vault.keep("a", b"2")
    assert (vault.fetch("a"), vault.fetch("b")) == (b"2", None)


def test_what_is_not_retained_is_gone(vault: Vault) -> None:
    vault.retain(["a"])
    vault.keep("a", b"1")
    vault.keep("b", b"1")
    vault.retain(["b", "c"])
    assert (vault.fetch("a"), vault.fetch("b")) == (None, b"1")


def test_nobody_else_can_read_the_files(tmp_path: Path) -> None:
    FileVault(tmp_path / "snapshots").keep("a", b"1")
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "snapshots", tmp_path / "snapshots" / "a")]
    assert modes == [0o700, 0o600]
