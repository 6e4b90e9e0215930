"""What operators write and do is the intent: harm is only what they did not ask for."""

from typing import Any

import pytest
import yaml

from mockkube.explore.exploration import Exploration, OrderVerdict, SafetyVerdict, explore_plan
from mockkube.explore.plans import invariants
from mockkube.explore.plans.loading import parse
from mockkube.explore.plans.plan import Direction
from mockkube.explore.players import SequentialPlayer
from mockkube.explore.replay import collect_evidence
from mockkube.report import review, summary
from mockkube.report.pages.exploration_page import render

pytestmark = pytest.mark.heavy  # explores

GATES = {"gates": {"TaintTolerationComparisonOperators": True}}
COMPARED = {"key": "sla", "operator": "Gt", "value": "900"}
TAINT = {"key": "sla", "value": "950", "effect": "NoSchedule"}
SERVER, SCHEDULER, CONTROLLERS, KUBELET = "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet"
Document = dict[str, Any]


def pod_spec(*tolerations: Document) -> Document:
    spec: Document = {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "i"}]}
    return {**spec, "tolerations": list(tolerations)}


def deployment(*tolerations: Document, replicas: int = 1) -> Document:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(*tolerations)}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def pod(*tolerations: Document, **metadata: str) -> Document:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(*tolerations)}


def explored(*components: str, workload: Document, do: list[Document] | None = None, **more: Any) -> Exploration:
    disturbances = [{"name": "an operator acts", "do": do}] if do else []
    others = [name for name in (SERVER, SCHEDULER, CONTROLLERS, KUBELET) if name not in components]
    setup = [{"component": {"name": name, "featureGates": GATES["gates"]}} for name in others]
    spec = {
        "change": {name: dict(GATES) for name in components},
        "nodes": [{"taints": [dict(TAINT)]}],
        "workload": [workload],
        "setup": setup,
        "disturbances": disturbances,
        "seconds": 5,
        **more,
    }
    file = {"apiVersion": "mockkube.dev/v1alpha1", "kind": "RolloutPlan", "metadata": {"name": "small"}, "spec": spec}
    plan = parse(yaml.safe_dump(file))
    return explore_plan(plan, SequentialPlayer(plan))


def verdicts(result: Exploration, phase: Direction) -> dict[tuple[str, ...], SafetyVerdict]:
    return {one.order: one.verdict for one in result.list_verdicts(phase)}


def only(result: Exploration, phase: Direction) -> OrderVerdict:
    [one] = result.list_verdicts(phase)
    return one


def test_pods_of_an_edited_template_are_judged_by_the_edit() -> None:
    blue, green = {"key": "blue", "operator": "Exists"}, {"key": "green", "operator": "Exists"}
    patches = [{"spec": {"template": {"spec": {"tolerations": [one]}}}} for one in (green, blue)]
    edits = [{"patch": {"ref": "Deployment/web", "patch": patch}} for patch in patches]
    result = explored(KUBELET, workload=deployment(blue), do=edits, nodes=[{}])
    assert {one.verdict for one in result.orders} == {SafetyVerdict.SAFE}


def test_an_edit_that_needs_the_gate_makes_its_pods_wait_for_the_scheduler() -> None:
    patch = {"spec": {"template": {"spec": {"tolerations": [COMPARED]}}}}
    edit = [{"patch": {"ref": "Deployment/web", "patch": patch}}]
    result = explored(SERVER, SCHEDULER, workload=deployment({"key": "sla", "operator": "Exists"}), do=edit)
    assert verdicts(result, Direction.UP) == {
        (SCHEDULER, SERVER): SafetyVerdict.SAFE,
        (SERVER, SCHEDULER): SafetyVerdict.UNSAFE,
    }


