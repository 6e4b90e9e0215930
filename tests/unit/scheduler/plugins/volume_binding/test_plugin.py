"""Which nodes have volumes for a pod's claims."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.matching.csi_migration import MIGRATED_PLUGINS
from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.volume_binding.plugin import VolumeBinding

ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
NO_MATCH = "node(s) didn't find available persistent volumes to bind"
NO_STORAGE = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
DONE = {"pv.kubernetes.io/bind-completed": "yes"}


def uses(*claims: str) -> dict[str, Any]:
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]}


def in_zone(zone: str) -> Any:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def add_claim(world: Any, name: str = "c", *, size: str = "1Gi", annotations: Any = None, **fields: Any) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **fields.pop("spec", {})}
    metadata = {"name": name, "namespace": "a", "uid": name, "resourceVersion": "1", "annotations": annotations or {}}
    world.other(
        "PersistentVolumeClaim", {"metadata": {**metadata, **fields.pop("metadata", {})}, "spec": spec, **fields}
    )


def add_volume(world: Any, name: str = "v", *, size: str = "1Gi", phase: str = "Available", **spec: Any) -> None:
    own = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    metadata = {"name": name, "uid": name, "resourceVersion": "1"}
    world.other("PersistentVolume", {"metadata": metadata, "spec": {**own, **spec}, "status": {"phase": phase}})


def add_class(world: Any, name: str = "local", mode: str = "WaitForFirstConsumer", **fields: Any) -> None:
    own = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode}
    world.other("StorageClass", {"metadata": {"name": name}, **own, **fields})


@pytest.fixture
def zones(world: Any) -> Any:
    """Two nodes in two zones, and a class whose volumes are chosen with the node."""
    world.node("n1", {"zone": "a"})
    world.node("n2", {"zone": "b"})
    add_class(world)
    return world


def test_a_bound_volume_is_where_its_affinity_says(zones: Any) -> None:
    add_claim(zones, annotations=DONE, spec={"volumeName": "v"})
    add_volume(zones, nodeAffinity=in_zone("b"), phase="Bound")
    plugin = zones.build(VolumeBinding)
    pod = zones.pod(**uses("c"))
    assert zones.refused(plugin, pod) == {"n1": ELSEWHERE}
    assert zones.filter(plugin, pod)["n1"].facts["volume"] == "v"


def test_a_bound_volume_that_is_gone_is_nowhere(zones: Any) -> None:
    add_claim(zones, annotations=DONE, spec={"volumeName": "v"})
    assert zones.refused(zones.build(VolumeBinding), zones.pod(**uses("c"))) == {"n1": NO_VOLUME, "n2": NO_VOLUME}


def test_a_delayed_claim_needs_a_volume_that_the_node_can_reach(zones: Any) -> None:
    add_claim(zones, spec={"storageClassName": "local"})
    add_volume(zones, nodeAffinity=in_zone("a"))
    assert zones.refused(zones.build(VolumeBinding), zones.pod(**uses("c"))) == {"n2": NO_MATCH}


def test_two_claims_do_not_get_the_same_volume(zones: Any) -> None:
    add_claim(zones, "c", spec={"storageClassName": "local"})
    add_claim(zones, "d", spec={"storageClassName": "local"})
    add_volume(zones, "v", nodeAffinity=in_zone("a"))
    add_volume(zones, "w", nodeAffinity=in_zone("a"))
    add_volume(zones, "x", nodeAffinity=in_zone("b"))
    assert zones.refused(zones.build(VolumeBinding), zones.pod(**uses("c", "d"))) == {"n2": NO_MATCH}


def test_all_that_is_wrong_with_a_node_is_said(zones: Any) -> None:
    add_claim(zones, "c", annotations=DONE, spec={"volumeName": "v"})
    add_volume(zones, "v", nodeAffinity=in_zone("b"), phase="Bound")
    add_claim(zones, "d", spec={"storageClassName": "local"})
    found = zones.filter(zones.build(VolumeBinding), zones.pod(**uses("c", "d")))
    assert found["n1"].reasons == (ELSEWHERE, NO_MATCH)
    assert found["n2"].reasons == (NO_MATCH,)
    assert found["n1"].code is Code.UNRESOLVABLE


def test_a_volume_given_to_one_pod_is_not_there_for_the_next(zones: Any) -> None:
    for name in ("c", "d"):
        add_claim(zones, name, spec={"storageClassName": "local"})
    add_volume(zones, nodeAffinity=in_zone("a"))
    plugin, first, second = zones.build(VolumeBinding), zones.pod(**uses("c")), zones.pod(**uses("d"))
    state, node = CycleState(), zones.cache.get("n1")
    plugin.pre_filter(state, first, zones.cache)
    assert plugin.filter(state, first, node).is_success
    assert plugin.reserve(state, first, "n1").is_success
    assert zones.refused(plugin, second) == {"n1": NO_MATCH, "n2": NO_MATCH}
    plugin.unreserve(state, first, "n1")
    assert zones.refused(plugin, second) == {"n2": NO_MATCH}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param(None, 'persistentvolumeclaim "c" not found', id="not there"),
        pytest.param({}, "pod has unbound immediate PersistentVolumeClaims", id="without a class"),
        pytest.param(
            {"spec": {"storageClassName": "gone"}},
            "pod has unbound immediate PersistentVolumeClaims",
            id="of a class that is not there",
        ),
        pytest.param(
            {"spec": {"storageClassName": "local", "volumeName": "v"}},
            "pod has unbound immediate PersistentVolumeClaims",
            id="with a volume that is not bound yet",
        ),
        pytest.param(
            {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}},
            'persistentvolumeclaim "c" is being deleted',
            id="about to go",
        ),
        pytest.param(
            {"status": {"phase": "Lost"}, "spec": {"volumeName": "v"}},
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="lost",
        ),
    ],
)
def test_a_claim_that_cannot_be_used_yet(zones: Any, fields: Any, message: str) -> None:
    if fields is not None:
        add_claim(zones, **fields)
    status = zones.filter(zones.build(VolumeBinding), zones.pod(**uses("c")))[""]
    assert (status.code, status.message) == (Code.UNRESOLVABLE, message)


def test_a_claim_made_for_the_pod_must_be_its_own(zones: Any) -> None:
    pod = zones.pod(volumes=[{"name": "v", "ephemeral": {}}])
    plugin = zones.build(VolumeBinding)
    waiting = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
    assert zones.filter(plugin, pod)[""].message == f'{waiting} "{pod.name}-v"'


def test_a_claim_of_that_name_made_by_somebody_else_is_refused(zones: Any) -> None:
    pod = zones.pod(volumes=[{"name": "v", "ephemeral": {}}])
    add_claim(zones, f"{pod.name}-v")
    message = f"PVC a/{pod.name}-v was not created for pod a/{pod.name} (pod is not owner)"
    assert zones.filter(zones.build(VolumeBinding), pod)[""].message == message


def test_a_pod_without_claims_is_left_alone(zones: Any) -> None:
    assert zones.filter(zones.build(VolumeBinding), zones.pod())[""].code is Code.SKIP


# Volumes that are to be made


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        pytest.param({}, {}, id="anywhere"),
        pytest.param(
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]}]},
            {"n1": NO_MATCH},
            id="where the class allows it",
        ),
        pytest.param({"provisioner": "kubernetes.io/no-provisioner"}, {"n1": NO_MATCH, "n2": NO_MATCH}, id="nowhere"),
    ],
)
def test_a_volume_can_be_made(zones: Any, fields: Any, refused: Any) -> None:
    add_class(zones, "made", **{"provisioner": "csi.example.com", **fields})
    add_claim(zones, spec={"storageClassName": "made"})
    assert zones.refused(zones.build(VolumeBinding), zones.pod(**uses("c"))) == refused


@pytest.mark.parametrize(
    ("capacity", "refused"),
    [
        pytest.param({"capacity": "2Gi"}, {"n2": NO_STORAGE}, id="enough in one zone"),
        pytest.param({"capacity": "500Mi"}, {"n1": NO_STORAGE, "n2": NO_STORAGE}, id="too little"),
        pytest.param(
            {"capacity": "2Gi", "maximumVolumeSize": "500Mi"},
            {"n1": NO_STORAGE, "n2": NO_STORAGE},
            id="too little for one volume",
        ),
        pytest.param({}, {"n1": NO_STORAGE, "n2": NO_STORAGE}, id="not said how much"),
    ],
)
def test_a_driver_that_counts_its_storage_must_have_some_left(zones: Any, capacity: Any, refused: Any) -> None:
    add_class(zones, "made", provisioner="csi.example.com")
    add_claim(zones, spec={"storageClassName": "made"})
    zones.other("CSIDriver", {"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}})
    own = {"storageClassName": "made", "nodeTopology": {"matchLabels": {"zone": "a"}}}
    zones.other("CSIStorageCapacity", {"metadata": {"name": "k", "namespace": "b"}, **own, **capacity})
    assert zones.refused(zones.build(VolumeBinding), zones.pod(**uses("c"))) == refused


def test_a_claim_that_a_node_was_selected_for_stays_there(zones: Any) -> None:
    add_class(zones, "made", provisioner="csi.example.com")
    selected = {"volume.kubernetes.io/selected-node": "n2"}
    add_claim(zones, annotations=selected, spec={"storageClassName": "made"})
    assert zones.refused(zones.build(VolumeBinding), zones.pod(**uses("c"))) == {"n1": NO_MATCH}


# Drivers that took over


def test_a_volume_of_old_is_where_its_driver_says_on_nodes_that_have_it(zones: Any) -> None:
    zones.node("n3", {"zone": "a", "topology.kubernetes.io/zone": "a", "topology.ebs.csi.aws.com/zone": "x"})
    zones.node("n4", {"zone": "a", "topology.kubernetes.io/zone": "x", "topology.ebs.csi.aws.com/zone": "a"})
    for name in ("n3", "n4"):
        annotations = {MIGRATED_PLUGINS: "kubernetes.io/aws-ebs"}
        zones.other("CSINode", {"metadata": {"name": name, "annotations": annotations}, "spec": {}})
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    add_claim(zones, annotations=DONE, spec={"volumeName": "v"})
    add_volume(zones, awsElasticBlockStore={"volumeID": "vol-1"}, nodeAffinity=affinity, phase="Bound")
    refused = zones.refused(zones.build(VolumeBinding), zones.pod(**uses("c")))
    assert refused == {"n1": ELSEWHERE, "n2": ELSEWHERE, "n3": ELSEWHERE}


# Scores


@pytest.mark.parametrize(
    ("version", "gates", "scores"),
    [
        pytest.param("1.36", {}, {}, id="not unless asked for"),
        pytest.param("1.36", {"StorageCapacityScoring": True}, {"n1": 50, "n2": 75}, id="the emptier the better"),
        pytest.param("1.37", {}, {"n1": 50, "n2": 75}, id="by default from 1.37 on"),
    ],
)
def test_nodes_are_scored_by_their_storage(worlds: Callable[..., Any], version: str, gates: Any, scores: Any) -> None:
    world = worlds(version, gates)
    add_class(world, "made", provisioner="csi.example.com")
    add_claim(world, spec={"storageClassName": "made"})
    world.other("CSIDriver", {"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}})
    for name, size in (("n1", "2Gi"), ("n2", "4Gi")):
        world.node(name, {"zone": name})
        topology = {"matchLabels": {"zone": name}}
        own = {"storageClassName": "made", "nodeTopology": topology, "capacity": size}
        world.other("CSIStorageCapacity", {"metadata": {"name": name, "namespace": "b"}, **own})
    plugin, pod, state = world.build(VolumeBinding), world.pod(**uses("c")), CycleState()
    plugin.pre_filter(state, pod, world.cache)
    for node in world.cache.all:
        assert plugin.filter(state, pod, node).is_success
    scored = plugin.pre_score(state, pod, world.cache.all).is_success
    assert {node.name: plugin.score(state, pod, node) for node in world.cache.all if scored} == scores
