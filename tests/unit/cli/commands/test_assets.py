"""`mockkube assets` as a user types it; tests/clients/test_assets.py starts what it writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Mockkube = Callable[..., Any]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "cache" / "mockkube" / "assets"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([], "1.36"),
        (["--version", "1.35"], "1.35"),
        (["--controllers"], "1.36-controllers"),
        (["--nodes", "3"], "1.36-3-nodes"),
    ],
)
def test_each_kind_has_a_directory_of_its_own(mockkube: Mockkube, cache: Path, arguments: list[str], name: str) -> None:
    answer = mockkube("assets", *arguments)
    assert (answer.code, answer.out) == (0, f"{cache / name}\n")
    assert sorted(path.name for path in (cache / name).iterdir()) == ["etcd", "kube-apiserver"]
    assert (cache / name / "etcd").stat().st_mode & 0o777 == 0o755


def test_the_kubectl_of_the_machine_is_linked(mockkube: Mockkube, tmp_path: Path) -> None:
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text("#!/bin/sh\n")
    kubectl.chmod(0o755)
    for _ in range(2):  # the second time in the place of the first
        assert mockkube("assets", str(tmp_path / "assets")).code == 0
    assert (tmp_path / "assets" / "kubectl").resolve() == kubectl


def test_what_is_wrong_is_said(mockkube: Mockkube, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = mockkube("assets", str(tmp_path / "file"))
    assert (answer.code, answer.out) == (3, "")
    assert "give a directory that can be written" in answer.err
    assert mockkube("assets", "--version", "1.99").code == 2
    assert mockkube("assets", "--layout", "nonsense").code == 2
    assert mockkube("assets", "--nodes", "-1").code == 2
