from mockkube.apiserver.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition

TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def node(**spec):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": spec}


async def test_a_new_node_is_not_ready(world):
    request = world.creation(node(taints=[{"key": "a", "effect": "NoExecute"}]))
    TaintNodesByCondition().admit(request)
    assert request.new["spec"]["taints"] == [{"key": "a", "effect": "NoExecute"}, TAINT]


async def test_the_taint_is_not_doubled(world):
    request = world.creation(node(taints=[{**TAINT, "value": "x"}]))
    TaintNodesByCondition().admit(request)
    assert request.new["spec"]["taints"] == [{**TAINT, "value": "x"}]


async def test_an_update_does_not_bring_the_taint_back(world):
    request = world.update(node(), node())
    TaintNodesByCondition().admit(request)
    assert "taints" not in request.new["spec"]
