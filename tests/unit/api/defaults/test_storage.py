from mockkube.api.kinds.core import persistent_volume
from mockkube.api.kinds.core.persistent_volume_claim import default_claim
from mockkube.api.kinds.storage import csi_driver, storage_class, volume_attachment
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

CAPS = Capabilities()


def test_a_volume_is_a_file_system_that_is_kept():
    obj = {"spec": {"capacity": {"storage": "1u"}, "hostPath": {"path": "/x"}}, "status": {}}
    persistent_volume.default_persistent_volume(obj, CAPS)
    assert obj == {
        "spec": {
            "capacity": {"storage": "1m"},
            "hostPath": {"path": "/x", "type": ""},
            "persistentVolumeReclaimPolicy": "Retain",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    }


def test_a_claim_is_a_file_system_that_waits():
    obj = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}, "status": {}}
    default_claim(obj, CAPS)
    assert obj["spec"] == {"resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
    assert obj["status"] == {"phase": "Pending"}


def test_a_claim_for_a_block_device_stays_one():
    obj = {"spec": {"volumeMode": "Block"}, "status": {"phase": "Bound", "capacity": {"storage": "1u"}}}
    default_claim(obj, CAPS)
    assert obj["spec"] == {"volumeMode": "Block"}
    assert obj["status"] == {"phase": "Bound", "capacity": {"storage": "1m"}}


def test_a_volume_that_is_described_in_its_attachment_is_filled_in():
    obj = {"spec": {"attacher": "a", "source": {"inlineVolumeSpec": {"hostPath": {"path": "/x"}}}}, "status": {}}
    volume_attachment.default_volume_attachment(obj, CAPS)
    assert obj["spec"]["source"]["inlineVolumeSpec"] == {"hostPath": {"path": "/x", "type": ""}}


def test_an_attachment_that_names_its_volume_stays_as_it_is():
    obj = {"spec": {"source": {"persistentVolumeName": "v"}}}
    volume_attachment.default_volume_attachment(obj, CAPS)
    assert obj == {"spec": {"source": {"persistentVolumeName": "v"}}}


def test_volumes_of_a_class_are_made_at_once_and_deleted_in_the_end():
    obj = {"provisioner": "p"}
    storage_class.default_storage_class(obj, CAPS)
    assert obj == {"provisioner": "p", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}


def test_a_driver_attaches_and_is_told_nothing():
    obj = {"spec": {"podInfoOnMount": True}}
    csi_driver.default_csi_driver(obj, CAPS)
    assert obj["spec"] == {
        "attachRequired": True,
        "podInfoOnMount": True,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "requiresRepublish": False,
        "volumeLifecycleModes": ["Persistent"],
    }


def test_what_a_driver_may_say_depends_on_gates_and_version():
    def said(version, *gates):
        obj = {"spec": {}}
        csi_driver.default_csi_driver(obj, Capabilities(version, frozenset(gates)))
        return obj["spec"].get("seLinuxMount"), obj["spec"].get("preventPodSchedulingIfMissing")

    gates = ("SELinuxMountReadWriteOncePod", "VolumeLimitScaling")
    assert said(Version(1, 36), *gates) == (False, False)
    assert said(Version(1, 35), *gates) == (False, None)
    assert said(Version(1, 36)) == (None, None)
