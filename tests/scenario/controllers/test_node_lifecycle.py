"""Nodes that are lost, come back, or say something about themselves, in virtual time."""

import pytest

LIFECYCLE = "node-lifecycle-controller"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


@pytest.fixture
async def watched(sim):
    await sim.start(LIFECYCLE)
    for name in ("n1", "n2", "n3"):
        await sim.node(name)
    await sim.advance(5)
    return sim


async def beat(sim, seconds, *names):
    for _ in range(int(seconds / 5)):
        for name in names:
            await sim.heartbeat(name)
        await sim.advance(5)


async def test_a_silent_node_becomes_unknown_and_unreachable(watched):
    await watched.pod("p", on="n1")
    await watched.status("Pod", "p", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    await beat(watched, 45, "n2", "n3")
    assert await watched.taints("n1") == []
    await beat(watched, 15, "n2", "n3")
    node = await watched.get("Node", "n1", "")
    conditions = {one["type"]: (one["status"], one["reason"]) for one in node["status"]["conditions"]}
    assert conditions["Ready"] == ("Unknown", "NodeStatusUnknown")
    assert conditions["MemoryPressure"] == ("Unknown", "NodeStatusNeverUpdated")
    assert await watched.taints("n1") == [f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"]
    assert ("NodeNotReady", "Node n1 status is now: NodeNotReady", 1) in await watched.events("n1")
    pod = await watched.get("Pod", "p")
    assert [one["status"] for one in pod["status"]["conditions"]] == ["False"]
    assert await watched.events("p") == [("NodeNotReady", "Node is not ready", 1)]
    assert await watched.taints("n2") == []


async def test_a_node_that_comes_back_loses_both_taints(watched):
    await beat(watched, 60, "n2", "n3")
    await beat(watched, 10, "n1", "n2", "n3")
    assert await watched.taints("n1") == []


async def test_a_renewed_lease_is_a_sign_of_life(watched):
    await watched.create("Namespace", "kube-node-lease", "") if not await watched.get(
        "Namespace", "kube-node-lease", ""
    ) else None
    await watched.create("Lease", "n1", "kube-node-lease", spec={"holderIdentity": "n1"})
    for _ in range(14):
        now = watched.clock.now().strftime("%Y-%m-%dT%H:%M:%S.000000Z")
        await watched.merge("Lease", "n1", {"spec": {"renewTime": now}}, "kube-node-lease")
        await beat(watched, 5, "n2", "n3")
    assert await watched.taints("n1") == []


async def test_each_node_is_lost_one_pass_after_its_own_grace_period(watched):
    # By seconds until the last renewal: the first to fall silent is not the one that was heard of first.
    last_renewals = {"n1": 120, "n2": 20, "n3": 65}
    if not await watched.get("Namespace", "kube-node-lease", ""):
        await watched.create("Namespace", "kube-node-lease", "")
    for name in last_renewals:
        await watched.create("Lease", name, "kube-node-lease", spec={"holderIdentity": name})
    lost_at = {}
    for seconds in range(0, 200, 5):
        now = watched.clock.now().strftime("%Y-%m-%dT%H:%M:%S.000000Z")
        for name, last in last_renewals.items():
            if seconds <= last:
                await watched.merge("Lease", name, {"spec": {"renewTime": now}}, "kube-node-lease")
            if name not in lost_at and await watched.taints(name):
                lost_at[name] = seconds
        await watched.advance(5)
    assert {name: at - last_renewals[name] for name, at in lost_at.items()} == dict.fromkeys(("n2", "n3", "n1"), 60)


async def test_a_node_that_never_reported_gets_a_minute(watched):
    await watched.node("n4", ready="")
    await beat(watched, 55, "n1", "n2", "n3")
    assert await watched.taints("n4") == []
    await beat(watched, 10, "n1", "n2", "n3")
    node = await watched.get("Node", "n4", "")
    assert {one["reason"] for one in node["status"]["conditions"]} == {"NodeStatusNeverUpdated"}
    assert await watched.taints("n4") == [f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"]


async def test_a_kubelet_that_says_not_ready_gets_taints_and_no_event(watched):
    await watched.heartbeat("n1", "False")
    assert await watched.taints("n1") == [f"{NOT_READY}:NoSchedule"]
    await watched.advance(5.1)
    assert await watched.taints("n1") == [f"{NOT_READY}:NoSchedule", f"{NOT_READY}:NoExecute"]
    assert [event[0] for event in await watched.events("n1")] == ["RegisteredNode"]


async def test_nodes_are_tainted_one_in_ten_seconds(watched):
    for name in ("n4", "n5", "n6", "n7", "n8"):
        await watched.node(name)
    await watched.advance(5)
    await watched.heartbeat("n1", "False")
    await watched.heartbeat("n2", "False")
    await watched.advance(5.1)
    assert len(await watched.taints("n1") + await watched.taints("n2")) == 3
    await watched.advance(10)
    assert len(await watched.taints("n1") + await watched.taints("n2")) == 4


async def test_when_every_node_is_down_nobody_is_evicted(watched):
    await beat(watched, 60)
    await watched.advance(60)
    for name in ("n1", "n2", "n3"):
        assert await watched.taints(name) == [f"{UNREACHABLE}:NoSchedule"]


async def test_pressure_and_cordon_become_taints_and_foreign_ones_stay(watched):
    await watched.taint("n1", {"key": "mine", "effect": "NoSchedule"}, {"key": NOT_READY, "effect": "NoSchedule"})
    await watched.merge("Node", "n1", {"spec": {"unschedulable": True}}, "")
    assert await watched.taints("n1") == ["mine:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"]
    pressure = [{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "True"}]
    await watched.status("Node", "n1", {"conditions": pressure}, "")
    assert "node.kubernetes.io/memory-pressure:NoSchedule" in await watched.taints("n1")


async def test_old_labels_follow_those_of_today(watched):
    await watched.merge("Node", "n1", {"metadata": {"labels": {"kubernetes.io/os": "linux"}}}, "")
    node = await watched.get("Node", "n1", "")
    assert node["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux"


async def test_nodes_are_announced_when_they_come_and_go(watched):
    await watched.delete("Node", "n1", "")
    await watched.advance(5)
    assert await watched.events("n1") == [
        ("RegisteredNode", "Node n1 event: Registered Node n1 in Controller", 1),
        ("RemovingNode", "Node n1 event: Removing Node n1 from Controller", 1),
    ]


async def test_a_pod_bound_to_a_lost_node_is_marked_not_ready(watched):
    await beat(watched, 60, "n2", "n3")
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await watched.pod("p", status=status)
    await watched.status("Pod", "p", status)
    await watched.client.create(
        "Pod", {"target": {"kind": "Node", "name": "n1"}, "metadata": {"name": "p", "namespace": "default"}},
        subresource="binding", name="p",
    )  # fmt: skip
    await watched.settle()
    pod = await watched.get("Pod", "p")
    assert {one["type"]: one["status"] for one in pod["status"]["conditions"]}["Ready"] == "False"


async def test_small_clusters_let_kubelets_keep_nothing(sim):
    await sim.start("ttl-controller")
    await sim.node("n1")
    node = await sim.get("Node", "n1", "")
    assert node["metadata"]["annotations"]["node.alpha.kubernetes.io/ttl"] == "0"
