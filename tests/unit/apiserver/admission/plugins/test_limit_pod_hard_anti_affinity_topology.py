import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology

PLUGIN = LimitPodHardAntiAffinityTopology()


def pod(key):
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"containers": [{"name": "c", "image": "i"}], "affinity": affinity}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


async def test_a_pod_may_keep_others_off_its_node(world):
    PLUGIN.validate(world.creation(pod("kubernetes.io/hostname")))


async def test_a_pod_may_not_keep_others_out_of_its_zone(world):
    with pytest.raises(Forbidden) as caught:
        PLUGIN.validate(world.creation(pod("zone")))
    assert caught.value.message == (
        'pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key '
        "kubernetes.io/hostname is allowed"
    )
