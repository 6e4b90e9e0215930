"""Kubeconfigs: the cluster's own, and its entries in a file of the user, who loses nothing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.certificates import Certificates
from mockkube.cluster.state.kubeconfig import (
    LOCK_ATTEMPTS_MAX,
    KubeconfigEntries,
    merge_into_kubeconfig,
    remove_from_kubeconfig,
    render_kubeconfig,
)
from mockkube.runtime.clock import Clock, RealClock

OWN = render_kubeconfig(KubeconfigEntries("lab", "http://127.0.0.1:1", token='q"uoted'))
USERS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "preferences": {"colors": True},
    "clusters": [{"name": "prod", "cluster": {"server": "https://prod"}}],
    "users": [{"name": "prod", "user": {"token": "t"}}],
    "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "prod"}}],
    "current-context": "prod",
}


class ImpatientClock(RealClock):
    """Counts the sleeps and takes none."""

    sleeps = 0

    async def sleep(self, seconds: float) -> None:
        self.sleeps += 1


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(USERS))
    return path


def merge(path: Path, own: str, *, set_context: bool, clock: Clock | None = None) -> str | None:
    return asyncio.run(merge_into_kubeconfig(path, own, set_context=set_context, clock=clock or RealClock()))


def remove(path: Path, context: str, *, previous_context: str | None) -> None:
    asyncio.run(remove_from_kubeconfig(path, context, previous_context=previous_context, clock=RealClock()))


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def names(config: Any, section: str) -> list[str]:
    return [entry["name"] for entry in config[section]]


def test_the_own_file_without_tls_carries_the_token() -> None:
    config = yaml.safe_load(OWN)
    assert config["clusters"] == [{"name": "mockkube-lab", "cluster": {"server": "http://127.0.0.1:1"}}]
    assert config["users"] == [{"name": "mockkube-lab", "user": {"token": 'q"uoted'}}]
    context = {"cluster": "mockkube-lab", "user": "mockkube-lab"}
    assert config["contexts"] == [{"name": "mockkube-lab", "context": context}]
    assert config["current-context"] == "mockkube-lab"


def test_the_own_file_with_tls_carries_the_certificates(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    for path in certificates.all_files():
        path.write_text(path.name)
    config = yaml.safe_load(render_kubeconfig(KubeconfigEntries("lab", "https://127.0.0.1:1", certificates, "secret")))
    assert config["clusters"][0]["cluster"]["certificate-authority-data"] == "Y2EuY3J0"
    assert config["users"][0]["user"] == {
        "client-certificate-data": "YWRtaW4uY3J0",
        "client-key-data": "YWRtaW4ua2V5",
    }


def test_merging_keeps_what_is_there_and_the_current_context(users: Path) -> None:
    assert merge(users, OWN, set_context=False) == "prod"
    config = load(users)
    for section in ("clusters", "users", "contexts"):
        assert names(config, section) == ["prod", "mockkube-lab"]
    assert config["current-context"] == "prod"
    assert config["preferences"] == {"colors": True}


def test_merging_again_replaces_the_entries(users: Path) -> None:
    other = render_kubeconfig(KubeconfigEntries("lab", "http://127.0.0.1:2"))
    for own in (OWN, other):
        merge(users, own, set_context=False)
    config = load(users)
    assert names(config, "clusters") == ["prod", "mockkube-lab"]
    assert config["clusters"][1]["cluster"]["server"] == "http://127.0.0.1:2"


def test_the_current_context_changes_only_when_asked_and_comes_back(users: Path) -> None:
    previous = merge(users, OWN, set_context=True)
    assert load(users)["current-context"] == "mockkube-lab"
    remove(users, "mockkube-lab", previous_context=previous)
    assert load(users) == USERS


def test_removing_leaves_a_context_chosen_since_then(users: Path) -> None:
    merge(users, OWN, set_context=True)
    users.write_text(yaml.safe_dump(load(users) | {"current-context": "prod"}))
    remove(users, "mockkube-lab", previous_context=None)
    assert load(users) == USERS


def test_removing_where_the_previous_context_is_gone_leaves_none(users: Path) -> None:
    merge(users, OWN, set_context=True)
    remove(users, "mockkube-lab", previous_context="dropped")
    assert load(users)["current-context"] == ""


def test_a_file_that_is_not_there_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config"
    assert merge(path, OWN, set_context=True) is None
    assert load(path)["current-context"] == "mockkube-lab"
    assert path.stat().st_mode & 0o777 == 0o600


def test_removing_from_a_file_that_is_gone_does_nothing(tmp_path: Path) -> None:
    remove(tmp_path / "gone", "mockkube-lab", previous_context=None)
    assert list(tmp_path.iterdir()) == []


def test_mode_and_link_of_the_file_stay(users: Path, tmp_path: Path) -> None:
    users.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(users)
    merge(link, OWN, set_context=False)
    assert link.is_symlink()
    assert users.stat().st_mode & 0o777 == 0o640
    assert names(load(users), "users") == ["prod", "mockkube-lab"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param("{", "not valid YAML", id="no YAML"),
        pytest.param("- 1", "not a kubeconfig", id="a list"),
        pytest.param("users: {a: b}", "not a kubeconfig", id="users that are no list"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_left_as_it_is(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(StartError, match=f"kubeconfig {path}: {why}: mend it, or give another"):
        merge(path, OWN, set_context=False)
    assert path.read_text() == content
    assert list(tmp_path.iterdir()) == [path]


def test_another_program_that_changes_the_file_is_waited_for_and_then_named(users: Path) -> None:
    lock = users.with_name("config.lock")
    lock.touch()
    clock = ImpatientClock()
    before = users.read_text()
    with pytest.raises(StartError, match=r"another program is changing it \(.*config\.lock exists\)"):
        merge(users, OWN, set_context=False, clock=clock)
    assert clock.sleeps == LOCK_ATTEMPTS_MAX - 1
    assert lock.exists()
    assert users.read_text() == before
