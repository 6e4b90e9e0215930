import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from mockkube.api.errors import ApiError, Forbidden
from mockkube.apiserver.admission.plugins.node_restriction import NodeRestriction
from mockkube.apiserver.authorization.node import NODES_GROUP
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.resource import RequestScope

PLUGIN = NodeRestriction()
NODE = User("system:node:n", groups=(NODES_GROUP,))
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": True}
MIRROR = {"kubernetes.io/config.mirror": "x"}


def by_node(request, user=NODE):
    request.scope.user = user
    return request


def pod(node="n", *, owners=(OWNER,), annotations=MIRROR, labels=None, status=None, **spec):
    metadata = {"name": "p", "namespace": "ns", "annotations": annotations, "ownerReferences": list(owners)}
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], **spec}
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "labels": labels or {}}, "spec": spec}
    return {**obj, "status": status} if status else obj


def node(name="n", *, labels=None, **spec):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def lease(name, namespace="kube-node-lease"):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": namespace}}


def slice_of(node_name):
    spec = {"driver": "d", "nodeName": node_name, "pool": {"name": "p", "resourceSliceCount": 1}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def signing(name):
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = made.sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    text = base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()
    spec = {"request": text, "signerName": "kubernetes.io/kubelet-serving", "usages": ["server auth"]}
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    return {**kind, "metadata": {"name": "c"}, "spec": spec}


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        pytest.param(
            pod(annotations={}),
            'pod does not have "kubernetes.io/config.mirror" annotation, node "n" can only create mirror pods',
            id="a pod that mirrors nothing",
        ),
        pytest.param(pod("m"), 'node "n" can only create pods with spec.nodeName set to itself', id="elsewhere"),
        pytest.param(
            pod(owners=()), 'node "n" can only create pods with an owner reference set to itself', id="of nobody"
        ),
        pytest.param(
            pod(owners=({**OWNER, "controller": False},)),
            'node "n" can only create pods with a controller owner reference set to itself',
            id="not controlled by the node",
        ),
        pytest.param(node("m"), 'node "n" is not allowed to modify node "m"', id="another node"),
        pytest.param(
            node(labels={"node-role.kubernetes.io/control-plane": "", "mine.example.com/a": "b"}),
            'node "n" is not allowed to set the following labels: node-role.kubernetes.io/control-plane',
            id="a role",
        ),
        pytest.param(
            lease("m"), "can only access node lease with the same name as the requesting node", id="another's lease"
        ),
        pytest.param(
            lease("n", "default"),
            'can only access leases in the "kube-node-lease" system namespace',
            id="a lease elsewhere",
        ),
        pytest.param(
            slice_of("m"),
            "can only create ResourceSlice with the same NodeName as the requesting node",
            id="devices of another",
        ),
        pytest.param(
            signing("system:node:m"), "can only create a node CSR with CN=system:node:n", id="a certificate of another"
        ),
    ],
)
async def test_a_node_creates_nothing_that_is_not_its_own(world, obj, why):
    request = by_node(world.creation(obj))
    with pytest.raises(Forbidden) as caught:
        PLUGIN.admit(request)
    assert caught.value.message.endswith(f"is forbidden: {why}")
    PLUGIN.admit(by_node(request, User("somebody", groups=(NODES_GROUP,))))


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(node(labels={"kubernetes.io/hostname": "n", "kubelet.kubernetes.io/a": "b"}), id="itself"),
        pytest.param(lease("n"), id="its lease"),
        pytest.param(slice_of("n"), id="its devices"),
        pytest.param(signing("system:node:n"), id="its certificate"),
    ],
)
async def test_a_node_creates_what_is_its_own(world, obj):
    request = by_node(world.creation(obj))
    PLUGIN.admit(request)
    with pytest.raises(Forbidden):
        PLUGIN.admit(by_node(request, User("system:node:other", groups=(NODES_GROUP,))))