def test_pods_that_an_operator_creates_in_the_middle_are_judged() -> None:
    result = explored(SCHEDULER, workload=pod(name="calm"), do=[{"create": pod(COMPARED, generateName="more-")}])
    one = only(result, Direction.DOWN)
    assert (one.verdict, one.worst.harm.stuck) == (SafetyVerdict.UNSAFE, 1)
    assert [each.workload for each in one.worst.breaks if each.invariant == invariants.ADMITTED_SCHEDULABLE] == [
        "pod/more-*"
    ]


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param([{"kubectl": "scale deployment web --replicas=0"}], id="scaled down"),
        pytest.param([{"kubectl": "scale deployment web --replicas=40"}], id="scaled up beyond the bound of a loop"),
        pytest.param([{"delete": {"ref": "Deployment/web", "wait": False}}], id="deleted"),
        pytest.param(
            [{"delete": {"ref": {"kind": "Pod", "labels": {"app": "web"}}, "wait": False}}], id="pods deleted"
        ),
        pytest.param([{"kubectl": "rollout restart deployment web"}], id="rolled out anew"),
        pytest.param([{"taint": "node-1 broken=yes:NoExecute"}], id="evicted by a taint that nothing tolerates"),
    ],
)
def test_what_follows_from_what_an_operator_does_is_no_harm(actions: list[Document]) -> None:
    result = explored(CONTROLLERS, workload=deployment({"key": "sla", "operator": "Exists"}), do=actions)
    assert [each.text for one in result.orders for each in one.worst.breaks] == []
    assert [str(one.worst.harm) for one in result.orders] == ["none", "none"]


def test_pods_that_no_node_would_take_anyway_do_not_hang_for_the_rollout() -> None:
    workload = deployment(COMPARED)
    workload["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "fast"}
    result = explored(SCHEDULER, workload=workload, do=[{"restart": SCHEDULER}])
    assert [str(one.worst.harm) for one in result.orders] == ["none", "none"]


def test_an_eviction_before_the_tolerated_seconds_are_over_is_harm() -> None:
    patient = {**COMPARED, "effect": "NoExecute", "tolerationSeconds": 300}
    taint = [{"taint": "node-1 sla=950:NoExecute"}]
    result = explored(CONTROLLERS, workload=deployment(patient), do=taint, nodes=[{}], creationsMax=300)
    assert (only(result, Direction.UP).is_safe, only(result, Direction.DOWN).verdict) == (True, SafetyVerdict.UNSAFE)


def test_a_direction_in_which_nothing_happens_is_not_tried() -> None:
    orders = [{"name": "as written", "phase": "down", "order": [SERVER], "claim": "safe"}]
    result = explored(SERVER, SCHEDULER, workload=pod(COMPARED, name="web"), orders=orders)
    assert set(verdicts(result, Direction.DOWN).values()) == {SafetyVerdict.NOT_TRIED}
    assert [written.name for written, _ in result.unconfirmed_claims] == ["as written"]
    assert "TO DISABLE: not tried: nothing was created" in summary.render_table(result)
    assert "**To disable: not tried.**" in review.render(collect_evidence(result))
    assert "not tried" in render(collect_evidence(result))
    [told] = {one["verdict"] for one in summary.to_json(result)["orders"] if one["phase"] == "down"}
    assert told == "not tried"


def test_a_component_that_had_nothing_to_decide_is_named() -> None:
    create = [{"create": pod(COMPARED, generateName="more-")}]
    result = explored(SCHEDULER, CONTROLLERS, workload=pod(COMPARED, name="web"), do=create)
    assert result.not_exercised(Direction.UP) == (CONTROLLERS,)
    assert f"not tried: {CONTROLLERS}" in summary.render_table(result)
    assert f"**Not tried: `{CONTROLLERS}`**" in review.render(collect_evidence(result))


def test_prepared_orders_have_a_count_of_their_own() -> None:
    prepare = [{"delete": {"ref": "Deployment/web"}}]
    orders = [{"name": "prepared", "phase": "down", "order": [SCHEDULER], "claim": "safe", "prepare": prepare}]
    act = [
        {"delete": {"ref": {"kind": "Pod", "labels": {"app": "web"}}, "wait": False}},
        {"create": pod(generateName="calm-")},
    ]
    result = explored(SCHEDULER, workload=deployment(COMPARED), do=act, orders=orders)
    table = summary.render_table(result)
    assert "TO DISABLE: 0 of 1 order is safe" in table
    assert "TO DISABLE, AFTER CHANGING THE WORKLOADS (prepare): 1 of 1 order is safe" in table
