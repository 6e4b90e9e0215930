"""Certificates of one cluster: CA, API server, administrator, front proxy; created once, kept while valid.

Checking existing ones needs no cryptography library, whose import would take longer than the rest of the start.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockkube.cluster.state.atomic_files import PRIVATE, make_private_directory, write_atomically
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CERTIFICATE_LIFETIME: Final = timedelta(days=365)
AUTHORITY_LIFETIME: Final = timedelta(days=3650)
RENEW_BEFORE: Final = timedelta(days=30)
ADMIN: Final = "kubernetes-admin"
MASTERS: Final = "system:masters"
CLOCK_SKEW: Final = timedelta(hours=1)  # a client whose clock is late still believes a new certificate

_AUTHORITY_NAME: Final = "mockkube-ca"
_FRONT_PROXY_AUTHORITY_NAME: Final = "mockkube-front-proxy-ca"
_PUBLIC: Final = 0o644
SERVICE_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
LOOPBACK: Final = ("127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of a cluster's keys and certificates."""

    directory: Path

    @property
    def authority(self) -> Path:
        """Certificate of the CA, which clients trust."""
        return self.directory / "ca.crt"

    @property
    def authority_key(self) -> Path:
        """Key of the CA."""
        return self.directory / "ca.key"

    @property
    def serving(self) -> Path:
        """Certificate of the API server."""
        return self.directory / "apiserver.crt"

    @property
    def serving_key(self) -> Path:
        """Key of the API server."""
        return self.directory / "apiserver.key"

    @property
    def admin(self) -> Path:
        """Client certificate of the administrator."""
        return self.directory / "admin.crt"

    @property
    def admin_key(self) -> Path:
        """Key of the administrator."""
        return self.directory / "admin.key"

    @property
    def front_proxy_authority(self) -> Path:
        """Certificate of the front proxy's CA; separate, so that no client of the cluster's CA can act as one."""
        return self.directory / "front-proxy-ca.crt"

    @property
    def front_proxy(self) -> Path:
        """Client certificate of the API server for aggregated API servers."""
        return self.directory / "front-proxy-client.crt"

    @property
    def front_proxy_key(self) -> Path:
        """Key of the front proxy."""
        return self.directory / "front-proxy-client.key"

    @property
    def front_proxy_authority_key(self) -> Path:
        """Key of the front proxy's CA; kept only if several processes issue certificates of that CA."""
        return self.directory / "front-proxy-ca.key"

    @property
    def metadata(self) -> Path:
        """Expiry and host names of the certificates; written last, so that its presence means that all are complete."""
        return self.directory / "certificates.json"

    def all_files(self) -> tuple[Path, ...]:
        """Return every key and certificate."""
        return (
            self.authority,
            self.authority_key,
            self.serving,
            self.serving_key,
            self.admin,
            self.admin_key,
            *self.front_proxy_files(),
        )

    def front_proxy_files(self) -> tuple[Path, Path, Path]:
        """Return the front proxy's CA, certificate and key."""
        return self.front_proxy_authority, self.front_proxy, self.front_proxy_key


@dataclass(frozen=True, slots=True)
class Authorities:
    """Certificates and keys, in PEM, of the CAs that all processes of a control plane share."""

    certificate: str
    key: str
    front_proxy_certificate: str
    front_proxy_key: str


def load_or_create_authorities(directory: Path, *, now: datetime) -> Authorities:
    """Return the CAs of a directory, new ones in place of those that are missing; nothing is written."""
    files = Certificates(directory)
    authority = _load_authority(files.authority, files.authority_key, now)
    front_proxy = _load_authority(files.front_proxy_authority, files.front_proxy_authority_key, now)
    certificate, key = authority or _create_self_signed(_AUTHORITY_NAME, now)
    front_certificate, front_key = front_proxy or _create_self_signed(_FRONT_PROXY_AUTHORITY_NAME, now)
    return Authorities(
        _encode_pem(certificate).decode(),
        _encode_key(key).decode(),
        _encode_pem(front_certificate).decode(),
        _encode_key(front_key).decode(),
    )


def install_authorities(directory: Path, authorities: Authorities) -> None:
    """Make the CAs those of a directory; certificates of other CAs are issued anew by `ensure_certificates`."""
    files = Certificates(directory)
    contents = {
        files.authority_key: authorities.key,
        files.authority: authorities.certificate,
        files.front_proxy_authority_key: authorities.front_proxy_key,
        files.front_proxy_authority: authorities.front_proxy_certificate,
    }
    if all(path.is_file() and path.read_text() == content for path, content in contents.items()):
        return
    make_private_directory(directory)
    files.metadata.unlink(missing_ok=True)
    for path, content in contents.items():
        write_atomically(path, content, mode=PRIVATE if path.suffix == ".key" else _PUBLIC)


def ensure_certificates(directory: Path, names: Sequence[str], *, now: datetime) -> Certificates:
    """Return certificates valid for these host names, creating missing ones; OSError if they cannot be written.

    The CA survives a change of names and a renewal, so that clients keep trusting it.
    """
    certificates = Certificates(directory)
    hosts = tuple(dict.fromkeys((*SERVICE_NAMES, *LOOPBACK, *names)))
    if not _are_usable(certificates, hosts, now):
        make_private_directory(directory)
        _issue(certificates, hosts, now)
    return certificates


def issue_client_certificate(
    certificates: Certificates, name: str, groups: Sequence[str], *, now: datetime
) -> tuple[Path, Path]:
    """Issue a client certificate of a user beside the others; return the paths of certificate and key."""
    loaded = _load_authority(certificates.authority, certificates.authority_key, now)
    assert loaded is not None, "the cluster has a valid CA"
    request = _LeafRequest(name, tuple(groups), (), now, min(now + CERTIFICATE_LIFETIME, loaded[0].not_valid_after_utc))
    stem = name.replace("/", "-").replace(":", "-")
    path, key_path = certificates.directory / f"{stem}.crt", certificates.directory / f"{stem}.key"
    _write_certificate(path, key_path, *_issue_leaf(request, *loaded))
    return path, key_path


