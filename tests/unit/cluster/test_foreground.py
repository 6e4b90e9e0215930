"""A process creates certificates where there is no CA, and only there."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.foreground import start_certificate_process
from mockkube.cluster.state.certificates import ensure_certificates
from mockkube.cluster.state.state_directory import StateDirectory, StateLock
from mockkube.runtime.clock import RealClock


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path / "default")


def starts(directory: StateDirectory, **fields: Any) -> bool:
    with ExitStack() as stack:
        return start_certificate_process(ClusterConfiguration(**fields), directory, stack) is not None


@pytest.mark.parametrize("db", [None, MEMORY], ids=["durable", "ephemeral"])
def test_a_new_cluster_has_a_process(directory: StateDirectory, db: str | None) -> None:
    assert starts(directory, db=db)


@pytest.mark.parametrize(
    "fields", [pytest.param({"tls": False}, id="plain HTTP"), pytest.param({"join": True}, id="joined")]
)
def test_what_needs_no_certificates_of_its_own_has_none(directory: StateDirectory, fields: dict[str, Any]) -> None:
    assert not starts(directory, **fields)


def test_an_authority_is_kept(directory: StateDirectory) -> None:
    ensure_certificates(directory.certificates, [], now=RealClock().now())
    assert not starts(directory)


def test_an_ephemeral_cluster_beside_a_running_one_has_a_process(directory: StateDirectory) -> None:
    ensure_certificates(directory.certificates, [], now=RealClock().now())
    with StateLock(directory):
        assert starts(directory, db=MEMORY)
        assert not starts(directory, db=MEMORY, given_settings=frozenset({"name"}))


def test_a_state_directory_that_cannot_be_read_is_left_to_its_lock(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert not starts(StateDirectory(tmp_path / "file" / "default"), db=MEMORY)
