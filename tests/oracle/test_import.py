"""Objects as the real API server answered (recordings in MOCKKUBE_ORACLE/http) are imported as they are, and rest."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from mockkube.features.versions import Version
from mockkube.importing.cluster_import import ImportOptions, import_objects
from mockkube.importing.completion import complete_contents
from mockkube.importing.movements import SnapshotCheck, check_snapshot

ORACLE = Path(os.environ.get("MOCKKUBE_ORACLE", Path(__file__).parents[3] / "shared" / "oracle")) / "http"
pytestmark = pytest.mark.skipif(not ORACLE.is_dir(), reason=f"no recordings in {ORACLE}: set MOCKKUBE_ORACLE")

Object = dict[str, Any]
# The recorded server ran without controllers and kubelets: these are the kinds that none of them acts on.
RESTING = (
    "ClusterRole", "ConfigMap", "DeviceClass", "LimitRange", "PodTemplate", "PriorityClass", "ResourceClaimTemplate",
    "Role", "RoleBinding", "RuntimeClass", "Secret", "ServiceAccount", "StorageClass",
)  # fmt: skip
ACTING = ("DaemonSet", "Deployment", "Node", "PersistentVolume", "Pod", "ReplicaSet", "Service", "StatefulSet")
RECORDED_MIN = 50


def read_recordings(kinds: tuple[str, ...]) -> list[Object]:
    """Return the recorded objects of some kinds, each case in a namespace of its own."""
    found: dict[tuple[str, str, str], Object] = {}
    for path in sorted((ORACLE / "cases").glob("*.json")):
        for number, case in enumerate(json.loads(path.read_bytes())["cases"]):
            for obj in read_case(case, f"{path.stem}-{number}"):
                if obj["kind"] in kinds:
                    metadata = obj["metadata"]
                    found[obj["kind"], metadata.get("namespace", ""), metadata["name"]] = obj
    return list(found.values())


def read_case(case: Object, namespace: str) -> Iterator[Object]:
    """Yield the objects in the answers of a case, with values in the place of normalised ones."""
    for step in case["steps"]:
        answer = step.get("expect")
        text = json.dumps(answer.get("body")) if isinstance(answer, dict) and answer.get("status") in (200, 201) else ""
        for normalised, value in (("${ns}", namespace), ("${u}", namespace), ("<time>", "2026-03-01T10:00:00Z"),
                                  ("<uid", f"uid-{namespace}-"), ("<suffix>", "abcde")):  # fmt: skip
            text = text.replace(normalised, value)
        if text and not any(left in text for left in ("$contains", "${", "<ip>", "<object>", "<microtime>")):
            yield from find_objects(json.loads(text))


def find_objects(value: Any) -> Iterator[Object]:
    """Yield the complete objects in a value."""
    if isinstance(value, dict):
        metadata = value.get("metadata")
        if value.get("kind") and value.get("apiVersion") and isinstance(metadata, dict) and metadata.get("uid"):
            yield value
        for one in value.values():
            yield from find_objects(one)
    elif isinstance(value, list):
        for one in value:
            yield from find_objects(one)


def test_recorded_objects_come_in_without_loss() -> None:
    recorded = read_recordings((*RESTING, *ACTING))
    assert len(recorded) > RECORDED_MIN * 2
    options = ImportOptions(Version(1, 36), redacts_secrets=False, keeps_managed_fields=True)
    imported = import_objects([json.loads(json.dumps(obj)) for obj in recorded], options)
    assert imported.report.unknown_fields == {}
    assert imported.report.left_out == {}
    stored = [orjson.loads(value.partition(b"\n")[2]) for value in imported.contents.entries.values()]
    by_uid = {(obj["kind"], obj["metadata"]["name"], obj["metadata"]["uid"]): obj for obj in stored}
    for obj in recorded:
        found = by_uid[obj["kind"], obj["metadata"]["name"], obj["metadata"]["uid"]]
        for field in ("spec", "status", "data", "rules"):
            assert (found.get(field) or {}) == (obj.get(field) or {})


async def test_recorded_objects_rest() -> None:
    recorded = [obj for obj in read_recordings(RESTING) if not obj["metadata"].get("deletionTimestamp")]
    assert len(recorded) > RECORDED_MIN
    contents, _ = await complete_contents(import_objects(recorded, ImportOptions(Version(1, 36))).contents)
    assert await check_snapshot(contents) == SnapshotCheck([], {})
