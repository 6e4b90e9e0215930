"""Differences between outcomes, as sentences."""

from typing import Any

from mockkube.atlas.dropped_fields import find_dropped_fields
from mockkube.atlas.outcome import Outcome
from mockkube.atlas.outcome_differences import describe_another_way, list_differences


def outcome(*objects: dict[str, Any], **parts: Any) -> Outcome:
    grouped: dict[str, tuple[Any, ...]] = {}
    for obj in objects:
        key = f"{'core/pods' if obj['kind'] == 'Pod' else 'batch/jobs'} {obj['metadata']['name']}"
        grouped[key] = (*grouped.get(key, ()), obj)
    given = {"refused": {}, "warnings": {}, "dropped": {}, "writes": (), **parts}
    return Outcome(objects=grouped, **given)


def pod(phase: str, **status: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "web"}, "spec": {}, "status": {"phase": phase, **status}}


def job(**spec: Any) -> dict[str, Any]:
    return {"kind": "Job", "metadata": {"name": "batch"}, "spec": spec}


def test_a_phase_says_all_about_a_pod() -> None:
    waiting = pod("Pending", conditions=[{"type": "PodScheduled", "status": "False", "message": "no node"}])
    assert list_differences(outcome(waiting), outcome(pod("Running", ready=True))) == [
        "Pod web: Pending instead of Running (no node)"
    ]


def test_fields_that_are_missing_added_and_changed() -> None:
    found = outcome(job(parallelism=1, items=["a"], suspend=True))
    assert list_differences(found, outcome(job(parallelism=2, managedBy="x", items=["a", "b"]))) == [
        "Job batch: `spec.parallelism` is `1` instead of `2`",
        'Job batch: `spec.managedBy` is missing (`"x"`)',
        'Job batch: `spec.items[b]` is missing (`"b"`)',
        "Job batch: `spec.suspend` is `true`",
    ]


def test_a_field_that_was_dropped_is_named_once() -> None:
    found = outcome(job(), dropped={"Job batch": ("spec.managedBy",)})
    assert list_differences(found, outcome(job(managedBy="x"))) == [
        "Job batch: accepted, but `spec.managedBy` is dropped without an error"
    ]


def test_objects_that_are_missing_or_more() -> None:
    assert list_differences(outcome(), outcome(job())) == ["Job batch: missing"]
    assert list_differences(outcome(job()), outcome()) == ["Job batch: exists"]
    assert list_differences(outcome(job(), job(suspend=True)), outcome(job())) == ["Job batch: 2 instead of 1"]


def test_refusals_and_warnings() -> None:
    refused = outcome(refused={"Pod web": "no"}, warnings={"Pod other": ("old",)})
    assert list_differences(refused, outcome()) == ["Pod web: refused: no", "Pod other: warning: old"]
    assert list_differences(outcome(), refused) == ["Pod web: accepted", "Pod other: no warning (old)"]


def test_a_generation_counts_only_if_nothing_else_does() -> None:
    one = {"kind": "Job", "metadata": {"name": "batch", "generation": 1}, "spec": {}}
    two = {"kind": "Job", "metadata": {"name": "batch", "generation": 2}, "spec": {}}
    assert list_differences(outcome(one), outcome(two)) == ["Job batch: `metadata.generation` is `1` instead of `2`"]
    changed = {**two, "spec": {"suspend": True}}
    assert list_differences(outcome(one), outcome(changed)) == ["Job batch: `spec.suspend` is missing (`true`)"]


def test_runs_may_end_alike_and_go_another_way() -> None:
    found, expected = outcome(writes=("a", "c")), outcome(writes=("a", "b"))
    assert list_differences(found, expected) == []
    assert describe_another_way(found, expected) == "the same end, but another way: `c` instead of `b`"
    assert describe_another_way(found, found) == ""


def test_fields_that_were_sent_and_not_stored() -> None:
    sent = {
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"a": "b"}, "namespace": "x"},
        "spec": {"containers": [{"name": "b", "tty": True}, {"name": "a", "stdin": True}], "hostUsers": False},
        "status": {"phase": "Running"},
    }
    stored = {"metadata": {}, "spec": {"containers": [{"name": "a"}, {"name": "b", "tty": True}]}}
    assert list(find_dropped_fields(sent, stored)) == ["metadata.labels", "spec.containers[1].stdin"]
