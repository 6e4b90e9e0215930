"""The order of nodes: zones in turn."""

from mockkube.scheduler.framework.node_tree import NodeTree, zone_key

ZONE = "topology.kubernetes.io/zone"


def tree(**zones):
    made = NodeTree()
    for name, zone in zones.items():
        made.add_or_move(name, {ZONE: zone} if zone else {})
    return made


def test_nodes_of_zones_take_turns():
    assert tree(a1="a", a2="a", a3="a", b1="b", c1="c", c2="c").names() == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_a_node_that_changes_zone_goes_to_its_end():
    made = tree(a1="a", b1="b", b2="b")
    assert made.add_or_move("a1", {ZONE: "b"})
    assert made.names() == ["b1", "b2", "a1"]


def test_a_node_that_stays_in_its_zone_changes_nothing():
    made = tree(a1="a")
    assert not made.add_or_move("a1", {ZONE: "a", "color": "blue"})


def test_a_node_that_goes_leaves_no_empty_zone():
    made = tree(a1="a", b1="b")
    made.remove("a1")
    assert made.names() == ["b1"]


def test_the_older_labels_count_first():
    labels = {"failure-domain.beta.kubernetes.io/zone": "old", ZONE: "new", "topology.kubernetes.io/region": "r"}
    assert zone_key(labels) == ("r", "old")
