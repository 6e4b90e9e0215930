"""`mockkube import` as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
from tests.importing import realistic

Mockkube = Callable[..., Any]
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "YQ=="}}


@pytest.fixture
def dump(tmp_path: Path) -> str:
    deployment = realistic.make_deployment("web", "default", 2, ("w1",))
    objects = [*realistic.make_namespace("default"), realistic.make_node("w1"), *deployment, SECRET]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(realistic.make_list(objects), indent=4))
    return str(path)


@pytest.mark.heavy
def test_a_dump_becomes_a_snapshot_that_is_at_rest(mockkube: Mockkube, dump: str, tmp_path: Path) -> None:
    target = tmp_path / "cluster.snapshot"
    answer = mockkube("import", dump, "--to", str(target))
    assert answer.code == 0
    assert "1 Secret redacted" in answer.out
    assert "At rest: nothing changes by itself" in answer.out
    contents = SnapshotContents.from_bytes(target.read_bytes())
    assert "/registry/core/pods/default/web-6d4cf56db6-00000" in contents.entries


def test_the_report_is_json_on_request(mockkube: Mockkube, dump: str, tmp_path: Path) -> None:
    answer = mockkube("import", dump, "--to", str(tmp_path / "s"), "--no-check", "-o", "json")
    report = json.loads(answer.out)
    assert report["objects"]["Pod"] == 2
    assert report["movements"] is None


def test_a_file_that_does_not_exist_is_named(mockkube: Mockkube, tmp_path: Path) -> None:
    answer = mockkube("import", str(tmp_path / "none.yaml"))
    assert answer.code == 2
    assert "none.yaml: No such file" in answer.err
