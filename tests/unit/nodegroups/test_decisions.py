"""Decisions of the node autoscaler that depend on nothing but their arguments."""

from collections import Counter
from typing import Any

import pytest

from mockkube.nodegroups.drainability import find_blocker, sort_pods
from mockkube.nodegroups.node_group import InstanceType, NodeGroup, NodeTemplate, price_of
from mockkube.nodegroups.scale_down import calculate_utilization, find_candidates
from mockkube.nodegroups.scale_up import ScaleUpOption, balance_zones, choose_option, describe_rejection, place_pods

SMALL = InstanceType("small", {"cpu": "2", "memory": "8Gi"}, 0.1)
LARGE = InstanceType("large", {"cpu": "8", "memory": "32Gi"}, 0.3)
UNPRICED = InstanceType("own", {"cpu": "8", "memory": "32Gi"})


def group(name: str = "g", **fields: Any) -> NodeGroup:
    return NodeGroup(**{"name": name, "min_size": 0, "max_size": 9, "instance_types": (SMALL, LARGE), **fields})


def pod(name: str = "p", cpu: str = "500m", owner: str = "ReplicaSet", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": name, **fields.pop("metadata", {})}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "o", "uid": "o", "controller": True}]
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    return {"metadata": metadata, "spec": {"containers": containers, **fields}, "status": {"phase": "Running"}}


def budget(allowed: int) -> dict[str, Any]:
    metadata = {"name": "b", "namespace": "default"}
    return {"metadata": metadata, "spec": {"selector": {}}, "status": {"disruptionsAllowed": allowed}}


def option(instance_type: InstanceType, count: int, pods: int, waste: float, zone: str = "") -> ScaleUpOption:
    taken = tuple(pod(f"p{index}") for index in range(pods))
    return ScaleUpOption(NodeTemplate(group(), instance_type, zone), count, taken, waste)


def test_the_lowest_price_per_pod_wins() -> None:
    cheap, dear = option(SMALL, 4, 16, 0.2), option(LARGE, 1, 16, 0.5)
    assert choose_option([cheap, dear]) is dear
    assert choose_option([cheap, option(LARGE, 1, 2, 0.9)]) is cheap
    assert choose_option([]) is None


def test_without_a_price_the_least_waste_wins_and_ties_are_broken_by_name() -> None:
    assert choose_option([option(SMALL, 4, 16, 0.2), own := option(UNPRICED, 1, 16, 0.1)]) is own
    first, second = option(SMALL, 1, 4, 0.5, "b"), option(SMALL, 1, 4, 0.5, "a")
    assert choose_option([first, second]) is second


@pytest.mark.parametrize(
    ("given", "allowed", "reason"),
    [
        (pod(), 1, ""),
        (pod(), 0, "not enough pod disruption budget to move it"),
        (pod(owner=""), 1, "not replicated"),
        (pod(owner="", metadata={"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}}), 1, ""),
        (
            pod(metadata={"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}),
            1,
            "annotated as not safe to evict",
        ),
        (pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), 1, "has local storage: volume v"),
        (pod(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}]), 1, ""),
        (
            pod(
                volumes=[{"name": "v", "emptyDir": {}}],
                metadata={"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "u, v"}},
            ),
            1,
            "",
        ),
    ],
)
def test_some_pods_may_not_be_moved(given: dict[str, Any], allowed: int, reason: str) -> None:
    assert find_blocker(given, [budget(allowed)]) == reason


def test_a_system_pod_needs_a_budget() -> None:
    system = pod(metadata={"namespace": "kube-system"})
    assert find_blocker(system, [budget(1)]) == "in the namespace kube-system without a pod disruption budget"
    own = {**budget(1), "metadata": {"name": "b", "namespace": "kube-system"}}
    assert find_blocker(system, [own]) == ""


def test_pods_of_the_node_and_finished_ones_need_not_move() -> None:
    mirror = pod("m", owner="Node", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    done = {**pod("d", owner=""), "status": {"phase": "Succeeded"}}
    found = sort_pods([pod("a"), pod("ds", owner="DaemonSet"), mirror, done], [])
    assert ([one["metadata"]["name"] for one in found.movable], found.blocker) == (["a"], "")
    assert sort_pods([pod("a", owner="")], []).blocker == "default/a: not replicated"


def test_candidates_are_little_used_nodes_of_groups_empty_ones_first() -> None:
    template = NodeTemplate(group(), SMALL)
    nodes = [template.make_ready_node(name) for name in ("full", "used", "empty", "kept", "other")]
    nodes[3]["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = "true"
    pods = {"full": [pod("a", "600m"), pod("b", "600m")], "used": [pod("c")]}
    groups = {name: group() for name in ("full", "used", "empty", "kept")}
    found = find_candidates(groups, nodes, lambda name: pods.get(name, []), [])
    assert [one.name for one in found] == ["empty", "used"]
    assert calculate_utilization(nodes[0], pods["full"]) == 0.6


def test_prices_are_those_of_the_annotation_or_of_the_type() -> None:
    node = NodeTemplate(group(), LARGE).make_ready_node("n")
    assert price_of(node, []) == 0.3
    node["metadata"]["annotations"] = {}
    assert (price_of(node, [group()]), price_of(node, [])) == (0.3, 0.0)
    node["metadata"]["annotations"] = {"mockkube.dev/price-per-hour": "much"}
    assert price_of(node, [group()]) == 0.0


def test_limits_count_the_nodes_that_are_there() -> None:
    nodes = [NodeTemplate(group(), SMALL).make_ready_node("n")]
    assert group(limits={"cpu": "4"}).find_exceeded_limit(nodes, SMALL) == ""
    assert group(limits={"cpu": "4"}).find_exceeded_limit(nodes, LARGE) == "cpu"


def test_reasons_are_counted_as_upstream_does() -> None:
    text = describe_rejection({"max node group size reached": 2, "Insufficient cpu": 1})
    assert text == "pod didn't trigger scale-up: 1 Insufficient cpu, 2 max node group size reached"


def test_ten_thousand_nodes_are_spread_evenly_over_a_hundred_zones() -> None:
    templates = tuple(group(zones=[f"z{number}" for number in range(100)]).templates())
    assert len(templates) == 200
    there = [{"metadata": {"labels": {"topology.kubernetes.io/zone": "z7"}}}] * 30
    added = balance_zones(templates, there, 10_000 - len(there))
    assert {one.instance_type.name for one in added} == {"small"}
    sizes = Counter(one.zone for one in added)
    assert (sizes.pop("z7"), set(sizes.values())) == (70, {100})


@pytest.mark.parametrize(
    ("other", "tried"),
    [
        pytest.param(pod("b"), ["a"], id="alike"),
        pytest.param(pod("b", volumes=[{"name": "kube-api-access-x1"}]), ["a", "b"], id="with volumes"),
        pytest.param(pod("b", cpu="100m"), ["a", "b"], id="smaller"),
        pytest.param(pod("b", nodeSelector={"zone": "a"}), ["a", "b"], id="elsewhere"),
        pytest.param(pod("b", metadata={"labels": {"app": "b"}}), ["a", "b"], id="with other labels"),
    ],
)
def test_pods_like_one_that_does_not_fit_are_not_tried(other: dict[str, Any], tried: list[str]) -> None:
    asked: list[str] = []

    def place(one: Any) -> str:
        asked.append(one["metadata"]["name"])
        return ""

    assert place_pods(place, [pod("a"), other]) == ([], [pod("a"), other])
    assert asked == tried


@pytest.mark.parametrize(
    "fields",
    [{"owner": ""}, {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}}],
    ids=["of no controller", "near others"],
)
def test_other_pods_are_tried_each(fields: dict[str, Any]) -> None:
    rooms = iter(["", "n"])
    placed, left = place_pods(lambda one: next(rooms), [pod("a", **fields), pod("b", **fields)])
    assert [[one["metadata"]["name"] for one in pods] for pods in (placed, left)] == [["b"], ["a"]]


def test_token_volumes_do_not_make_pods_different() -> None:
    first, second = (pod(name, volumes=[{"name": f"kube-api-access-{name}"}]) for name in "ab")
    rooms = iter([""])
    assert place_pods(lambda one: next(rooms), [first, second]) == ([], [first, second])