async def test_a_node_requests_tokens_only_for_its_own_pods(world):
    await world.put(pod(), {**pod("m"), "metadata": {"name": "q", "namespace": "ns"}})
    pods, accounts = (world.registry.resources["", "v1", plural] for plural in ("pods", "serviceaccounts"))

    def refusal(reference):
        spec = {"boundObjectRef": reference} if reference else {}
        token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": spec}
        scope = RequestScope(NODE, "ns", "default", "token")
        try:
            PLUGIN.admit(AdmissionAttributes(Operation.CREATE, accounts, scope, token, None))
        except ApiError as error:
            return error.message.partition("forbidden: ")[2] or error.message
        return None

    uids = {name: pods.get_cached("ns", name).load()["metadata"]["uid"] for name in ("p", "q")}
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uids["p"]}
    assert refusal(bound) is None
    assert refusal(None) == "node requested token not bound to a pod"
    assert refusal({**bound, "kind": "Secret"}) == "node requested token not bound to a pod"
    assert refusal({**bound, "uid": ""}) == "node requested token with a pod binding without a uid"
    assert refusal({**bound, "uid": "other"}).startswith("the UID in the bound object reference (other) does not match")
    assert refusal({**bound, "name": "none"}) == 'pod "none" not found'
    elsewhere = {**bound, "name": "q", "uid": uids["q"]}
    assert refusal(elsewhere) == "node requested token bound to a pod scheduled on a different node"


async def test_a_mirror_pod_belongs_to_the_node_and_stands_alone(world):
    await world.put(node())
    uid = world.registry.resources["", "v1", "nodes"].get_cached("", "n").load()["metadata"]["uid"]
    owner = {**OWNER, "uid": uid}
    PLUGIN.admit(by_node(world.creation(pod(owners=(owner,)))))
    with pytest.raises(Forbidden, match=f"node n UID mismatch: expected u got {uid}"):
        PLUGIN.admit(by_node(world.creation(pod())))
    volumes = [{"name": "v", "configMap": {"name": "c"}}]
    with pytest.raises(Forbidden, match="can not create pods that reference configmaps"):
        PLUGIN.admit(by_node(world.creation(pod(owners=(owner,), volumes=volumes))))


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        pytest.param(
            node(taints=[]),
            node(taints=[{"key": "a", "effect": "NoSchedule"}]),
            'node "n" is not allowed to modify taints',
            id="taints",
        ),
        pytest.param(
            node(labels={"node-restriction.kubernetes.io/a": "b"}),
            node(),
            "is not allowed to modify labels: node-restriction.kubernetes.io/a",
            id="labels",
        ),
    ],
)
async def test_a_node_does_not_steer_pods_to_itself(world, new, old, why):
    with pytest.raises(Forbidden) as caught:
        PLUGIN.admit(by_node(world.update(new, old)))
    assert caught.value.message == f'nodes "n" is forbidden: {why}'


async def test_a_node_reports_on_its_own_pods_and_changes_no_labels(world):
    PLUGIN.admit(by_node(world.update(pod(status={"phase": "Running"}), pod(), "status")))
    with pytest.raises(Forbidden, match=r"pod status for pods with spec.nodeName set to itself"):
        PLUGIN.admit(by_node(world.update(pod("m", status={"phase": "Running"}), pod("m"), "status")))
    with pytest.raises(Forbidden, match="cannot update labels through pod status"):
        PLUGIN.admit(by_node(world.update(pod(labels={"a": "b"}), pod(), "status")))
    with pytest.raises(Forbidden, match='unexpected pod subresource "ephemeralcontainers"'):
        PLUGIN.admit(by_node(world.update(pod(), pod(), "ephemeralcontainers")))


async def test_a_node_deletes_its_own_pods(world):
    PLUGIN.admit(by_node(world.deletion(pod())))
    with pytest.raises(Forbidden, match=r'node "n" can only delete pods with spec.nodeName set to itself'):
        PLUGIN.admit(by_node(world.deletion(pod("m"))))


async def test_a_node_reports_the_size_of_claims_and_no_more(world):
    def claim(status, **labels):
        metadata = {"name": "c", "namespace": "ns", "labels": labels}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {}, "status": status}

    PLUGIN.admit(by_node(world.update(claim({"capacity": {"storage": "2Gi"}}), claim({}), "status")))
    with pytest.raises(Forbidden, match=r"fields other than status\.quantity and status\.conditions"):
        PLUGIN.admit(by_node(world.update(claim({"phase": "Lost"}), claim({}), "status")))
    with pytest.raises(Forbidden, match="may only update PVC status"):
        PLUGIN.admit(by_node(world.update(claim({}, a="b"), claim({}))))