def issue_self_signed_serving_certificate(path: Path, key_path: Path, names: Sequence[str], *, now: datetime) -> None:
    """Write a serving certificate for these host names, signed by its own key, which is kept nowhere else."""
    authority, authority_key = _create_self_signed("mockkube-serving-ca", now)
    hosts = tuple(dict.fromkeys((*SERVICE_NAMES, *LOOPBACK, *names)))
    request = _LeafRequest("kube-apiserver", (), hosts, now, now + CERTIFICATE_LIFETIME)
    _write_certificate(path, key_path, *_issue_leaf(request, authority, authority_key))


def _are_usable(certificates: Certificates, hosts: Sequence[str], now: datetime) -> bool:
    """Return whether all files exist, last long enough, and cover the hosts."""
    try:
        facts = json.loads(certificates.metadata.read_bytes())
        until = datetime.fromisoformat(facts["notAfter"])
        return (
            now + RENEW_BEFORE < until
            and set(hosts) <= set(facts["hosts"])
            and all(path.stat().st_size > 0 for path in certificates.all_files())
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _issue(certificates: Certificates, hosts: Sequence[str], now: datetime) -> None:
    """Create and write missing certificates, and a CA if there is no valid one."""
    authority, key = _load_authority(certificates.authority, certificates.authority_key, now) or _create_authority(
        certificates, now
    )
    until = min(now + CERTIFICATE_LIFETIME, authority.not_valid_after_utc)
    serving = _LeafRequest("kube-apiserver", (), tuple(hosts), now, until)
    _write_certificate(certificates.serving, certificates.serving_key, *_issue_leaf(serving, authority, key))
    admin = _LeafRequest(ADMIN, (MASTERS,), (), now, until)
    _write_certificate(certificates.admin, certificates.admin_key, *_issue_leaf(admin, authority, key))
    _issue_front_proxy(certificates, now, until)
    facts = {"notAfter": until.isoformat(), "hosts": list(hosts)}
    write_atomically(certificates.metadata, json.dumps(facts) + "\n")


def _issue_front_proxy(certificates: Certificates, now: datetime, until: datetime) -> None:
    """Issue the front proxy's certificate; the key of a new CA is not stored, so nothing else can be issued."""
    shared = _load_authority(certificates.front_proxy_authority, certificates.front_proxy_authority_key, now)
    authority, key = shared or _create_self_signed(_FRONT_PROXY_AUTHORITY_NAME, now)
    client = _LeafRequest("front-proxy-client", (), (), now, until)
    _write_certificate(certificates.front_proxy, certificates.front_proxy_key, *_issue_leaf(client, authority, key))
    write_atomically(certificates.front_proxy_authority, _encode_pem(authority), mode=_PUBLIC)


def _load_authority(
    path: Path, key_path: Path, now: datetime
) -> "tuple[x509.Certificate, EllipticCurvePrivateKey] | None":
    """Load a CA; None if it is missing, damaged or expires within a certificate's lifetime."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        key = load_pem_private_key(key_path.read_bytes(), None)
    except (OSError, ValueError):
        return None
    if not isinstance(key, EllipticCurvePrivateKey) or certificate.public_key() != key.public_key():
        return None
    return None if certificate.not_valid_after_utc < now + CERTIFICATE_LIFETIME else (certificate, key)


def _create_authority(certificates: Certificates, now: datetime) -> "tuple[x509.Certificate, EllipticCurvePrivateKey]":
    certificate, key = _create_self_signed(_AUTHORITY_NAME, now)
    _write_certificate(certificates.authority, certificates.authority_key, certificate, key)
    return certificate, key


def _create_self_signed(common_name: str, now: datetime) -> "tuple[x509.Certificate, EllipticCurvePrivateKey]":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = _make_name(common_name, ())
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_make_authority_usage(), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate, key


@dataclass(frozen=True, slots=True)
class _LeafRequest:
    """Certificate to issue: for a server if it has hosts, else for a client."""

    name: str
    groups: tuple[str, ...]
    hosts: tuple[str, ...]
    now: datetime
    until: datetime


def _issue_leaf(
    request: _LeafRequest, authority: "x509.Certificate", authority_key: "EllipticCurvePrivateKey"
) -> "tuple[x509.Certificate, EllipticCurvePrivateKey]":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    usage = ExtendedKeyUsageOID.SERVER_AUTH if request.hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    subject = _make_name(request.name, request.groups)
    builder = (
        x509.CertificateBuilder(authority.subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(request.now - CLOCK_SKEW)
        .not_valid_after(request.until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
    )
    if request.hosts:
        builder = builder.add_extension(_make_alternative_names(request.hosts), critical=False)
    return builder.sign(authority_key, hashes.SHA256()), key


def _make_name(common_name: str, organizations: Sequence[str]) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _make_alternative_names(hosts: Sequence[str]) -> "x509.SubjectAlternativeName":
    from ipaddress import ip_address

    from cryptography import x509

    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return x509.SubjectAlternativeName(names)


def _make_authority_usage() -> "x509.KeyUsage":
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_certificate(
    path: Path, key_path: Path, certificate: "x509.Certificate", key: "EllipticCurvePrivateKey"
) -> None:
    write_atomically(key_path, _encode_key(key))
    write_atomically(path, _encode_pem(certificate), mode=_PUBLIC)


def _encode_key(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _encode_pem(certificate: "x509.Certificate") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)
