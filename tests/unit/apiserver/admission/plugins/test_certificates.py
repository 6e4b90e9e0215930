import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.authorizer import Decision
from mockkube.apiserver.registry.resource import RequestScope
from mockkube.features.capabilities import Capabilities

CLIENT = "kubernetes.io/kube-apiserver-client"
SIGNER = "example.com/signer"


def signing(signer=SIGNER, group="dev", **status):
    subject = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group)])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = made.sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    text = base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    spec = {"request": text, "signerName": signer, "usages": ["client auth"]}
    return {**kind, "metadata": {"name": "c"}, "spec": spec, "status": status}


def may(world, *rights):
    """Let everybody do these, each a verb and the name of a signer."""
    world.registry.dependencies.authorize = lambda asked: Decision(
        (asked.group, asked.resource) == ("certificates.k8s.io", "signers") and (asked.verb, asked.name) in rights
    )


@pytest.mark.parametrize("name", [SIGNER, "example.com/*"])
@pytest.mark.parametrize(
    ("plugin", "verb", "subresource", "why"),
    [
        (CertificateApproval(), "approve", "approval", "user not permitted to approve requests with signerName"),
        (CertificateSigning(), "sign", "status", "user not permitted to sign requests with signerName"),
    ],
    ids=["approving", "signing"],
)
async def test_requests_are_for_those_who_may_for_the_signer(world, plugin, verb, subresource, why, name):
    new = signing(conditions=[{"type": "Failed", "status": "True"}])
    request = world.update(new, signing(), subresource)
    may(world, ("other", name))
    with pytest.raises(Forbidden, match=why):
        plugin.validate(request)
    may(world, (verb, name))
    plugin.validate(request)


async def test_a_status_that_says_nothing_new_is_anybodys(world):
    may(world)
    old = signing()
    CertificateSigning().validate(world.update(old, old, "status"))


async def test_no_client_certificate_makes_an_administrator(world):
    plugin = CertificateSubjectRestriction()
    why = f"use of {CLIENT} signer with system:masters group is not allowed"
    with pytest.raises(Forbidden, match=why):
        plugin.validate(world.creation(signing(CLIENT, "system:masters")))
    plugin.validate(world.creation(signing(SIGNER, "system:masters")))
    plugin.validate(world.creation(signing(CLIENT)))


def bundles(world, new, old=None):
    """A request about a trust bundle, which no server serves unless told to."""
    world.registry.dependencies.capabilities = Capabilities(gates=frozenset({"ClusterTrustBundle"}))
    resource = world.registry.find_storage_resource("certificates.k8s.io", "clustertrustbundles")
    operation = Operation.CREATE if old is None else Operation.UPDATE
    return AdmissionAttributes(operation, resource, RequestScope(User("somebody"), name="b"), new, old)


def bundle(text="a", **metadata):
    return {"metadata": {"name": "b", **metadata}, "spec": {"signerName": SIGNER, "trustBundle": text}}


async def test_who_publishes_a_trust_bundle_may_vouch_for_its_signer(world):
    plugin = ClusterTrustBundleAttest()
    may(world)
    with pytest.raises(Forbidden, match=f'user not permitted to attest for signerName "{SIGNER}"'):
        plugin.validate(bundles(world, bundle()))
    with pytest.raises(Forbidden, match="not permitted to attest"):
        plugin.validate(bundles(world, bundle("b"), bundle("a")))
    plugin.validate(bundles(world, bundle(finalizers=["example.com/f"]), bundle()))
    may(world, ("attest", SIGNER))
    plugin.validate(bundles(world, bundle()))


async def test_who_asks_for_a_certificate_is_whom_the_server_knows(world):
    given = signing()
    given["spec"]["username"] = "admin"
    await world.put(given)
    stored = world.resource(given).get_cached("", "c").load()["spec"]
    assert {key: stored.get(key) for key in ("username", "groups")} == {"username": "somebody", "groups": None}
