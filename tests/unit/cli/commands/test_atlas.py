"""`mockkube atlas` as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockkube.explore.plans.loading import parse

Mockkube = Callable[..., Any]


@pytest.mark.heavy
def test_a_gate_is_answered(mockkube: Mockkube) -> None:
    answer = mockkube("atlas", "HostnameOverride")
    assert answer.code == 0
    assert answer.out.startswith("# HostnameOverride\n")
    assert "After turning it off: new objects lose `spec.hostnameOverride`." in answer.out


@pytest.mark.heavy
def test_programs_read_json_and_people_pages(mockkube: Mockkube, tmp_path: Path) -> None:
    [entry] = json.loads(mockkube("atlas", "SidecarContainers", "-o", "json").out)
    assert (entry["status"], entry["stages"][0]["is_locked"]) == ("locked", True)
    assert mockkube("atlas", "SidecarContainers", "--out", str(tmp_path / "pages")).code == 0
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == [
        *("README.md", "SidecarContainers.md", "atlas.json", "index.html")
    ]
    assert "<h1>" in (tmp_path / "pages" / "index.html").read_text()


def test_without_a_gate_it_lists_them(mockkube: Mockkube) -> None:
    lines = dict(line.split(maxsplit=1) for line in mockkube("atlas").out.splitlines())
    assert lines["JobManagedBy"] == "kube-apiserver, kube-controller-manager"
    assert lines["WinDSR"] == "not simulated"


def test_a_plan_can_be_explored(mockkube: Mockkube) -> None:
    plan = parse(mockkube("atlas", "JobManagedBy", "--plan").out)
    assert plan.components == ("kube-apiserver", "kube-controller-manager")
    assert plan.workload_after == "kube-apiserver"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(("JobManagedByy",), "did you mean JobManagedBy?", id="misspelt"),
        pytest.param(("Nonsense",), "'mockkube atlas' lists them", id="unknown"),
        pytest.param(("WinDSR", "--plan"), "WinDSR: it has no plan", id="without a plan"),
    ],
)
def test_a_mistake_is_exit_code_2(mockkube: Mockkube, arguments: tuple[str, ...], told: str) -> None:
    answer = mockkube("atlas", *arguments)
    assert answer.code == 2
    assert told in answer.err
