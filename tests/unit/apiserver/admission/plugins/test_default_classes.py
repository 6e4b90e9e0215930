import pytest

from mockkube.apiserver.admission.plugins.default_classes import DefaultIngressClass, DefaultStorageClass

MARK = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}


def storage_class(name, metadata=None):
    metadata = {"name": name, **(metadata or {})}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, "provisioner": "p"}


def claim(metadata=None, **spec):
    metadata = {"name": "c", "namespace": "ns", **(metadata or {})}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        pytest.param(claim(), "a", id="names none"),
        pytest.param(claim(storageClassName="b"), "b", id="names one"),
        pytest.param(claim(storageClassName=""), "", id="wants none"),
        pytest.param(
            claim({"annotations": {"volume.beta.kubernetes.io/storage-class": "b"}}), None, id="names one the old way"
        ),
    ],
)
async def test_a_claim_gets_a_class(world, obj, name):
    await world.put(storage_class("b"), storage_class("c", MARK), storage_class("a", MARK))
    request = world.creation(obj)
    DefaultStorageClass().admit(request)
    assert request.new["spec"].get("storageClassName") == name


async def test_without_a_default_class_a_claim_has_none(world):
    await world.put(storage_class("b"))
    request = world.creation(claim())
    DefaultStorageClass().admit(request)
    assert "storageClassName" not in request.new["spec"]


@pytest.mark.parametrize(
    ("metadata", "spec", "name"),
    [
        pytest.param({}, {}, "main", id="names none"),
        pytest.param({}, {"ingressClassName": "other"}, "other", id="names one"),
        pytest.param({"annotations": {"kubernetes.io/ingress.class": "other"}}, {}, None, id="names one the old way"),
    ],
)
async def test_an_ingress_gets_a_class(world, metadata, spec, name):
    mark = {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    await world.put(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": "main", **mark},
            "spec": {"controller": "example.com/c"},
        }
    )
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    request = world.creation(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "i", "namespace": "ns", **metadata},
            "spec": {"defaultBackend": backend, **spec},
        }
    )
    DefaultIngressClass().admit(request)
    assert request.new["spec"].get("ingressClassName") == name
