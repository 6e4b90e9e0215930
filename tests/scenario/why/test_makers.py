"""What makes pods, and makes none: whose doing that is."""

from typing import Any

from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Key
from mockkube.cluster.components.explained_components import make_cluster_components
from mockkube.explain.owner_explanation import OwnerExplanation, explain_owner
from mockkube.explain.owners import find_workload

GT = "TaintTolerationComparisonOperators"
TEMPLATE = {
    "metadata": {"labels": {"app": "d"}},
    "spec": {
        "tolerations": [{"key": "sla", "operator": "Gt", "value": "900"}],
        "containers": [{"name": "c", "image": "i"}],
    },
}


async def daemons(world: Any) -> None:
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": TEMPLATE}
    await world.create("DaemonSet", "d", spec=spec)


async def making(world: Any, called: str = "ds") -> OwnerExplanation:
    maker = await find_workload(world.client, Key("default", "d"), called)
    assert maker is not None
    team = make_cluster_components(world.lab.get_component_specs(), {})
    return await explain_owner(world.client, team, maker, world.lab.clock.now())


async def test_a_daemon_set_without_pods_on_a_node_names_taint_and_gate(begin: Any) -> None:
    world = await begin(off="kube-controller-manager")
    await world.taint("node-1", effect="NoSchedule")
    await daemons(world)
    found = await making(world)
    assert (len(found.pods), found.rejections) == (1, [])
    assert found.nodes == [("node-1", f"taint sla=950:NoSchedule; toleration Gt 900: {GT} is off")]
    told = [(one.component, one.change, one.node) for one in found.remedies]
    assert told == [("kube-controller-manager", f"{GT}=true", "node-1")]


async def test_pods_that_the_api_server_refuses_name_its_gate(begin: Any) -> None:
    world = await begin()
    await world.lab.change_component("kube-controller-manager", running=False)
    await daemons(world)
    await world.lab.change_component("kube-apiserver", gates={GT: False})
    await world.lab.change_component("kube-controller-manager", running=True)
    await world.lab.settle()
    found = await making(world)
    assert (found.pods, found.nodes) == ([], [])
    assert found.rejections[0].startswith('spec.tolerations[0].operator: Unsupported value: "Gt"')
    assert [(one.component, one.change) for one in found.remedies] == [("kube-apiserver", f"{GT}=true")]


async def test_a_kind_is_known_by_any_of_its_names(begin: Any) -> None:
    world = await begin()
    await daemons(world)
    for called in ("ds", "daemonsets", "daemonset.apps", ""):
        assert (await making(world, called)).kind == "DaemonSet"
    assert await find_workload(world.client, Key("default", "d"), "deploy") is None


async def test_what_the_controller_adds_to_a_daemon_is_no_loss(begin: Any) -> None:
    world = await begin()
    wish = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wish]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "affinity": affinity}}
    await world.create("DaemonSet", "d", spec={"selector": {"matchLabels": {"app": "d"}}, "template": template})
    assert [(await world.why(name)).notes for name in (await making(world)).pods] == [(), ()]


async def test_a_daemon_that_its_controller_took_away_names_the_gate(begin: Any) -> None:
    world = await begin(nodes=1)
    await daemons(world)
    await world.lab.change_component("kube-controller-manager", running=False)
    await world.taint("node-1", effect="NoExecute")
    [name] = (await making(world)).pods
    assert (await world.why(name)).obstacle is None
    await world.lab.change_component("kube-controller-manager", gates={GT: False}, running=True)
    await world.lab.advance(60)
    account = await world.why(name)
    assert account.gone
    assert account.obstacle is not None
    assert account.obstacle.component == "kube-controller-manager"
    assert ("kube-controller-manager", f"{GT}=true") in {(one.component, one.change) for one in account.remedies}


async def test_a_daemon_that_lacks_its_label_is_not_wanted(begin: Any) -> None:
    world = await begin(nodes=1)
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"disk": "ssd"}}}
    labels = {"metadata": {"labels": {"disk": "ssd"}}}
    await world.client.patch("Node", Key("", "node-1"), labels, patch_type=PatchType.MERGE)
    await world.create("DaemonSet", "d", spec={"selector": {"matchLabels": {"app": "d"}}, "template": template})
    [name] = (await making(world)).pods
    await world.client.patch(
        "Node", Key("", "node-1"), {"metadata": {"labels": {"disk": None}}}, patch_type=PatchType.MERGE
    )
    await world.lab.advance(60)
    account = await world.why(name)
    assert account.gone
    assert account.obstacle is not None
    assert account.obstacle.text == "wants no pod of daemonset d there (daemonset-controller)"
