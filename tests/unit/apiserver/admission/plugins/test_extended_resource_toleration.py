from mockkube.apiserver.admission.plugins.extended_resource_toleration import ExtendedResourceToleration


def pod(*names, **spec):
    resources = {"limits": dict.fromkeys(names, "1")}
    spec = {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


def toleration(name):
    return {"key": name, "operator": "Exists", "effect": "NoSchedule"}


async def test_a_pod_tolerates_taints_named_after_what_it_asks_for(world):
    given = [toleration("example.com/gpu")]
    request = world.creation(pod("cpu", "example.com/gpu", "example.com/fpga", tolerations=given))
    ExtendedResourceToleration().admit(request)
    assert request.new["spec"]["tolerations"] == [toleration("example.com/gpu"), toleration("example.com/fpga")]


async def test_ordinary_resources_need_no_toleration(world):
    request = world.creation(pod("cpu"))
    ExtendedResourceToleration().admit(request)
    assert "tolerations" not in request.new["spec"]
