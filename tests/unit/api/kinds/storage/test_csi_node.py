import pytest

from mockkube.api.kinds.storage.csi_node import CSINodeStrategy

STRATEGY = CSINodeStrategy()


def node(*drivers):
    return {"metadata": {"name": "n"}, "spec": {"drivers": list(drivers)}}


def driver(name="d", **fields):
    return {"name": name, "nodeID": "n1", **fields}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(node(driver()), [], id="fine"),
        pytest.param(node(driver(), driver()), ['spec.drivers[1].name: Duplicate value: "d"'], id="twice"),
        pytest.param(node(driver(nodeID="")), ["spec.drivers[0].nodeID: Required value"], id="no node"),
        pytest.param(
            node(driver(topologyKeys=["a", "a"])), ['spec.drivers[0]: Duplicate value: "a"'], id="the same key twice"
        ),
    ],
)
def test_drivers_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


@pytest.mark.parametrize(("gates", "refused"), [((), True), (("MutableCSINodeAllocatableCount",), False)])
def test_the_count_changes_behind_a_gate(judge, gates, refused):
    new, old = node(driver(allocatable={"count": 2})), node(driver(allocatable={"count": 1}))
    assert bool(STRATEGY.validate_update(new, old, judge(*gates))) is refused


def test_drivers_come_and_go_but_do_not_change(judge):
    assert STRATEGY.validate_update(node(driver("b")), node(driver("a")), judge()) == []
    (error,) = STRATEGY.validate_update(node(driver(nodeID="n2")), node(driver()), judge())
    assert str(error) == (
        'spec.drivers: Invalid value: {"Name":"d","NodeID":"n2","TopologyKeys":null,"Allocatable":null}: '
        "field is immutable"
    )
