"""Certificates of one cluster: CA, API server, administrator, front proxy; created once, kept while valid.

Checking existing ones needs no cryptography library, whose import would take longer than the rest of the start;
what only new ones need is imported late.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockkube.cluster.state.atomic_files import PRIVATE, make_private_directory, write_atomically
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class Authority:
    """One CA with its key; its name is encoded."""

    certificate: bytes
    name: bytes
    until: datetime
    key: "EllipticCurvePrivateKey"


def load_or_create_authorities(directory: Path, *, now: datetime) -> Authorities:
    """Return the CAs of a directory, new ones in place of those that are missing; nothing is written."""
    files = Certificates(directory)
    authority = _load_authority(files.authority, files.authority_key, now)
    front_proxy = _load_authority(files.front_proxy_authority, files.front_proxy_authority_key, now)
    authority = authority or _create_self_signed(_AUTHORITY_NAME, now)
    front_proxy = front_proxy or _create_self_signed(_FRONT_PROXY_AUTHORITY_NAME, now)
    return Authorities(
        authority.certificate.decode(),
        _encode_key(authority.key).decode(),
        front_proxy.certificate.decode(),
        _encode_key(front_proxy.key).decode(),
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
        write_atomically(path, content, mode=_get_mode(path.name))


def ensure_certificates(
    directory: Path,
    names: Sequence[str],
    *,
    now: datetime,
    durable: bool = True,
    created: Mapping[str, bytes] | None = None,
) -> Certificates:
    """Return certificates valid for these host names, creating missing ones; OSError if they cannot be written.

    The CA survives a change of names and a renewal, so that clients keep trusting it. Without one, `created` becomes
    the content of the files: what `create_certificates` has returned for these names.
    """
    certificates = Certificates(directory)
    if _are_usable(certificates, _list_hosts(names), now):
        return certificates
    make_private_directory(directory)
    authority = _load_authority(certificates.authority, certificates.authority_key, now)
    front_proxy = _load_authority(certificates.front_proxy_authority, certificates.front_proxy_authority_key, now)
    if created is None or authority is not None or front_proxy is not None:
        created = create_certificates(names, now=now, authority=authority, front_proxy=front_proxy)
    # A torn file would be worse than an empty one, but each is smaller than a block.
    for name, content in created.items():
        write_atomically(directory / name, content, mode=_get_mode(name), durable=durable)
    return certificates


def create_certificates(
    names: Sequence[str],
    *,
    now: datetime,
    authority: "Authority | None" = None,
    front_proxy: "Authority | None" = None,
) -> dict[str, bytes]:
    """Return keys and certificates of a cluster by file name, in the order in which they are to be written.

    A CA that is not given is new, and one of them. The key of a new front proxy's CA is not, so nothing else can be
    issued.
    """
    files: dict[str, bytes] = {}
    if authority is None:
        authority = _create_self_signed(_AUTHORITY_NAME, now)
        files |= {"ca.key": _encode_key(authority.key), "ca.crt": authority.certificate}
    front_proxy = front_proxy or _create_self_signed(_FRONT_PROXY_AUTHORITY_NAME, now)
    hosts, until = _list_hosts(names), min(now + CERTIFICATE_LIFETIME, authority.until)
    requests = (
        ("apiserver", _LeafRequest("kube-apiserver", (), hosts, now, until), authority),
        ("admin", _LeafRequest(ADMIN, (MASTERS,), (), now, until), authority),
        ("front-proxy-client", _LeafRequest("front-proxy-client", (), (), now, until), front_proxy),
    )
    for stem, request, issuer in requests:
        leaf = _create_leaf(request, issuer)
        files |= {f"{stem}.key": leaf.key, f"{stem}.crt": leaf.certificate}
    files["front-proxy-ca.crt"] = front_proxy.certificate
    facts = {"notAfter": until.isoformat(), "hosts": hosts}
    return {**files, "certificates.json": json.dumps(facts).encode() + b"\n"}


def _list_hosts(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*SERVICE_NAMES, *LOOPBACK, *names)))


def _get_mode(name: str) -> int:
    return _PUBLIC if name.endswith(".crt") else PRIVATE


def issue_client_certificate(
    certificates: Certificates, name: str, groups: Sequence[str], *, now: datetime
) -> tuple[Path, Path]:
    """Issue a client certificate of a user beside the others; return the paths of certificate and key."""
    authority = _load_authority(certificates.authority, certificates.authority_key, now)
    assert authority is not None, "the cluster has a valid CA"
    request = _LeafRequest(name, tuple(groups), (), now, min(now + CERTIFICATE_LIFETIME, authority.until))
    stem = name.replace("/", "-").replace(":", "-")
    path, key_path = certificates.directory / f"{stem}.crt", certificates.directory / f"{stem}.key"
    _write_leaf(path, key_path, request, authority)
    return path, key_path


def issue_self_signed_serving_certificate(path: Path, key_path: Path, names: Sequence[str], *, now: datetime) -> None:
    """Write a serving certificate for these host names, signed by its own key, which is kept nowhere else."""
    authority = _create_self_signed("mockkube-serving-ca", now)
    request = _LeafRequest("kube-apiserver", (), _list_hosts(names), now, now + CERTIFICATE_LIFETIME)
    _write_leaf(path, key_path, request, authority)


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


def _load_authority(path: Path, key_path: Path, now: datetime) -> Authority | None:
    """Load a CA; None if it is missing, damaged or expires within a certificate's lifetime."""
    try:
        pem, key_pem = path.read_bytes(), key_path.read_bytes()
    except OSError:
        return None
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    try:
        certificate = load_pem_x509_certificate(pem)
        key = load_pem_private_key(key_pem, None)
    except ValueError:
        return None
    if not isinstance(key, EllipticCurvePrivateKey) or certificate.public_key() != key.public_key():
        return None
    until = certificate.not_valid_after_utc
    if until < now + CERTIFICATE_LIFETIME:
        return None
    return Authority(certificate.public_bytes(Encoding.PEM), certificate.subject.public_bytes(), until, key)


