import pytest

from mockkube.apiserver.authorization.node_relations import NodeRelations


def pod(**spec):
    container = {"name": "c", "image": "i"}
    whole = {"nodeName": "n1", "containers": [container], "serviceAccountName": "robot", **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": whole}


def mounting(**volume):
    return pod(volumes=[{"name": "v", **volume}])


def reading(**source):
    variable = {"name": "A", "valueFrom": source}
    return pod(containers=[{"name": "c", "image": "i", "env": [variable]}])


PROJECTED = {"projected": {"sources": [{"secret": {"name": "x"}}, {"configMap": {"name": "y"}}]}}


@pytest.mark.parametrize(
    ("user", "plural", "name"),
    [
        pytest.param(pod(), "pods", "p", id="the pod itself"),
        pytest.param(pod(), "serviceaccounts", "robot", id="who it runs as"),
        pytest.param(mounting(secret={"secretName": "x"}), "secrets", "x", id="a mounted secret"),
        pytest.param(mounting(**PROJECTED), "secrets", "x", id="a projected secret"),
        pytest.param(mounting(**PROJECTED), "configmaps", "y", id="a projected config map"),
        pytest.param(mounting(configMap={"name": "y"}), "configmaps", "y", id="a mounted config map"),
        pytest.param(reading(configMapKeyRef={"name": "y", "key": "k"}), "configmaps", "y", id="a variable"),
        pytest.param(pod(imagePullSecrets=[{"name": "x"}]), "secrets", "x", id="a secret to pull with"),
        pytest.param(
            mounting(persistentVolumeClaim={"claimName": "c"}), "persistentvolumeclaims", "c", id="a mounted claim"
        ),
        pytest.param(
            mounting(ephemeral={"volumeClaimTemplate": {"spec": {}}}), "persistentvolumeclaims", "p-v", id="own"
        ),
    ],
)
async def test_a_node_has_to_do_with_what_its_pods_use(world, put_raw, user, plural, name):
    await put_raw(user)
    relations = NodeRelations(world.registry)
    assert relations.is_related("n1", plural, "ns", name)
    assert not relations.is_related("n2", plural, "ns", name)
    assert not relations.is_related("n1", plural, "ns", f"another-{name}")


async def test_a_pod_the_node_made_itself_gives_it_nothing(world, put_raw):
    mirror = mounting(secret={"secretName": "x"})
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "hash"}
    await put_raw(mirror)
    assert not NodeRelations(world.registry).is_related("n1", "secrets", "ns", "x")


async def test_a_node_has_to_do_with_the_volumes_of_its_claims_and_their_secrets(world, put_raw):
    secret = {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"name": "x", "namespace": "storage"}}
    claim = {"namespace": "ns", "name": "c"}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}}
    await put_raw({**volume, "spec": {"claimRef": claim, "csi": secret}})
    relations = NodeRelations(world.registry)
    assert not relations.is_related("n1", "persistentvolumes", "", "pv")
    await put_raw(mounting(persistentVolumeClaim={"claimName": "c"}))
    assert relations.is_related("n1", "persistentvolumes", "", "pv")
    assert relations.is_related("n1", "secrets", "storage", "x")
    assert not relations.is_related("n2", "secrets", "storage", "x")


async def test_an_attachment_says_its_node_itself(world, put_raw):
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "a"}}
    await put_raw({**head, "spec": {"nodeName": "n1"}})
    relations = NodeRelations(world.registry)
    assert relations.is_related("n1", "volumeattachments", "", "a")
    assert not relations.is_related("n2", "volumeattachments", "", "a")
