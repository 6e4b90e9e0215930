"""Volumes of a pod, whatever their source."""

import pytest

from mockkube.api.kinds.core.pod.volumes.volumes import PodVolumeValidationOptions, validate_volumes

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
EPHEMERAL = {"volumeClaimTemplate": {"metadata": {}, "spec": CLAIM}}


def judge(*volumes, pod="p", rules=PodVolumeValidationOptions()):  # noqa: B008 - frozen
    result = validate_volumes({"volumes": list(volumes)}, "v", pod, rules)
    return [str(error).partition(" (e.g.")[0] for error in result.errors]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param({"emptyDir": {"sizeLimit": "1Gi"}}, id="emptyDir"),
        pytest.param({"hostPath": {"path": "/a", "type": ""}}, id="hostPath"),
        pytest.param({"gitRepo": {"repository": "r", "directory": "."}}, id="gitRepo"),
        pytest.param({"gcePersistentDisk": {"pdName": "p"}}, id="gcePersistentDisk"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "p"}}, id="awsElasticBlockStore"),
        pytest.param({"secret": {"secretName": "s", "defaultMode": 420}}, id="secret"),
        pytest.param({"nfs": {"server": "s", "path": "/"}}, id="nfs"),
        pytest.param({"iscsi": {"targetPortal": "p", "iqn": "iqn.2020-01.a.b:c"}}, id="iscsi"),
        pytest.param({"glusterfs": {"endpoints": "e", "path": "p"}}, id="glusterfs"),
        pytest.param({"persistentVolumeClaim": {"claimName": "c"}}, id="claim"),
        pytest.param({"rbd": {"monitors": ["m"], "image": "i"}}, id="rbd"),
        pytest.param({"flexVolume": {"driver": "d", "options": {"a.b/c": "d"}}}, id="flexVolume"),
        pytest.param({"cinder": {"volumeID": "v"}}, id="cinder"),
        pytest.param({"cephfs": {"monitors": ["m"]}}, id="cephfs"),
        pytest.param({"flocker": {"datasetName": "d"}}, id="flocker"),
        pytest.param({"downwardAPI": {"items": []}}, id="downwardAPI"),
        pytest.param({"fc": {"wwids": ["w"]}}, id="fc"),
        pytest.param({"azureFile": {"secretName": "s", "shareName": "s"}}, id="azureFile"),
        pytest.param({"configMap": {"name": "c"}}, id="configMap"),
        pytest.param({"vsphereVolume": {"volumePath": "p"}}, id="vsphereVolume"),
        pytest.param({"quobyte": {"registry": "r:1,s:2", "volume": "v"}}, id="quobyte"),
        pytest.param({"azureDisk": {"diskName": "d", "diskURI": "u"}}, id="azureDisk"),
        pytest.param({"photonPersistentDisk": {"pdID": "p"}}, id="photonPersistentDisk"),
        pytest.param({"projected": {"sources": None}}, id="projected"),
        pytest.param({"portworxVolume": {"volumeID": "v"}}, id="portworxVolume"),
        pytest.param({"scaleIO": {"gateway": "g", "system": "s", "volumeName": "v"}}, id="scaleIO"),
        pytest.param({"storageos": {"volumeName": "v"}}, id="storageos"),
        pytest.param({"csi": {"driver": "d"}}, id="csi"),
        pytest.param({"ephemeral": EPHEMERAL}, id="ephemeral"),
        pytest.param({"image": {"reference": "r", "pullPolicy": "Always"}}, id="image"),
    ],
)
def test_every_source_can_be_in_order(source):
    assert judge({"name": "a", **source}) == []


@pytest.mark.parametrize(
    ("volume", "says"),
    [
        pytest.param({"name": "a"}, ["v[0]: Required value: must specify a volume type"], id="no source"),
        pytest.param({"emptyDir": {}}, ["v[0].name: Required value"], id="no name"),
        pytest.param(
            {"name": "a", "emptyDir": {}, "hostPath": {}, "downwardAPI": {}, "cephfs": {}},
            [
                "v[0].hostPath: Forbidden: may not specify more than 1 volume type",
                "v[0].cephFS: Forbidden: may not specify more than 1 volume type",
                "v[0].downwarAPI: Forbidden: may not specify more than 1 volume type",
            ],
            id="several sources, spelt as upstream does",
        ),
        pytest.param(
            {"name": "a", "emptyDir": {"sizeLimit": "-1"}},
            ["v[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
            id="negative size",
        ),
        pytest.param(
            {"name": "a", "image": {"pullPolicy": "Always"}}, ["v[0].image.reference: Required value"], id="image"
        ),
        pytest.param(
            {"name": "a", "ephemeral": {}}, ["v[0].ephemeral.volumeClaimTemplate: Required value"], id="no template"
        ),
        pytest.param(
            {"name": "a", "gcePersistentDisk": {"pdName": "p", "partition": 256}},
            ["v[0].persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive"],
            id="partition, under upstream's path",
        ),
    ],
)
def test_volumes_are_told_what_is_wrong(volume, says):
    assert judge(volume) == says


def test_an_image_may_come_later_in_a_template():
    options = PodVolumeValidationOptions(allow_empty_image=True)
    assert judge({"name": "a", "image": {"pullPolicy": "Always"}}, rules=options) == []


def test_names_differ():
    assert judge({"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}) == ['v[1].name: Duplicate value: "a"']


def test_a_claim_the_pod_would_create_is_not_used_by_another_volume():
    assert judge(
        {"name": "a", "ephemeral": EPHEMERAL}, {"name": "b", "persistentVolumeClaim": {"claimName": "p-a"}}
    ) == [
        'v[1].persistentVolumeClaim.claimName: Invalid value: "p-a": '
        "must not reference a PVC that gets created for an ephemeral volume"
    ]


def test_the_claim_of_a_volume_can_be_named():
    (error,) = judge({"name": "a", "ephemeral": EPHEMERAL}, pod="p" * 252)
    assert error.startswith(f'v[0].name: Invalid value: "a": PVC name "{"p" * 252}-a": must be no more than 253')


def test_only_volumes_in_order_can_be_mounted():
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "B", "emptyDir": {}}]
    assert list(validate_volumes({"volumes": volumes}, "v", "p", PodVolumeValidationOptions()).by_name) == ["a"]
