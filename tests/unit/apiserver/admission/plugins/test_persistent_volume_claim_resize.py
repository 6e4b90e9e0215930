import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize

PLUGIN = PersistentVolumeClaimResize()


def claim(size, phase="Bound", storage_class="grows"):
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class,
    }
    metadata = {"name": "c", "namespace": "ns"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


def storage_class(name, **rest):
    metadata = {"name": name}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, "provisioner": "p", **rest}


async def test_a_bound_claim_grows_where_its_class_lets_it(world):
    await world.put(storage_class("grows", allowVolumeExpansion=True))
    PLUGIN.validate(world.update(claim("2Gi"), claim("1Gi")))


async def test_a_claim_that_does_not_grow_is_not_judged(world):
    PLUGIN.validate(world.update(claim("1024Mi", "Pending"), claim("1Gi", "Pending")))


STUCK = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        pytest.param(
            claim("1Gi", "Pending"),
            claim("2Gi", "Pending"),
            "Only bound persistent volume claims can be expanded",
            id="that is not bound",
        ),
        pytest.param(claim("1Gi", "Bound", "fixed"), claim("2Gi", "Bound", "fixed"), STUCK, id="whose class is fixed"),
        pytest.param(claim("1Gi", "Bound", "gone"), claim("2Gi", "Bound", "gone"), STUCK, id="whose class is gone"),
    ],
)
async def test_a_claim_may_not_grow(world, old, new, why):
    await world.put(storage_class("fixed"))
    with pytest.raises(Forbidden) as caught:
        PLUGIN.validate(world.update(new, old))
    assert caught.value.message == f'persistentvolumeclaims "c" is forbidden: {why}'
