from mockkube.api.kinds.scheduling import pod_group, priority_class
from mockkube.features.capabilities import Capabilities


def test_pods_of_a_class_push_others_out():
    obj = {"value": 1}
    priority_class.default_priority_class(obj, Capabilities())
    assert obj == {"value": 1, "preemptionPolicy": "PreemptLowerPriority"}


def test_pods_of_a_group_are_disrupted_one_by_one():
    group, later = {"spec": {}}, {"spec": {}}
    pod_group.default_pod_group_v1alpha2(group, Capabilities())
    pod_group.default_pod_group(later, Capabilities())
    assert group["spec"] == {"disruptionMode": "Pod"}
    assert later["spec"] == {"disruptionMode": {"single": {}}}


def test_with_the_gate_groups_push_others_out():
    obj = {"spec": {"disruptionMode": {"all": {}}}}
    pod_group.default_pod_group(obj, Capabilities(gates=frozenset({"PodGroupPreemptionPolicy"})))
    assert obj["spec"] == {"disruptionMode": {"all": {}}, "preemptionPolicy": "PreemptLowerPriority"}
