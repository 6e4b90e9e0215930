import base64
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mockkube.api.times import render_time
from mockkube.controllers.certificates.requests import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    deletion_time,
    is_approved,
    validate_for_signer,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
DNS, IP = x509.DNSName("n1"), x509.IPAddress(ip_address("10.0.0.1"))
EMAIL, URI = x509.RFC822Name("a@b.c"), x509.UniformResourceIdentifier("spiffe://a/b")
AS_CLIENT, AS_SERVER = ("digital signature", "client auth"), ("digital signature", "server auth")


def name(cn="system:node:n1", groups=("system:nodes",)):
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, cn)])


def request(*names, **subject):
    builder = x509.CertificateSigningRequestBuilder(name(**subject))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(KEY, hashes.SHA256())


@pytest.mark.parametrize(
    ("signer", "asked", "usages", "why"),
    [
        pytest.param(KUBELET_CLIENT, request(), AS_CLIENT, None, id="a kubelet for itself"),
        pytest.param(
            KUBELET_CLIENT, request(), (*AS_CLIENT, "key encipherment"), None, id="a key that can encipher, too"
        ),
        pytest.param(
            KUBELET_CLIENT,
            request(groups=("system:nodes", "more")),
            AS_CLIENT,
            "subject organization is not system:nodes",
            id="no node",
        ),
        pytest.param(
            KUBELET_CLIENT,
            request(cn="n1"),
            AS_CLIENT,
            "subject common name does not begin with system:node:",
            id="a name of no node",
        ),
        pytest.param(
            KUBELET_CLIENT, request(DNS), AS_CLIENT, "DNS subjectAltNames are not allowed", id="a client with a host"
        ),
        pytest.param(
            KUBELET_CLIENT, request(IP), AS_CLIENT, "IP subjectAltNames are not allowed", id="a client with an address"
        ),
        pytest.param(
            KUBELET_CLIENT,
            request(),
            ("client auth",),
            "usages did not match [client auth digital signature key encipherment]",
            id="too few usages",
        ),
        pytest.param(KUBELET_SERVING, request(DNS, IP), AS_SERVER, None, id="a kubelet that serves"),
        pytest.param(
            KUBELET_SERVING, request(), AS_SERVER, "DNS or IP subjectAltName is required", id="a server without a name"
        ),
        pytest.param(
            KUBELET_SERVING, request(DNS, EMAIL), AS_SERVER, "Email subjectAltNames are not allowed", id="with mail"
        ),
        pytest.param(
            KUBELET_SERVING, request(DNS, URI), AS_SERVER, "URI subjectAltNames are not allowed", id="with a URI"
        ),
        pytest.param(
            KUBELET_SERVING,
            request(DNS, cn="n1"),
            ("server auth",),
            "usages did not match [digital signature key encipherment server auth]",
            id="usages before the name",
        ),
        pytest.param(CLIENT, request(cn="joe", groups=()), ("client auth",), None, id="anybody as a client"),
        pytest.param(
            CLIENT,
            request(cn="joe"),
            ("client auth", "server auth"),
            "invalid usage for client certificate: server auth",
            id="a client that would serve",
        ),
        pytest.param(
            CLIENT,
            request(cn="joe"),
            ("digital signature",),
            "missing required usage for client certificate: client auth",
            id="a client that is none",
        ),
        pytest.param("kubernetes.io/legacy-unknown", request(cn="joe"), ("any",), None, id="anything goes"),
    ],
)
def test_what_a_signer_asks_of_a_request(signer, asked, usages, why):
    assert validate_for_signer(signer, asked, usages) == why


def csr(*conditions, certificate=""):
    told = [{"type": kind, "status": "True", "lastUpdateTime": render_time(NOW)} for kind in conditions]
    status = {"conditions": told, **({"certificate": certificate} if certificate else {})}
    return {"metadata": {"name": "r", "creationTimestamp": render_time(NOW)}, "status": status}


def certificate(lasts):
    builder = x509.CertificateBuilder(name(), name(), KEY.public_key(), 1).not_valid_before(NOW - timedelta(days=1))
    signed = builder.not_valid_after(NOW + lasts).sign(KEY, hashes.SHA256())
    from cryptography.hazmat.primitives.serialization import Encoding

    return base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()


@pytest.mark.parametrize(
    ("given", "hours"),
    [
        pytest.param(csr(), 24, id="pending"),
        pytest.param(csr("Denied"), 1, id="denied"),
        pytest.param(csr("Approved", "Failed"), 1, id="failed"),
        pytest.param(csr("Approved"), 24, id="approved, not issued"),
        pytest.param(csr("Approved", certificate="AAAA"), 1, id="issued"),
        pytest.param(csr("Approved", certificate=certificate(timedelta(minutes=30))), 0.5, id="issued for less"),
    ],
)
def test_how_long_a_request_is_kept(given, hours):
    assert deletion_time(given) == NOW + timedelta(hours=hours)


def test_what_is_denied_is_not_approved():
    assert is_approved(csr("Approved"))
    assert not is_approved(csr("Approved", "Denied"))
    assert not is_approved(csr())
