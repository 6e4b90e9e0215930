"""`mockkube explore` as a user types it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Mockkube = Callable[..., Any]

pytestmark = pytest.mark.heavy  # explores
PLAN = """\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: small}
spec:
  change:
    kube-apiserver: {gates: {TaintTolerationComparisonOperators: true}}
    kube-scheduler: {gates: {TaintTolerationComparisonOperators: true}}
  nodes:
    - taints: [{key: sla, value: "950", effect: NoSchedule}]
  workload:
    - apiVersion: v1
      kind: Pod
      metadata: {name: batch}
      spec:
        containers: [{name: main, image: i}]
        tolerations: [{key: sla, operator: Gt, value: "900", effect: NoSchedule}]
  orders:
    - {name: as written, phase: up, order: [kube-apiserver], claim: safe}
  seconds: 2
"""


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return str(path)


def test_a_claim_that_does_not_hold_is_exit_code_1(mockkube: Mockkube, plan: str) -> None:
    answer = mockkube("explore", plan, "--workers", "1")
    assert answer.code == 1
    assert "as written (claims safe: refuted)" in answer.out


def test_programs_read_json_and_people_a_page(mockkube: Mockkube, plan: str, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "answer.svg"
    files = ("--report", str(page), "--picture", str(picture))
    answer = mockkube("explore", plan, "--workers", "1", "-o", "json", *files)
    found = json.loads(answer.out)
    [broken] = found["counterexamples"]
    assert broken["invariant"] == "admitted-pods-schedulable"
    assert "kind: Scenario" in broken["scenario"]
    assert found["answer"].startswith("To enable TaintTolerationComparisonOperators: ")
    assert "kube-scheduler has the gate off" in page.read_text()
    assert picture.read_text().startswith("<svg")


def test_a_picture_that_cannot_be_written_is_refused_before_the_exploration(mockkube: Mockkube) -> None:
    answer = mockkube("explore", "no-plan.yaml", "--picture", "answer.gif")
    assert (answer.code, answer.err.strip()) == (
        2,
        "mockkube: --picture: answer.gif: give a file that ends in .svg or .png",
    )


def test_a_counterexample_can_be_played(mockkube: Mockkube, plan: str, tmp_path: Path) -> None:
    traced = mockkube("explore", plan, "--workers", "1", "--trace", "admitted-pods-schedulable")
    broken = tmp_path / "broken.yaml"
    broken.write_text(traced.out)
    assert mockkube("test", str(broken), "--workers", "1").code == 0


def test_what_is_undisturbed_can_only_be_played_where_it_does_harm(mockkube: Mockkube, plan: str) -> None:
    answer = mockkube("explore", plan, "--workers", "1", "--trace", "undisturbed")
    assert answer.code == 2
    assert "--trace undisturbed: no running pod was lost without disturbances" in answer.err


@pytest.mark.parametrize("flag", ["--jobs", "-j"])
def test_workers_have_other_names(mockkube: Mockkube, plan: str, flag: str) -> None:
    assert (
        mockkube("explore", plan, flag, "1", "-o", "json").out
        == mockkube("explore", plan, "--workers", "1", "-o", "json").out
    )


def test_processes_here_and_on_other_machines_exclude_each_other(mockkube: Mockkube, plan: str) -> None:
    answer = mockkube("explore", plan, "--workers", "2", "--dask", "tcp://127.0.0.1:1")
    assert answer.code == 2
    assert "--workers: it counts processes on this machine, and --dask uses another: give one" in answer.err


def test_dask_that_is_not_installed_is_one_line(mockkube: Mockkube, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("mockkube.distributed.dask_pool")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    answer = mockkube("explore", plan, "--dask", "tcp://127.0.0.1:1")
    assert answer.code == 3
    assert "distributed is not installed: install it with pip install '/path/to/mockkube[distributed]'" in answer.err


def test_a_mistake_in_a_plan_is_one_line(mockkube: Mockkube, plan: str) -> None:
    Path(plan).write_text(PLAN.replace("claim: safe", "claim: fine"))
    answer = mockkube("explore", plan)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert f"{plan}:18: " in answer.err


def test_a_scenario_is_sent_to_test(mockkube: Mockkube, tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text("apiVersion: mockkube.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec: {steps: []}\n")
    answer = mockkube("explore", str(path))
    assert answer.code == 2
    assert answer.err == f"mockkube: {path}: a scenario, not a rollout plan: run it with 'mockkube test {path}'\n"
