"""Interleaving plans in files."""

from pathlib import Path

import pytest

from mockkube.explore.interleavings import plan_file
from mockkube.explore.interleavings.schedule import Delay, Schedule
from mockkube.scenario.errors import ScenarioError

ROOT = Path(__file__).parents[4]
HEAD = "apiVersion: mockkube.dev/v1alpha1\nkind: InterleavingPlan\nmetadata: {name: p}\nspec:\n"
WINDOW = "  window:\n    - do: {restart: kubelet}\n"


def load(tmp_path, text):
    file = tmp_path / "plan.yaml"
    file.write_text(HEAD + text)
    [plan] = plan_file.load(file)
    return plan


def test_a_plan_has_defaults(tmp_path):
    plan = load(tmp_path, WINDOW)
    assert plan.window[0].describe() == "restart kubelet"
    assert (plan.seconds, plan.late_seconds, plan.schedule) == (10.0, 0.0, None)
    assert "same-outcome" in plan.invariants


def test_a_schedule_is_read_as_it_is_printed(tmp_path):
    late = "{worker: kubelet/cache/Pod, seconds: 5s}"
    plan = load(tmp_path, f"{WINDOW}  schedule:\n    workers: [operator]\n    late: {late}\n    changes: [c]\n")
    assert plan.schedule == Schedule(("operator",), Delay("kubelet/cache/Pod", 5.0), ("c",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  window: []\n", "no action"),
        ("  window:\n    - do: {advance: 5s}\n", "time passes by itself"),
        ("  window:\n    - do: {fly: away}\n", "no step of plans"),
        (f"{WINDOW}  invariants: [all-is-well]\n", "no invariant is called 'all-is-well'"),
        (f"{WINDOW}  breaks: [all-is-well]\n", "no invariant is called 'all-is-well'"),
        (f"{WINDOW}  version: '9.9'\n", "9.9"),
        (f"{WINDOW}  components: {{kube-proxy: {{version: '1.35'}}}}\n", "unknown component"),
        (f"{WINDOW}  components: {{kubelet: {{gates: {{NoSuchGate: true}}}}}}\n", "NoSuchGate"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    with pytest.raises(ScenarioError, match=r"plan\.yaml") as error:
        load(tmp_path, text)
    assert message in str(error.value)


def test_each_disturbance_of_a_rollout_plan_is_a_window():
    plans = plan_file.load(ROOT / "conformance/plans/kep-3094.yaml")
    assert [plan.title.rpartition(": ")[2] for plan in plans] == [
        "a pod is deleted and made again",
        "the scheduler restarts",
    ]
    assert plans[0].components["kubelet"].version == "1.34"
    assert all(plan.setup for plan in plans)


@pytest.mark.parametrize("file", sorted((ROOT / "conformance/races").glob("*.yaml")), ids=lambda file: file.stem)
def test_every_race_has_a_source_and_can_be_read(file):
    [plan] = plan_file.load(file)
    assert plan.name == file.stem
    assert "kubernetes/kubernetes#" in plan.source
    assert set(plan.expected_breaks) <= set(plan.invariants)
