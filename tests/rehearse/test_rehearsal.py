"""Rehearsals: supported orders, drains that honour budgets, the way back, and the reports."""

import asyncio
import json
from typing import Any

import pytest

from mockkube.features.skew import find_unsupported
from mockkube.features.versions import Version
from mockkube.importing.cluster_import import ImportOptions, import_objects
from mockkube.rehearse.order_player import NODES_MAX, choose_nodes
from mockkube.rehearse.rehearsal import Rehearsal, rehearse
from mockkube.rehearse.rehearsal_text import list_problems, render_markdown, render_table, to_json
from mockkube.rehearse.runbook import render_runbook
from mockkube.rehearse.upgrade import Upgrade
from mockkube.rehearse.upgrade_orders import UpgradeOrders, reverse_order, sort_orders
from mockkube.report.pages.rehearsal_page import render
from tests.importing import realistic
from tests.rehearse.breakages import BUDGET, make_static_pod

Object = dict[str, Any]
NODES = ("w1", "w2", "w3")
POOL = "eks.amazonaws.com/nodegroup"


def make_objects(before: str = "1.36", *more: Object) -> list[Object]:
    """Return a cluster with two pools of nodes and a Deployment."""
    nodes = [realistic.make_node(name, before, **{POOL: "a" if name == "w1" else "b"}) for name in NODES]
    return [*realistic.make_namespace("default"), *nodes, *realistic.make_deployment("web", "default", 3, NODES), *more]


def make_upgrade(before: str, after: str, *more: Object) -> Upgrade:
    contents = import_objects(make_objects(before, *more), ImportOptions(Version.parse(before))).contents
    return Upgrade(contents, Version.parse(after))


def play(upgrade: Upgrade, orders_max: int = 1) -> Rehearsal:
    return asyncio.run(rehearse(upgrade, orders_max=orders_max))


@pytest.mark.parametrize(("before", "after"), [("1.36", "1.37"), ("1.34", "1.36"), ("1.33", "1.37")])
def test_every_order_keeps_to_the_skew_policy_at_each_step(before: str, after: str) -> None:
    upgrade = make_upgrade(before, after)
    orders = list(UpgradeOrders(upgrade).list_orders())
    assert len(orders) == len(set(orders)) > 1
    for order in orders:
        for path in (order, (*order, *reverse_order(order, upgrade))):
            versions = {name: Version.parse(before) for name in ("kube-apiserver", "kube-scheduler")}
            versions |= {"kube-controller-manager": Version.parse(before), "kubelet.a": Version.parse(before)}
            versions |= {"kubelet.b": Version.parse(before)}
            for step in path:
                name = f"kubelet.{step.pool}" if step.pool else step.component
                if not step.pool:
                    assert abs(step.version.minor - versions[name].minor) == 1
                versions[name] = step.version
                assert find_unsupported(versions) == []
        last = {f"{step.component}{step.pool}": step.version for step in order}
        assert set(last.values()) == {Version.parse(after)}


def test_a_single_minor_version_has_the_orders_that_can_be_counted() -> None:
    # The API server first; then the pools in their order, with the other two anywhere among them: 4! / 2!.
    orders = list(UpgradeOrders(make_upgrade("1.36", "1.37")).list_orders())
    assert len(orders) == 12
    assert {order[0].component for order in orders} == {"kube-apiserver"}
    assert [str(step) for step in sort_orders(orders)[0]][:3] == [
        "kube-apiserver to 1.37",
        "kube-controller-manager to 1.37",
        "kube-scheduler to 1.37",
    ]


def test_replicas_of_the_api_server_change_one_after_the_other() -> None:
    servers = [make_static_pod("kube-apiserver"), make_static_pod("kube-apiserver")]
    servers[1]["metadata"] |= {"name": "kube-apiserver-cp2", "uid": "uid-2"}
    for one in servers:
        one["spec"]["containers"][0]["image"] = "registry.k8s.io/kube-apiserver:v1.36.1"
    upgrade = make_upgrade("1.36", "1.37", *servers)
    assert upgrade.api_servers == ["kube-apiserver", "kube-apiserver.1"]
    for order in UpgradeOrders(upgrade).list_orders():
        assert [step.component for step in order][:2] == ["kube-apiserver", "kube-apiserver.1"]


def test_an_upgrade_of_a_cluster_at_rest_is_safe_both_ways() -> None:
    result = play(make_upgrade("1.36", "1.37"), orders_max=2)
    assert result.is_safe
    assert [one.is_safe and one.is_reversible for one in result.results] == [True, True]
    waves = [one for one in result.results[0].up if one.step.pool]
    assert [one.step.pool for one in waves] == ["a", "b"]
    assert sum(one.evicted for one in waves) >= 3


