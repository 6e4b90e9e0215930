"""Admission in a whole cluster: restarts, rejection loops, preemption, kubelets of single nodes."""

from mockkube.features.versions import Version

GATE = "TaintTolerationComparisonOperators"
LEVEL = {"key": "level", "value": "900", "effect": "NoExecute"}
ABOVE = {"key": "level", "operator": "Gt", "value": "800", "effect": "NoExecute"}
CPU = {"requests": {"cpu": "3"}}


def greedy(name="main", **resources):
    return [{"name": name, "image": "nginx", "resources": resources or CPU}]


async def test_a_restart_admits_every_pod_anew_the_oldest_first(world):
    await world.pod("old", "node-1", containers=greedy())
    await world.lab.advance(5)
    await world.pod("young", "node-1")
    await world.merge("Node", "node-1", {"status": {"allocatable": {"pods": "1"}}}, "", "status")
    assert (await world.status("young"))["phase"] == "Running"
    await world.lab.restart_component("kubelet")
    await world.lab.settle()
    assert (await world.status("old"))["phase"] == "Running"
    status = await world.status("young")
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfpods")
    assert "containerStatuses" not in status
    assert [one["type"] for one in status.get("conditions", ())] == []


async def test_a_pod_that_only_the_scheduler_understands_is_replaced_and_refused_again(begin):
    world = await begin(feature_gates={GATE: True})
    await world.lab.change_component("kubelet", gates={GATE: False})
    await world.merge("Node", "node-1", {"spec": {"taints": [LEVEL]}}, "")
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}], "tolerations": [ABOVE]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    await world.create("ReplicaSet", "web", spec=spec)
    await world.lab.advance(1)
    pods = (await world.client.list("Pod")).items
    assert {pod["status"].get("reason") for pod in pods if pod["status"]["phase"] == "Failed"} == {"TaintToleration"}
    assert len(pods) > 1


async def test_critical_pods_take_the_room_of_others(world, conditions):
    await world.pod("small", "node-1", containers=greedy(requests={"cpu": "1"}))
    await world.pod("large", "node-1", containers=greedy(requests={"cpu": "2500m"}))
    await world.pod("vital", "node-1", containers=greedy(), priorityClassName="system-node-critical")
    assert (await world.status("vital"))["phase"] == "Running"
    victim = await world.get("Pod", "large")
    assert (victim["status"]["phase"], victim["status"]["reason"]) == ("Failed", "Preempting")
    assert conditions(victim, "DisruptionTarget")["reason"] == "TerminationByKubelet"
    assert (await world.status("small"))["phase"] == "Running"
    assert "Preempting" in await world.reasons("large")


async def test_labels_are_read_once_more_before_a_pod_is_refused_for_them(begin):
    world = await begin()
    deaf = {"component": "kubelet", "resources": ["nodes"], "verbs": ["watch"]}
    await world.lab.set_fault("deaf", {"match": deaf, "inject": {"dropWatch": True, "delaySeconds": 60}})
    await world.merge("Node", "node-1", {"metadata": {"labels": {"disk": "ssd"}}}, "")
    await world.pod("p", "node-1", nodeSelector={"disk": "ssd"})
    assert (await world.status("p"))["phase"] == "Running"


async def test_before_1_35_a_pod_is_refused_for_labels_that_the_kubelet_has_not_seen(begin):
    world = await begin()
    await world.lab.change_component("kubelet", version=Version(1, 34))
    await world.lab.advance(1)
    deaf = {"component": "kubelet", "resources": ["nodes"], "verbs": ["watch"]}
    await world.lab.set_fault("deaf", {"match": deaf, "inject": {"dropWatch": True, "delaySeconds": 60}})
    await world.merge("Node", "node-1", {"metadata": {"labels": {"disk": "ssd"}}}, "")
    await world.pod("p", "node-1", nodeSelector={"disk": "ssd"})
    assert (await world.status("p"))["reason"] == "NodeAffinity"


async def test_a_node_goes_to_a_kubelet_of_its_own_and_back(world):
    await world.pod("p", "node-1")
    await world.lab.change_component("kubelet.node-1", version=Version(1, 35))
    await world.lab.advance(1)
    assert (await world.get("Node", "node-1", ""))["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.35")
    await world.lab.remove_component("kubelet.node-1")
    await world.lab.advance(11)
    assert (await world.get("Node", "node-1", ""))["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.36")
    await world.pod("q", "node-1")
    assert (await world.status("q"))["phase"] == "Running"


async def test_a_pod_that_needs_a_feature_the_node_does_not_declare_is_refused(begin):
    world = await begin()
    gate = "RestartAllContainersOnContainerExits"
    await world.lab.change_component("kubelet", gates={gate: False})
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    await world.pod("p", "node-1", restartPolicy="Never", containers=[
        {"name": "main", "image": "nginx", "restartPolicy": "Never", "restartPolicyRules": [rule]},
    ])  # fmt: skip
    status = await world.status("p")
    assert status["reason"] == "PodFeatureUnsupported"
    assert status["message"] == f"Pod was rejected: Pod requires node features that are not available: {gate}"
    assert gate not in (await world.get("Node", "node-1", ""))["status"]["declaredFeatures"]


async def test_a_rejection_loop_is_told_of_with_its_rate(world):
    made = await world.create("ConfigMap", "web")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": made["metadata"]["uid"], "controller": True}
    for number in range(6):
        containers = greedy(requests={"cpu": "5"})
        await world.create("Pod", f"web-{number}", metadata={"ownerReferences": [owner]},
                           spec={"nodeName": "node-1", "containers": containers})  # fmt: skip
    sample = 'mockkube_kubelet_loop_rate{cause="OutOfcpu",controller="admission",object="ConfigMap default/web"}'
    assert f"{sample} 6" in world.lab.render_metrics("kubelet").decode()
    await world.lab.advance(61)
    assert sample not in world.lab.render_metrics("kubelet").decode()


async def test_a_restarted_kubelet_gives_no_address_twice(world):
    await world.pod("late", schedulingGates=[{"name": "example.dev/wait"}])
    await world.lab.advance(5)
    for name in ("a", "b", "c"):
        await world.pod(name, "node-1")
    await world.lab.change_component("kubelet", running=False)
    await world.merge("Pod", "late", {"spec": {"schedulingGates": None}})
    await world.lab.change_component("kubelet", running=True)
    await world.lab.settle()
    # It is the oldest, so it is synced first, when the others have their addresses already.
    addresses = [(await world.status(name))["podIP"] for name in ("late", "a", "b", "c")]
    assert len(set(addresses)) == 4
