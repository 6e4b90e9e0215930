"""Which certificate chains TLS contexts accept: those that Go accepts."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from mockkube.client.kubeconfig import RestConfig
from mockkube.client.tls import make_client_tls_context, verify_as_go

Key = ec.EllipticCurvePrivateKey


def make_certificate(name: str, key: Key, issuer: str, signer: Key, *, host: str = "") -> bytes:
    """Return a certificate in PEM form; it is a leaf if it has a host, else a CA."""
    subject, signed_by = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (name, issuer))
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(signed_by, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=not host, path_length=None), critical=True)
    )
    if host:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    return builder.sign(signer, SHA256()).public_bytes(Encoding.PEM)


class Server:
    """A server's key and certificate, and that of the authority that signed it."""

    def __init__(self, directory: Path, *, host: str = "server.test") -> None:
        key, ca_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        self.authority = make_certificate("ca", ca_key, "ca", ca_key)
        self.leaf = make_certificate("server.test", key, "ca", ca_key, host=host)
        self.file = directory / "server.pem"
        self.file.write_bytes(self.leaf + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    def make_context(self) -> ssl.SSLContext:
        """Return the context of the server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file)
        return context


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def connect(client: ssl.SSLContext, server: ssl.SSLContext, name: str = "server.test") -> None:
    """Do the handshake of both in memory; raise ssl.SSLError if one side rejects it."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        for side in tuple(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                continue


def test_a_leaf_in_the_bundle_is_trusted_without_its_authority(server: Server) -> None:
    connect(make_client_tls_context(server.leaf), server.make_context())
    tls = RestConfig("https://server.test", authority=server.leaf).tls()
    assert tls is not None
    connect(tls, server.make_context())


def test_an_authority_without_key_identifiers_is_trusted(server: Server) -> None:
    context = make_client_tls_context(server.authority)
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    connect(context, server.make_context())


def test_other_certificates_are_rejected(server: Server, tmp_path: Path) -> None:
    other = Server(tmp_path).leaf
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(make_client_tls_context(other), Server(tmp_path).make_context())
    connect(make_client_tls_context(other, insecure=True), Server(tmp_path).make_context())


def test_the_common_name_is_no_host_name(tmp_path: Path) -> None:
    server = Server(tmp_path, host="other.test")
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(make_client_tls_context(server.authority), server.make_context())


def test_a_server_trusts_a_client_whose_leaf_it_was_given(server: Server) -> None:
    client, context = make_client_tls_context(server.authority), server.make_context()
    client.load_cert_chain(server.file)
    context.load_verify_locations(cadata=server.leaf.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    verify_as_go(context)
    connect(client, context)


def test_a_bundle_that_is_no_certificate_is_an_error() -> None:
    with pytest.raises((ssl.SSLError, ValueError)):
        make_client_tls_context(b"no certificate")
