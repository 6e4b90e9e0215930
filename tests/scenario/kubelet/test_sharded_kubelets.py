"""Kubelets of several processes share the nodes, and pods keep running when a node moves from one to the other."""

from prometheus_client import CollectorRegistry

from mockkube.client import identity
from mockkube.client.protocol import EVERYTHING, WatchEventType
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import DEFAULT
from mockkube.kubelet.sharded_kubelets import ShardedKubelets
from mockkube.proposals.loading import default_trains
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.random import Random
from mockkube.shell.containers.container_states import ContainerStates


def start_process(world, name):
    """Return the kubelets of another process, which run from now on."""
    trains = default_trains()
    capabilities = Capabilities(DEFAULT, enabled_gates(DEFAULT, {}, trains, component="kubelet"), trains)
    dependencies = ComponentDependencies(
        name,
        world.lab.client(identity.kubelets(DEFAULT)),
        capabilities,
        world.lab.clock,
        Random.from_seed(name, "kubelets"),
        CollectorRegistry(),
        lambda node: True,
    )
    kubelets = ShardedKubelets(dependencies, ContainerStates())
    world.lab._executor.add_workers(kubelets.workers)
    return kubelets


async def kill(world, kubelets):
    """End the process without a word to anybody."""
    await world.lab._executor.remove_workers(kubelets.workers)


async def list_members(world):
    listed = await world.client.list("Lease")
    return [one for one in listed.items if one["metadata"].get("labels", {}).get("mockkube.dev/member-of")]


async def roll_out(world, replicas):
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    await world.create("Deployment", "a", spec=spec)


async def find_running(world):
    pods = (await world.client.list("Pod")).items
    return {pod["metadata"]["name"]: pod for pod in pods if pod["status"].get("phase") == "Running"}


async def test_processes_share_the_nodes(begin):
    world = await begin(nodes=10, leader_elect=True)
    second = start_process(world, "kubelet-b")
    await world.lab.advance(10)
    first = world.lab.get_component("kubelet")
    owned = [[node for node in (f"node-{n}" for n in range(1, 11)) if one.shards.owns(node)] for one in (first, second)]
    assert sorted(owned[0] + owned[1]) == sorted(f"node-{n}" for n in range(1, 11))
    assert all(owned)
    await roll_out(world, 20)
    await world.lab.advance(10)
    assert len(await find_running(world)) == 20
    assert len(await list_members(world)) == 2


async def test_pods_keep_running_when_their_process_is_killed(begin):
    world = await begin(nodes=6, leader_elect=True)
    second = start_process(world, "kubelet-b")
    await world.lab.advance(10)
    await roll_out(world, 18)
    await world.lab.advance(10)
    before = await find_running(world)
    assert len(before) == 18
    await kill(world, second)
    watch = await world.client.watch("Pod", EVERYTHING, (await world.client.list("Pod")).resource_version)
    await world.lab.advance(120)
    after = await find_running(world)
    assert {name: pod["metadata"]["uid"] for name, pod in after.items()} == {
        name: pod["metadata"]["uid"] for name, pod in before.items()
    }
    # No container was started again, and no pod was anything but Running and ready meanwhile.
    for name, pod in after.items():
        assert pod["status"]["containerStatuses"] == before[name]["status"]["containerStatuses"]
        assert pod["status"]["podIP"] == before[name]["status"]["podIP"]
    changes = watch.take() if watch.is_ready() else []
    assert [change for change in changes if change.object["status"]["phase"] != "Running"] == []
    assert not any(change.type is WatchEventType.DELETED for change in changes)
    await watch.close()
    nodes = (await world.client.list("Node")).items
    assert not any(node["spec"].get("taints") for node in nodes)
    # The nodes that it had get new pods, too.
    await world.merge("Deployment", "a", {"spec": {"replicas": 36}})
    await world.lab.advance(10)
    assert len(await find_running(world)) == 36


async def test_a_process_that_joins_and_leaves_restarts_no_container(begin):
    world = await begin(nodes=6, leader_elect=True)
    await roll_out(world, 18)
    await world.lab.advance(10)
    before = await find_running(world)
    second = start_process(world, "kubelet-b")
    await world.lab.advance(60)
    assert any(second.shards.owns(f"node-{number}") for number in range(1, 7))
    await kill(world, second)
    await second.stop()
    await world.lab.advance(10)
    after = await find_running(world)
    assert {name: pod["status"] for name, pod in after.items()} == {name: pod["status"] for name, pod in before.items()}
    assert len(await list_members(world)) == 1


async def test_a_container_that_ends_in_the_middle_of_a_handover_ends_once(begin):
    world = await begin(nodes=1, leader_elect=True)
    await world.pod(
        "p", "node-1", restartPolicy="OnFailure",
        containers=[{"name": "main", "image": "busybox", "command": ["sh", "-c", "sleep 70; exit 3"]}],
    )  # fmt: skip
    await world.lab.advance(10)
    second = start_process(world, "kubelet-b")
    # A second process may get the only node or not: kill whichever has it, again and again.
    first = world.lab.get_component("kubelet")
    await world.lab.advance(20)
    owner = second if second.shards.owns("node-1") else first
    if owner is second:
        await kill(world, second)
    else:
        await world.lab.change_component("kubelet", running=False)
    await world.lab.advance(75)
    [container] = (await world.status("p"))["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 3


async def test_a_stopped_kubelet_deletes_its_member(begin):
    world = await begin(nodes=2, leader_elect=True)
    await world.lab.advance(5)
    assert len(await list_members(world)) == 1
    await world.lab.change_component("kubelet", running=False)
    assert await list_members(world) == []


async def test_the_kubelet_of_one_node_has_that_node_alone(begin):
    world = await begin(nodes=3, leader_elect=True)
    await world.lab.change_component("kubelet.node-2", version="1.35")
    await world.lab.advance(10)
    node = await world.get("Node", "node-2", "")
    assert node["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.35")
    own, others = world.lab.get_component("kubelet.node-2"), world.lab.get_component("kubelet")
    assert [one.shards.owns("node-2") for one in (own, others)] == [True, False]
    assert [one.shards.owns("node-1") for one in (own, others)] == [False, True]
