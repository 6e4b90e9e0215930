import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.runtime_class import RuntimeClass

PLUGIN = RuntimeClass()
OVERHEAD = {"podFixed": {"cpu": "100m"}}


def runtime(**rest):
    metadata = {"name": "vm"}
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": metadata, "handler": "vm", **rest}


def pod(**spec):
    containers = [{"name": "c", "image": "i"}]
    metadata = {"name": "p", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


async def test_a_pod_gets_the_overhead_of_its_class(world):
    await world.put(runtime(overhead=OVERHEAD))
    request = world.creation(pod(runtimeClassName="vm"))
    PLUGIN.admit(request)
    PLUGIN.validate(request)
    assert request.new["spec"]["overhead"] == {"cpu": "100m"}


async def test_a_pod_runs_where_its_class_says(world):
    tolerations = [{"key": "vm", "operator": "Exists"}]
    await world.put(runtime(scheduling={"nodeSelector": {"vm": "yes"}, "tolerations": tolerations}))
    request = world.creation(pod(runtimeClassName="vm", nodeSelector={"zone": "a"}))
    PLUGIN.admit(request)
    assert request.new["spec"]["nodeSelector"] == {"zone": "a", "vm": "yes"}
    assert request.new["spec"]["tolerations"] == tolerations


@pytest.mark.parametrize(
    ("of_class", "spec", "why"),
    [
        pytest.param({}, {"runtimeClassName": "no"}, 'pod rejected: RuntimeClass "no" not found', id="unknown class"),
        pytest.param(
            {"overhead": OVERHEAD},
            {"runtimeClassName": "vm", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            id="another overhead",
        ),
        pytest.param(
            {"scheduling": {"nodeSelector": {"vm": "yes"}}},
            {"runtimeClassName": "vm", "nodeSelector": {"vm": "no"}},
            "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
            id="elsewhere",
        ),
    ],
)
async def test_a_pod_at_odds_with_its_class_is_refused(world, of_class, spec, why):
    await world.put(runtime(**of_class))
    with pytest.raises(Forbidden) as caught:
        PLUGIN.admit(world.creation(pod(**spec)))
    assert caught.value.message == f'pods "p" is forbidden: {why}'


@pytest.mark.parametrize("overhead", [{"cpu": "1"}, {}], ids=["some", "empty"])
async def test_a_pod_without_class_states_no_overhead(world, overhead):
    with pytest.raises(Forbidden, match="Overhead set without corresponding RuntimeClass"):
        PLUGIN.validate(world.creation(pod(overhead=overhead)))


async def test_a_pod_may_leave_its_overhead_to_its_class_but_not_deny_it(world):
    await world.put(runtime(overhead=OVERHEAD))
    with pytest.raises(Forbidden, match="doesn't match RuntimeClass's"):
        PLUGIN.admit(world.creation(pod(runtimeClassName="vm", overhead={})))
