import pytest

from mockkube.scheduler.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation

_ROOM = {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10"}}


def _asks(**requests: str) -> list[dict[str, object]]:
    return [{"name": "c", "resources": {"requests": requests}}]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("1.36", {"level": 68, "tilted": 81}, id="the change counts"),
        pytest.param("1.35", {"level": 87, "tilted": 100}, id="what comes of it counts"),
    ],
)
def test_a_node_is_better_the_more_even_the_pod_makes_it(worlds, version, expected) -> None:
    world = worlds(version)
    for name in ("level", "tilted"):
        world.node(name, status=_ROOM)
    world.pod(nodeName="level", containers=_asks(cpu="1", memory="1Gi"))
    world.pod(nodeName="tilted", containers=_asks(cpu="1", memory="2Gi"))
    pod = world.pod(containers=_asks(cpu="1"))
    assert world.scores(world.build(NodeResourcesBalancedAllocation), pod) == expected


def test_more_than_two_resources_are_judged_by_their_deviation(world) -> None:
    foo = "example.com/foo"
    world.node("n1", status={"allocatable": {**_ROOM["allocatable"], foo: "4"}})
    plugin = world.build(NodeResourcesBalancedAllocation, resources=[{"name": name} for name in ("cpu", "memory", foo)])
    pod = world.pod(containers=[{"name": "c", "resources": {"requests": {"cpu": "4", foo: "4"}}}])
    assert world.scores(plugin, pod) == {"n1": 51}  # a deviation of 0.47: 50 + (50 + 52 - 100) // 2


def test_pods_that_ask_for_nothing_are_left_alone(world) -> None:
    world.node("n1", status=_ROOM)
    assert world.scores(world.build(NodeResourcesBalancedAllocation), world.pod()) == {}
