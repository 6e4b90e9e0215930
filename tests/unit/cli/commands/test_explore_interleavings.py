"""`mockkube explore --interleavings` as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Mockkube = Callable[..., Any]

PLAN = """\
apiVersion: mockkube.dev/v1alpha1
kind: InterleavingPlan
metadata: {name: stale-labels, title: Stale labels}
spec:
  components:
    kubelet: {version: "1.34"}
  setup:
    - apply:
        apiVersion: v1
        kind: Pod
        metadata: {name: waiting}
        spec: {nodeSelector: {disk: fast}, containers: [{name: main, image: i}]}
  window:
    - do: {kubectl: label node node-1 disk=fast}
    - do: {delete: {ref: ConfigMap/none, wait: false}}
    - do: {patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: none}, data: {a: b}}}
  seconds: 2s
  reorder: [kubelet]
  invariants: [pods-not-rejected]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return path


@pytest.mark.heavy
def test_a_race_is_printed_and_replayed(mockkube: Mockkube, plan: Path) -> None:
    found = mockkube("explore", str(plan), "--interleavings", "--depth", "1", "-q")
    assert found.code == 1  # the plan does not say that it is known
    assert "BROKEN: pods-not-rejected\n" in found.out
    assert "because kubelet/pods comes before kubelet/cache/Node (MODIFIED Node node-1)" in found.out
    assert "never accepted: patch ConfigMap/none" in found.out
    replay = mockkube("explore", str(plan), "--interleavings", "-q", "--trace", "pods-not-rejected")
    assert replay.code == 0
    plan.write_text(replay.out)
    again = mockkube("explore", str(plan), "--interleavings", "-q", "-o", "json")
    assert again.code == 0  # now it is known
    [result] = json.loads(again.out)
    assert (result["schedules"]["played"], result["asExpected"]) == (2, True)
    missing = mockkube("explore", str(plan), "--interleavings", "-q", "--trace", "no-hot-loop")
    assert missing.code == 2
    assert "broken are pods-not-rejected" in missing.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--interleavings", "--report", "x.html"], "--report does not work with --interleavings"),
        (["--interleavings", "--check", "2"], "--check does not work with --interleavings"),
        (["--depth", "2"], "--depth belongs to --interleavings"),
        ([], "an interleaving plan: explore it with"),
    ],
)
def test_options_that_do_not_fit_are_named(mockkube: Mockkube, plan: Path, arguments: list[str], message: str) -> None:
    answer = mockkube("explore", str(plan), *arguments)
    assert answer.code == 2
    assert message in answer.err


def test_a_setup_that_fails_is_named(mockkube: Mockkube, plan: Path) -> None:
    plan.write_text(PLAN.replace("image: i", "image: ''"))
    answer = mockkube("explore", str(plan), "--interleavings")
    assert answer.code == 2
    assert "setup, step 1" in answer.err


def test_an_interleaving_plan_is_no_scenario(mockkube: Mockkube, plan: Path) -> None:
    answer = mockkube("test", str(plan))
    assert answer.code == 2
    assert "--interleavings" in answer.err
