"""Names the server is certified for, and what is kept between starts."""

import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mockkube.cluster.api_servers.credentials import Credentials
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.server_names import find_machine_names
from mockkube.cluster.state.state_directory import StateDirectory
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random


class NoonClock(RealClock):
    """Stands still."""

    def now(self) -> datetime:
        return datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path)


def keep(directory: StateDirectory, *, token: str | None = None, tls: bool = False) -> Credentials:
    configuration = ClusterConfiguration(tls=tls, token=token)
    return Credentials.load_or_create(configuration, directory, clock=NoonClock(), random=Random())


def test_an_address_is_certified_as_it_is() -> None:
    assert find_machine_names("192.0.2.1") == ["192.0.2.1"]


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_on_every_address_the_name_of_the_machine_is_certified(wildcard: str) -> None:
    names = find_machine_names(wildcard)
    assert names[0] == socket.gethostname()
    assert wildcard not in names


def test_a_drawn_token_is_kept_in_private(directory: StateDirectory) -> None:
    token = keep(directory).token
    assert keep(directory).token == token
    assert directory.token.stat().st_mode & 0o777 == 0o600


def test_a_given_token_is_used_and_not_kept(directory: StateDirectory) -> None:
    assert keep(directory, token="given").token == "given"
    assert not directory.token.exists()


def test_without_tls_there_are_no_certificates(directory: StateDirectory) -> None:
    assert keep(directory).certificates is None
    assert keep(directory).make_tls_context() is None
    assert not directory.certificates.exists()


def test_a_directory_that_cannot_be_written_is_named(directory: StateDirectory) -> None:
    directory.certificates.write_text("in the way")
    with pytest.raises(StartError, match=r"state directory .*: make it writable"):
        keep(directory, tls=True)