def _create_self_signed(common_name: str, now: datetime) -> Authority:
    from mockkube.cluster.state import certificate_encoding as encoding

    key, name, until = _new_key(), encoding.encode_name(common_name), now + AUTHORITY_LIFETIME
    extensions = encoding.encode_authority_extensions(key.public_key())
    contents = encoding.CertificateContents(
        name, name, now - CLOCK_SKEW, until, key.public_key(), extensions, encoding.new_serial_number()
    )
    return Authority(encoding.sign(contents, key), name, until, key)


def _new_key() -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True, slots=True)
class _LeafRequest:
    """Certificate to issue: for a server if it has hosts, else for a client."""

    name: str
    groups: tuple[str, ...]
    hosts: tuple[str, ...]
    now: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Certificate and its key in PEM."""

    certificate: bytes
    key: bytes


def _create_leaf(request: _LeafRequest, authority: Authority) -> _Leaf:
    from mockkube.cluster.state import certificate_encoding as encoding

    key = _new_key()
    contents = encoding.CertificateContents(
        authority.name,
        encoding.encode_name(request.name, request.groups),
        request.now - CLOCK_SKEW,
        request.until,
        key.public_key(),
        encoding.encode_leaf_extensions(request.hosts, authority.key.public_key()),
        encoding.new_serial_number(),
    )
    return _Leaf(encoding.sign(contents, authority.key), _encode_key(key))


def _write_leaf(path: Path, key_path: Path, request: _LeafRequest, authority: Authority) -> None:
    leaf = _create_leaf(request, authority)
    write_atomically(key_path, leaf.key)
    write_atomically(path, leaf.certificate, mode=_PUBLIC)


def _encode_key(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
