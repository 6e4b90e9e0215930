import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.priority import Priority

PLUGIN = Priority()


def pod(**spec):
    containers = [{"name": "c", "image": "i"}]
    metadata = {"name": "p", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def priority_class(name, value, **rest):
    metadata = {"name": name}
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata,
        "value": value,
        **rest,
    }


def standing(request):
    return {
        key: value
        for key, value in request.new["spec"].items()
        if key in ("priorityClassName", "priority", "preemptionPolicy")
    }


async def test_without_classes_a_pod_has_priority_zero(world):
    request = world.creation(pod())
    PLUGIN.admit(request)
    assert standing(request) == {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}


async def test_a_class_gives_its_value_and_policy(world):
    await world.put(priority_class("high", 1000, preemptionPolicy="Never"))
    request = world.creation(pod(priorityClassName="high"))
    PLUGIN.admit(request)
    assert standing(request) == {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"}


async def test_of_several_default_classes_the_lowest_counts(world):
    await world.put(priority_class("b", 20, globalDefault=True), priority_class("a", 10, globalDefault=True))
    request = world.creation(pod())
    PLUGIN.admit(request)
    assert standing(request)["priorityClassName"] == "a"
    assert standing(request)["priority"] == 10


async def test_a_new_default_class_counts_from_then_on(world):
    await world.put(priority_class("a", 10, globalDefault=True))
    plugin, found = Priority(), []
    for lower in (None, None, priority_class("b", 5, globalDefault=True)):
        if lower is not None:
            await world.put(lower)
        request = world.creation(pod())
        plugin.admit(request)
        found.append(standing(request)["priorityClassName"])
    assert found == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"priorityClassName": "missing"},
            "no PriorityClass with name missing was found",
            id="of no class there is",
        ),
        pytest.param(
            {"priorityClassName": "high", "priority": 3},
            "the integer value of priority (3) must not be provided in pod spec; priority admission controller "
            "computed 1000 from the given PriorityClass name",
            id="with another priority",
        ),
        pytest.param(
            {"priorityClassName": "high", "preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission "
            "controller computed PreemptLowerPriority from the given PriorityClass name",
            id="with another policy",
        ),
    ],
)
async def test_a_pod_is_refused(world, spec, why):
    await world.put(priority_class("high", 1000))
    with pytest.raises(Forbidden) as caught:
        PLUGIN.admit(world.creation(pod(**spec)))
    assert caught.value.message == f'pods "p" is forbidden: {why}'


async def test_an_update_keeps_what_it_leaves_out(world):
    request = world.update(pod(), pod(priority=5, preemptionPolicy="Never"))
    PLUGIN.admit(request)
    assert standing(request) == {"priority": 5, "preemptionPolicy": "Never"}


async def test_there_is_one_default_class(world):
    await world.put(priority_class("first", 1, globalDefault=True))
    with pytest.raises(Forbidden) as caught:
        PLUGIN.validate(world.creation(priority_class("second", 2, globalDefault=True)))
    assert caught.value.message == (
        'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass first is already marked as default. '
        "Only one default can exist"
    )


async def test_the_default_class_may_be_updated(world):
    first = priority_class("first", 1, globalDefault=True)
    await world.put(first)
    PLUGIN.validate(world.update({**first, "description": "new"}, first))
