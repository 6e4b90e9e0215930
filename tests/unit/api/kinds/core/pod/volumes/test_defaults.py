import pytest

from mockkube.api.kinds.core.pod.volumes.defaults import default_persistent_volume_source, default_volume
from mockkube.features.capabilities import Capabilities


def defaulted(volume, *gates):
    default_volume(volume, Capabilities(gates=frozenset(gates)))
    return volume


@pytest.mark.parametrize("volume", [{"name": "v"}, {}], ids=["named", "not even named"])
def test_a_volume_without_a_source_is_an_empty_directory(volume):
    assert defaulted(volume)["emptyDir"] == {}


RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
AZURE = {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}
SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}


@pytest.mark.parametrize(
    ("source", "given", "filled"),
    [
        pytest.param("hostPath", {"path": "/x"}, {"path": "/x", "type": ""}, id="a path of the node"),
        pytest.param("iscsi", {}, {"iscsiInterface": "default"}, id="iscsi"),
        pytest.param("rbd", {"pool": "mine"}, {**RBD, "pool": "mine"}, id="rbd"),
        pytest.param("azureDisk", {"readOnly": True}, {**AZURE, "readOnly": True}, id="azure"),
        pytest.param("scaleIO", {}, SCALE_IO, id="scale io"),
    ],
)
def test_sources_are_alike_in_pods_and_in_persistent_volumes(source, given, filled):
    assert defaulted({"name": "v", source: dict(given)})[source] == filled
    spec = {"capacity": {}, source: dict(given)}
    default_persistent_volume_source(spec)
    assert spec == {"capacity": {}, source: filled}


@pytest.mark.parametrize("source", ["secret", "configMap", "downwardAPI", "projected"])
def test_files_may_be_read_by_all(source):
    assert defaulted({"name": "v", source: {}})[source]["defaultMode"] == 0o644
    assert defaulted({"name": "v", source: {"defaultMode": 0}})[source]["defaultMode"] == 0


def test_fields_of_the_pod_are_those_of_v1():
    items = [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}, {"path": "b", "resourceFieldRef": {}}]
    filled = defaulted({"name": "v", "downwardAPI": {"items": items}})["downwardAPI"]["items"]
    assert filled == [{"path": "a", "fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}, items[1]]


def test_projected_sources_are_filled_in():
    sources = [
        {"serviceAccountToken": {"path": "t"}},
        {"downwardAPI": {"items": [{"fieldRef": {"fieldPath": "metadata.uid"}}]}},
        {"secret": {"name": "s"}},
    ]
    assert defaulted({"name": "v", "projected": {"sources": sources}})["projected"]["sources"] == [
        {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
        {"downwardAPI": {"items": [{"fieldRef": {"fieldPath": "metadata.uid", "apiVersion": "v1"}}]}},
        {"secret": {"name": "s"}},
    ]


def test_the_list_of_projected_sources_may_be_null():
    assert defaulted({"name": "v", "projected": {"sources": None}})["projected"]["defaultMode"] == 0o644


def test_a_claim_of_a_pod_is_filled_in():
    template = {"spec": {"resources": {"requests": {"storage": "1u"}}}}
    filled = defaulted({"name": "v", "ephemeral": {"volumeClaimTemplate": template}})
    assert filled["ephemeral"]["volumeClaimTemplate"]["spec"] == {
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": "1m"}},
    }


def test_an_image_is_pulled_as_that_of_a_container():
    def policy(reference, *gates):
        return defaulted({"name": "v", "image": {"reference": reference}}, *gates)["image"].get("pullPolicy")

    assert policy("data", "ImageVolume") == "Always"
    assert policy("data:1", "ImageVolume") == "IfNotPresent"
    assert policy("data") is None
