"""`mockkube rehearse` as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.importing import realistic

Mockkube = Callable[..., Any]
COMMON = ("--to", "1.37", "--orders", "1", "--quiet")


@pytest.fixture
def dump(tmp_path: Path) -> str:
    nodes = [realistic.make_node(name) for name in ("w1", "w2")]
    deployment = realistic.make_deployment("web", "default", 2, ("w1", "w2"))
    path = tmp_path / "dump.json"
    objects = [*realistic.make_namespace("default"), *nodes, *deployment]
    path.write_text(json.dumps(realistic.make_list(objects), indent=4))
    return str(path)


@pytest.mark.heavy
def test_a_safe_upgrade_is_answered_with_a_page_and_a_runbook(mockkube: Mockkube, dump: str, tmp_path: Path) -> None:
    page, runbook, picture = (tmp_path / name for name in ("page.html", "runbook.sh", "answer.svg"))
    files = ("--report", str(page), "--runbook", str(runbook), "--picture", str(picture))
    answer = mockkube("rehearse", dump, *COMMON, *files)
    assert answer.code == 0
    assert "nothing breaks" in answer.out
    for text in (page.read_text(), picture.read_text()):
        assert "From 1.36 to 1.37 on 2 nodes: nothing breaks" in text
    assert "for node in w1 w2; do" in runbook.read_text()
    # What repeats it has the options that were given, without the files that were written.
    assert f"<code>mockkube rehearse {dump} --to 1.37 --orders 1</code>" in page.read_text()


@pytest.mark.heavy
def test_a_snapshot_with_a_locked_gate_ends_with_1(mockkube: Mockkube, dump: str, tmp_path: Path) -> None:
    snapshot = str(tmp_path / "cluster.snapshot")
    assert mockkube("import", dump, "--to", snapshot, "--no-check").code == 0
    answer = mockkube("rehearse", snapshot, *COMMON, "--gates", "HostnameOverride=false", "-o", "json")
    assert answer.code == 1
    breaks = [one for one in json.loads(answer.out)["findings"] if one["severity"] == "breaks"]
    assert {one["topic"] for one in breaks} == {"component does not start"}


def test_an_older_version_is_refused(mockkube: Mockkube, dump: str) -> None:
    answer = mockkube("rehearse", dump, "--to", "1.35")
    assert answer.code == 2
    assert "give a newer version than 1.35" in answer.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--to", "1.36"), "every component has 1.36 already: give a newer version, or gates with --gates"),
        (("--to", "1.37", "--pool-label", "team"), "no node has the label team: give one that 'kubectl get nodes"),
    ],
)
def test_what_says_nothing_is_refused(mockkube: Mockkube, dump: str, arguments: tuple[str, ...], reason: str) -> None:
    answer = mockkube("rehearse", dump, *arguments)
    assert answer.code == 2
    assert reason in answer.err