def test_a_budget_that_allows_nothing_blocks_the_drain_and_is_named() -> None:
    result = play(make_upgrade("1.36", "1.37", BUDGET))
    assert not result.is_safe
    problems = [problem for one in result.results[0].up for problem in one.list_problems()]
    assert any("not evicted: default/web-" in one and "budget" in one for one in problems)
    assert any("allows no disruption" in one.text for one in result.breaks)


def test_a_budget_that_allows_one_disruption_is_waited_for() -> None:
    budget = {**BUDGET, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    result = play(make_upgrade("1.36", "1.37", budget))
    assert [problem for one in result.results[0].up for problem in one.list_problems()] == []


def test_a_pod_that_fits_on_no_other_node_stays_pending_and_says_why() -> None:
    objects = make_objects("1.36")
    for obj in objects:
        if obj["kind"] in ("Deployment", "ReplicaSet"):
            obj["spec"]["template"]["spec"]["nodeSelector"] = {POOL: "a"}
        if obj["kind"] == "Pod":
            obj["spec"] |= {"nodeSelector": {POOL: "a"}, "nodeName": "w1"}
        # Nothing brings the pods back to their node: it is gone for good from the point of view of the scheduler.
        if obj["kind"] == "Node" and obj["metadata"]["name"] == "w1":
            obj["spec"]["taints"] = [{"key": "old", "effect": "NoSchedule"}]
    result = play(Upgrade(import_objects(objects).contents, Version(1, 37)))
    problems = [problem for one in result.results[0].up for problem in one.list_problems()]
    assert any(one.startswith("pending: pod of default/web-") and "untolerated taint" in one for one in problems)
    assert not result.results[0].is_safe


def test_all_reports_name_what_breaks() -> None:
    result = play(make_upgrade("1.36", "1.37", BUDGET))
    for text in (render_table(result), render_markdown(result), render(result), json.dumps(to_json(result))):
        assert "allows no disruption" in text
        assert "kube-apiserver to 1.37" in text
    table = render_table(result)
    assert table.rstrip().splitlines()[-1].startswith("Checked: ")
    assert "has no ValidatingWebhookConfiguration, MutatingWebhookConfiguration" in table
    runbook = render_runbook(result)
    assert runbook.index("kube-apiserver.yaml") < runbook.index("kube-scheduler.yaml") < runbook.index("kubectl drain")
    assert "for node in w1; do" in runbook
    assert "for node in w2 w3; do" in runbook


def test_the_runbook_sets_gates_that_the_component_accepts() -> None:
    contents = import_objects(make_objects()).contents
    gates = {"HPAScaleToZero": False, "HostnameOverride": False, "MemoryQoS": False}
    runbook = render_runbook(play(Upgrade(contents, Version(1, 37), gates)))
    commands = [line for line in runbook.splitlines() if not line.startswith("#")]
    assert any("- --feature-gates=HPAScaleToZero=false" in line for line in commands)
    assert not any("HostnameOverride" in line for line in commands)


def test_findings_of_alike_objects_are_one() -> None:
    pods = [realistic.make_pod(f"p{number}", "default", ("v1", "None", "x"), {}, "w1") for number in range(9)]
    for pod in pods:
        del pod["metadata"]["ownerReferences"]
    result = play(make_upgrade("1.36", "1.37", *pods), orders_max=0)
    [finding] = [one for one in result.breaks if "no controller" in one.text]
    assert finding.count == 9
    assert finding.describe_objects().endswith("and 4 more")


def test_large_pools_are_drained_where_most_workloads_are() -> None:
    pods = [
        realistic.make_pod(f"p{n}", "default", ("apps/v1", "ReplicaSet", f"r{n % 4}"), {}, f"w{n % 4}")
        for n in range(8)
    ]
    nodes = [f"w{number}" for number in reversed(range(40))]
    chosen = choose_nodes(nodes, pods)
    assert len(chosen) == NODES_MAX
    assert {"w0", "w1", "w2", "w3"} <= set(chosen)


def test_orders_with_the_same_problems_share_their_lines() -> None:
    result = play(make_upgrade("1.36", "1.37", BUDGET), orders_max=2)
    first, second = (list(list_problems(one)) for one in result.results)
    assert first == second
    lines = [one.strip() for one in render_table(result).splitlines() if "Cannot evict pod" in one]
    # One for each pool, up and back.
    assert [one.partition(": not evicted")[0] for one in lines] == [
        f"kubelets of {pool} to 1.37; back: kubelets of {pool} to 1.36" for pool in ("a", "b")
    ]
    assert sum(one.count("default/web-") for one in lines) == 3


def test_a_pod_without_a_node_stops_no_drain() -> None:
    pod = realistic.make_pod("waiting", "default", ("v1", "None", "x"), {}, "w1")
    del pod["metadata"]["ownerReferences"], pod["spec"]["nodeName"]
    assert play(make_upgrade("1.36", "1.37", pod), orders_max=0).breaks == []
