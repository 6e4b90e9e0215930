"""The handshake of a TLS connection, without a socket."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from mockkube.cluster.api_servers.tcp_listener import make_tls_context

KEY = ec.generate_private_key(ec.SECP256R1())
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def write_certificate(
    path: Path,
    *,
    signer: ec.EllipticCurvePrivateKey = KEY,
    usage: ObjectIdentifier | None = ExtendedKeyUsageOID.CLIENT_AUTH,
    ends_at: datetime = NOW + DAY,
) -> Path:
    """Write a certificate of KEY, signed by the CA with a key; without a usage it is the one of the CA."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca" if usage is None else "jane")])
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    builder = x509.CertificateBuilder(
        issuer, name, KEY.public_key(), x509.random_serial_number(), NOW - 9 * DAY, ends_at
    )
    builder = builder.add_extension(x509.BasicConstraints(ca=usage is None, path_length=None), critical=True)
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    certificate = builder.sign(signer, hashes.SHA256())
    pem = KEY.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    path.write_bytes(pem + certificate.public_bytes(Encoding.PEM))
    return path


def shake_hands(server_context: ssl.SSLContext, client_certificate: Path | None) -> ssl.SSLObject:
    """Return the server's side of a connection with a client."""
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.check_hostname, client_context.verify_mode = False, ssl.CERT_NONE
    if client_certificate is not None:
        client_context.load_cert_chain(client_certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    client = client_context.wrap_bio(to_client, to_server)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return server


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    """The context of a server with a client CA."""
    authority = write_certificate(tmp_path / "ca.pem", usage=None)
    serving = write_certificate(tmp_path / "serving.pem", usage=ExtendedKeyUsageOID.SERVER_AUTH)
    return make_tls_context(serving, serving, [authority])


def test_clients_may_have_a_certificate_of_the_authority_or_none(context: ssl.SSLContext, tmp_path: Path) -> None:
    assert shake_hands(context, write_certificate(tmp_path / "client.pem")).getpeercert()
    assert shake_hands(context, None).getpeercert() is None


@pytest.mark.parametrize(
    ("signer", "usage", "ends_at", "why"),
    [
        pytest.param(OTHER_KEY, ExtendedKeyUsageOID.CLIENT_AUTH, NOW + DAY, "signature failure", id="another CA"),
        pytest.param(KEY, ExtendedKeyUsageOID.CLIENT_AUTH, NOW - DAY, "certificate has expired", id="expired"),
        pytest.param(KEY, ExtendedKeyUsageOID.SERVER_AUTH, NOW + DAY, "purpose", id="another usage"),
    ],
)
def test_the_log_says_why_a_client_certificate_is_not_accepted(
    context: ssl.SSLContext,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    signer: ec.EllipticCurvePrivateKey,
    usage: ObjectIdentifier,
    ends_at: datetime,
    why: str,
) -> None:
    certificate = write_certificate(tmp_path / "client.pem", signer=signer, usage=usage, ends_at=ends_at)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(context, certificate)
    (message,) = caplog.messages
    assert message.startswith("TLS handshake error: the client certificate is not accepted: ")
    assert why in message
