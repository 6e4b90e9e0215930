"""Plans from files: what is written becomes a plan, and a mistake is told with its line and a remedy."""

from pathlib import Path

import pytest

from mockkube.explore.plans.invariants import INVARIANTS
from mockkube.explore.plans.loading import load, parse
from mockkube.explore.plans.plan import Direction
from mockkube.scenario.errors import ScenarioError

PLANS = sorted((Path(__file__).parents[4] / "conformance" / "plans").glob("*.yaml"))
PLAN = """\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: small}
spec:
  change:
    kube-apiserver: {gates: {TaintTolerationComparisonOperators: true}}
    kube-scheduler: {gates: {TaintTolerationComparisonOperators: true}}
  workload:
    - {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
  disturbances:
    - name: a restart
      do: [{restart: kube-scheduler}]
  orders:
    - {name: written, phase: down, order: [kube-scheduler], claim: safe}
"""


def test_components_left_out_of_an_order_change_last() -> None:
    [written] = parse(PLAN).orders
    assert (written.direction, written.order) == (Direction.DOWN, ("kube-scheduler", "kube-apiserver"))


def test_every_invariant_is_asked_unless_some_are_named() -> None:
    assert [demand.name for demand in parse(PLAN).invariants] == list(INVARIANTS)


def test_gates_go_back_to_what_the_version_has() -> None:
    assert parse(PLAN).changes[0].before.gates == {"TaintTolerationComparisonOperators": None}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param("order: [kube-scheduler]", "order: [kubelte]", "plan.yaml:14: ", id="a component of no change"),
        pytest.param("Comparison", "Comparision", "plan.yaml:6: ", id="a gate that nobody knows"),
        pytest.param("restart: kube", "restrat: kube", "'restrat' is no step of plans", id="a step that is none"),
        pytest.param("kind: Pod", "knd: Pod", "plan.yaml:9: ", id="a manifest without a kind"),
        pytest.param("claim: safe", "claim: fine", "'fine' is none of safe, harmful, none", id="a claim"),
        pytest.param(
            "  workload:", "  runtimeConfig: {foo/v1: true}\n  workload:", "yaml:8: spec.runtimeConfig", id="no API"
        ),
        pytest.param(
            "kube-apiserver: {gates: {TaintTolerationComparisonOperators: true}}",
            "kube-apiserver: {gates: {SidecarContainers: true}}",
            "nothing changes: kube-apiserver 1.36 is as SidecarContainers=true without a change",
            id="a gate that is on",
        ),
        pytest.param("kube-apiserver: {", "kube-apiservr: {", "unknown component: choose one of", id="a component"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_remedy(old: str, new: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(PLAN.replace(old, new))
    assert complaint in str(caught.value)


@pytest.mark.parametrize("path", PLANS, ids=[path.stem for path in PLANS])
def test_the_plans_that_ship_can_be_read(path: Path) -> None:
    plan = load(path)
    assert plan.name == path.stem
    assert {order.direction for order in plan.orders} == set(Direction)


def test_gates_of_before_are_not_told_any_more_when_a_component_has_changed() -> None:
    entry = '{version: "1.34", from: {gates: {TaintTolerationCEL: true}}}'
    plan = parse(PLAN.replace("{gates: {TaintTolerationComparisonOperators: true}}", entry, 1))
    assert plan.changes[0].after.gates == {"TaintTolerationCEL": None}


def test_what_happens_before_the_way_down_cannot_be_limited_to_the_way_up() -> None:
    plan = PLAN.replace("- name: a restart", "- name: a restart\n      when: before-down\n      phases: [up]")
    with pytest.raises(ScenarioError, match="leave `phases` out"):
        parse(plan)


def test_users_may_await_a_component() -> None:
    text = PLAN.replace("  workload:", "  workloadAfter: kube-scheduler\n  workload:")
    assert parse(text).workload_after == "kube-scheduler"
    with pytest.raises(ScenarioError, match="'kubelet' does not change in this plan"):
        parse(text.replace("After: kube-scheduler", "After: kubelet"))


def test_a_plan_says_which_api_versions_are_served() -> None:
    plan = parse(PLAN.replace("  workload:", "  runtimeConfig: {api/alpha: true}\n  workload:"))
    assert plan.runtime_config == {"api/alpha": "true"}


@pytest.mark.parametrize(
    ("given", "count"),
    [("all", 2), ("none", 0), ("[[kube-scheduler, kube-apiserver]]", 1)],
)
def test_a_plan_says_which_rollbacks_leave_running_pods_alone(given: str, count: int) -> None:
    plan = parse(PLAN.replace("  workload:", f"  undisturbedRollback: {given}\n  workload:"))
    assert plan.undisturbed_rollback is not None
    assert len(plan.undisturbed_rollback) == count


@pytest.mark.parametrize("given", ["some", "[[kubelet]]", "[kube-apiserver, kube-scheduler]"])
def test_an_order_of_the_rollback_has_every_component(given: str) -> None:
    with pytest.raises(ScenarioError, match="undisturbedRollback: give all, none, or a list of orders"):
        parse(PLAN.replace("  workload:", f"  undisturbedRollback: {given}\n  workload:"))


@pytest.mark.parametrize("text", ["[a, b]", "hello", "a: 1", "kind: RolloutPlan\nspec: [1]", "spec: {components: 5}"])
def test_what_is_no_plan_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text)
    assert str(caught.value).startswith("plan.yaml")
