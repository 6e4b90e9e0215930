"""Requests for certificates: approved, signed, and cleaned up."""

import base64
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from mockkube.apiserver.local.client import LocalClient
from mockkube.client import identity
from mockkube.cluster.state.certificates import ensure_certificates
from mockkube.controllers.framework.options import Options
from mockkube.features.versions import DEFAULT

KEY = ec.generate_private_key(ec.SECP256R1())
CSR = "CertificateSigningRequest"
SIGNING, APPROVING, CLEANING = (
    f"certificatesigningrequest-{doing}-controller" for doing in ("signing", "approving", "cleaner")
)
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"


def asked(*, cn="joe", group="dev", signer="kubernetes.io/kube-apiserver-client", usages=("client auth",)):
    parts = [(NameOID.ORGANIZATION_NAME, group), (NameOID.COMMON_NAME, cn)]
    name = x509.Name([x509.NameAttribute(oid, text) for oid, text in parts])
    made = x509.CertificateSigningRequestBuilder(name).sign(KEY, hashes.SHA256()).public_bytes(Encoding.PEM)
    return {"request": base64.b64encode(made).decode(), "signerName": signer, "usages": list(usages)}


def of_kubelet(node):
    usages = ("client auth", "digital signature")
    return asked(cn=f"system:node:{node}", group="system:nodes", signer=KUBELET, usages=usages)


@pytest.fixture
def options(tmp_path, sim):
    kept = ensure_certificates(tmp_path, [], now=sim.clock.now())
    own = {"signing_certificate": str(kept.authority), "signing_key": str(kept.authority_key)}
    return replace(Options.for_version(DEFAULT), **own)


async def decide(sim, name, kind="Approved"):
    conditions = [{"type": kind, "status": "True", "reason": "Test"}]
    await sim.merge(CSR, name, {"status": {"conditions": conditions}}, "", "approval")


async def conditions(sim, name):
    stored = await sim.get(CSR, name, "")
    return [(one["type"], one["reason"], one.get("message", "")) for one in stored["status"].get("conditions", ())]


async def test_what_is_approved_is_signed(sim, options):
    await sim.start(SIGNING, options=options)
    await sim.create(CSR, "joe", "", spec=asked())
    assert "certificate" not in (await sim.get(CSR, "joe", ""))["status"]
    await decide(sim, "joe")
    issued = base64.b64decode((await sim.get(CSR, "joe", ""))["status"]["certificate"])
    assert x509.load_pem_x509_certificate(issued).subject.rfc4514_string() == "CN=joe,O=dev"


async def test_what_its_signer_does_not_sign_has_failed(sim, options):
    await sim.start(SIGNING, options=options)
    await sim.create(CSR, "joe", "", spec=asked(usages=("client auth", "server auth")))
    await decide(sim, "joe")
    message = "invalid usage for client certificate: server auth"
    assert await conditions(sim, "joe") == [
        ("Approved", "Test", ""),
        ("Failed", "SignerValidationFailure", message),
    ]


async def test_what_is_denied_or_for_another_signer_is_left_alone(sim, options):
    await sim.start(SIGNING, options=options)
    await sim.create(CSR, "denied", "", spec=asked())
    await sim.create(CSR, "other", "", spec=asked(signer="example.com/mine"))
    await decide(sim, "denied", "Denied")
    await decide(sim, "other")
    for name in ("denied", "other"):
        assert "certificate" not in (await sim.get(CSR, name, ""))["status"]


async def test_nothing_is_signed_without_an_authority(sim):
    await sim.start(SIGNING)
    assert sim.manager is not None
    assert [worker.name for worker in sim.manager.workers if SIGNING in worker.name] == []


async def test_a_kubelet_that_may_is_approved(sim):
    await sim.start(APPROVING)
    await sim.create(CSR, "n1", "", spec=of_kubelet("n1"))
    message = "Auto approving kubelet client certificate after SubjectAccessReview."
    assert await conditions(sim, "n1") == [("Approved", "AutoApproved", message)]


async def test_one_that_may_not_is_asked_about_again(sim):
    await sim.start(APPROVING)
    node = LocalClient(sim.door, identity.kubelet("n1", DEFAULT))
    await node.create(CSR, {"metadata": {"name": "n1"}, "spec": of_kubelet("n1")})
    await sim.settle()
    assert await conditions(sim, "n1") == []
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}
    role = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    await sim.create("ClusterRoleBinding", "renewal", "", subjects=[subject], roleRef=reference)
    await sim.advance(1)
    message = "Auto approving self kubelet client certificate after SubjectAccessReview."
    assert await conditions(sim, "n1") == [("Approved", "AutoApproved", message)]


async def test_old_requests_are_deleted_on_the_hour(sim):
    await sim.start(CLEANING)
    await sim.advance(60)
    await sim.create(CSR, "denied", "", spec=asked())
    await sim.create(CSR, "pending", "", spec=asked())
    await decide(sim, "denied", "Denied")
    await sim.advance(2 * 3600 - 61)
    assert await sim.names(CSR) == ["denied", "pending"]
    await sim.advance(1)
    assert await sim.names(CSR) == ["pending"]
    await sim.advance(23 * 3600)
    assert await sim.names(CSR) == []
