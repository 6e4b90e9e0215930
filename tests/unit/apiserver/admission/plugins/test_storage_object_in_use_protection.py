import pytest

from mockkube.apiserver.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection

CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c", "namespace": "ns", "finalizers": ["example.com/own"]},
}
VOLUME = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
ATTRIBUTES = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("obj", "finalizers"),
    [
        pytest.param(CLAIM, ["example.com/own", "kubernetes.io/pvc-protection"], id="a claim"),
        pytest.param(VOLUME, ["kubernetes.io/pv-protection"], id="a volume"),
        pytest.param({**ATTRIBUTES, "driverName": "d"}, ["kubernetes.io/vac-protection"], id="a class of attributes"),
    ],
)
async def test_storage_in_use_is_kept_by_a_finalizer(world, obj, finalizers):
    request = world.creation(obj)
    StorageObjectInUseProtection().admit(request)
    StorageObjectInUseProtection().admit(request)
    assert request.new["metadata"]["finalizers"] == finalizers
