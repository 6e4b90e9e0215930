"""Nodes: registration, heartbeats that stop and come back, deletion, images."""


async def test_a_node_nobody_describes_is_described_and_ready(world, conditions):
    await world.node("n")
    node = await world.get("Node", "n", "")
    assert conditions(node, "Ready")["reason"] == "KubeletReady"
    assert node["status"]["features"] == {"supplementalGroupsPolicy": True}
    assert "RestartAllContainersOnContainerExits" in node["status"]["declaredFeatures"]
    assert "taints" not in node["spec"]
    lease = await world.get("Lease", "n", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "n"
    assert "NodeReady" in await world.reasons("n")


async def test_pods_of_a_node_without_heartbeats_are_evicted_and_end_when_it_is_back(begin, conditions):
    world = await begin(nodes=3)
    await world.pod("p", "node-1")
    await world.lab.change_component("kubelet.node-1", running=False)
    await world.lab.advance(60)
    node = await world.get("Node", "node-1", "")
    assert conditions(node, "Ready")["status"] == "Unknown"
    assert {taint["key"] for taint in node["spec"]["taints"]} == {"node.kubernetes.io/unreachable"}
    await world.lab.advance(310)
    assert (await world.get("Pod", "p"))["metadata"]["deletionTimestamp"]
    await world.lab.change_component("kubelet.node-1", running=True)
    await world.lab.advance(20)
    node = await world.get("Node", "node-1", "")
    assert (conditions(node, "Ready")["status"], "taints" in node["spec"]) == ("True", False)
    assert await world.get("Pod", "p") is None


async def test_a_node_says_that_it_is_not_ready_as_long_as_its_annotation_does(world, conditions):
    await world.merge("Node", "node-1", {"metadata": {"annotations": {"mockkube.dev/not-ready": "no network"}}}, "")
    ready = conditions(await world.get("Node", "node-1", ""), "Ready")
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "KubeletNotReady", "no network")
    await world.merge("Node", "node-1", {"metadata": {"annotations": {"mockkube.dev/not-ready": None}}}, "")
    assert conditions(await world.get("Node", "node-1", ""), "Ready")["status"] == "True"


async def test_a_node_of_the_same_name_is_another_node(world):
    await world.node("n")
    await world.delete("Node", "n", "")
    await world.node("n")
    await world.lab.advance(20)
    node = await world.get("Node", "n", "")
    lease = await world.get("Lease", "n", "kube-node-lease")
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
    await world.pod("p", "n")
    assert (await world.status("p"))["phase"] == "Running"


async def test_cordoning_is_told(world):
    await world.merge("Node", "node-1", {"spec": {"unschedulable": True}}, "")
    await world.merge("Node", "node-1", {"spec": {"unschedulable": None}}, "")
    assert [one for one in await world.reasons("node-1") if "chedulable" in one] == [
        "NodeNotSchedulable", "NodeSchedulable",
    ]  # fmt: skip


async def test_a_node_lists_the_images_its_pods_were_started_from(world):
    await world.pod("p", "node-1", containers=[{"name": "main", "image": "nginx:1.29"}])
    await world.pod("q", "node-1", containers=[{"name": "main", "image": "example.com/app@sha256:" + "0" * 64}])
    await world.lab.advance(10)
    images = (await world.get("Node", "node-1", ""))["status"]["images"]
    assert {image["names"][-1] for image in images} == {
        "docker.io/library/nginx:1.29", "example.com/app@sha256:" + "0" * 64,
    }  # fmt: skip


async def test_a_node_with_another_kubelet_is_left_alone(world):
    await world.node("n", {"mockkube.dev/kubelet": "none"})
    await world.pod("p", "n")
    assert (await world.get("Node", "n", ""))["status"].get("conditions") is None
    assert (await world.status("p"))["phase"] == "Pending"
    assert await world.get("Lease", "n", "kube-node-lease") is None
