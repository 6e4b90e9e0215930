"""Volume sources of old, and what the drivers that took them over call them."""

from typing import Any

import pytest

from mockkube.matching.csi_migration import (
    MIGRATED_PLUGINS,
    is_migrated_on,
    migration_of,
    migration_of_plugin,
    translate_topology,
    volume_handle,
)

ZONE = "topology.kubernetes.io/zone"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


@pytest.mark.parametrize(
    ("source", "fields", "expected"),
    [
        pytest.param("awsElasticBlockStore", {"volumeID": "vol-1"}, "vol-1", id="plain id"),
        pytest.param("awsElasticBlockStore", {"volumeID": "aws://eu-1a/vol-1"}, "vol-1", id="id with its zone"),
        pytest.param("gcePersistentDisk", {"pdName": "d"}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", id="disk"),
        pytest.param("azureDisk", {"diskURI": "/d", "kind": "managed"}, "/d", id="managed disk"),
        pytest.param("cinder", {"volumeID": "c"}, "c", id="id as it is"),
    ],
)
def test_a_volume_has_a_handle(source: str, fields: Any, expected: str) -> None:
    takeover = migration_of({source: fields})
    assert takeover is not None
    assert volume_handle(takeover, fields) == expected


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        pytest.param("eu-west1-b", "projects/UNSPECIFIED/zones/eu-west1-b/disks/d", id="one zone"),
        pytest.param("eu-west1-b__eu-west1-c", "projects/UNSPECIFIED/regions/eu-west1/disks/d", id="zones of a region"),
    ],
)
def test_a_google_disk_is_called_by_the_zones_it_is_labelled_with(zones: str, expected: str) -> None:
    takeover = migration_of({"gcePersistentDisk": {}})
    assert takeover is not None
    assert volume_handle(takeover, {"pdName": "d"}, {ZONE: zones}) == expected


@pytest.mark.parametrize(
    ("source", "fields", "labels", "message"),
    [
        pytest.param("azureDisk", {"kind": "Dedicated"}, {}, "Dedicated", id="a kind of disk nobody took over"),
        pytest.param("awsElasticBlockStore", {"volumeID": "aws://a/disk-1"}, {}, "Invalid format", id="not an id"),
        pytest.param("gcePersistentDisk", {"pdName": "d"}, {ZONE: "a__b"}, "unexpected format", id="not zones"),
        pytest.param("gcePersistentDisk", {"pdName": "d"}, {ZONE: "a-b-c__d-e-f"}, "multiple", id="two regions"),
    ],
)
def test_what_the_driver_cannot_take_over_is_refused(source: str, fields: Any, labels: Any, message: str) -> None:
    takeover = migration_of({source: fields})
    assert takeover is not None
    with pytest.raises(ValueError, match=message):
        volume_handle(takeover, fields, labels)


def test_a_plugin_is_taken_over_where_the_node_says_so() -> None:
    takeover = migration_of_plugin("kubernetes.io/aws-ebs")
    assert takeover is not None
    node = {"metadata": {"annotations": {MIGRATED_PLUGINS: "kubernetes.io/cinder,kubernetes.io/aws-ebs"}}}
    assert is_migrated_on(node, takeover)
    assert not is_migrated_on({"metadata": {}}, takeover)
    assert not is_migrated_on(None, takeover)


def test_nobody_takes_over_what_is_no_plugin_of_old() -> None:
    assert migration_of({"hostPath": {"path": "/"}}) is None
    assert migration_of_plugin("csi.example.com") is None


def ebs(labels: Any = None, terms: Any = None) -> Any:
    spec: dict[str, Any] = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    if terms is not None:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"metadata": {"name": "v", "labels": labels or {}}, "spec": spec}


def term(key: str, *values: str) -> Any:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


@pytest.mark.parametrize(
    ("volume", "terms"),
    [
        pytest.param(ebs(terms=[term(ZONE, "a")]), [term(EBS_ZONE, "a")], id="zone in the affinity"),
        pytest.param(ebs(terms=[term(BETA_ZONE, "a")]), [term(EBS_ZONE, "a")], id="zone by its name of old"),
        pytest.param(ebs({ZONE: "b__a"}), [term(EBS_ZONE, "a", "b")], id="zones in the label"),
        pytest.param(ebs({ZONE: "b"}, [term(ZONE, "a")]), [term(EBS_ZONE, "a")], id="affinity before label"),
    ],
)
def test_zones_are_called_as_the_driver_calls_them(volume: Any, terms: Any) -> None:
    takeover = migration_of(volume["spec"])
    assert takeover is not None
    assert translate_topology(volume, takeover)["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == terms


def test_a_volume_without_zones_stays_as_it_is() -> None:
    takeover = migration_of(ebs()["spec"])
    assert takeover is not None
    assert translate_topology(ebs(), takeover) == ebs()
