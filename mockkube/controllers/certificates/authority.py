"""Certificate authority: signs requests with a certificate and key from files, loaded on first use."""

# upstream 1.36: pkg/controller/certificates/authority
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockkube.api.errors import ApiError
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

BACKDATE: Final = timedelta(minutes=5)
# A certificate with a shorter validity is not shortened by the backdating of its start.
SHORT: Final = timedelta(hours=8)
DURATION_MIN: Final = timedelta(minutes=10)

_KEY_USAGES: Final = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED_USAGES: Final = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}
# Country, organization, unit, locality, province, street, postal code, common name, serial number.
_ATTRIBUTE_ORDER: Final = {f"2.5.4.{part}": place for place, part in enumerate((6, 10, 11, 7, 8, 9, 17, 3, 5))}


@dataclass(frozen=True, slots=True)
class SigningPolicy:
    """Usages and validity of a certificate to sign."""

    usages: Sequence[str]
    ttl: timedelta


def signing_duration(requested_seconds: int | None, max_duration: timedelta) -> timedelta:
    """Return the validity of a certificate for the requested seconds, within the bounds."""
    return (
        max_duration
        if requested_seconds is None
        else max(min(timedelta(seconds=requested_seconds), max_duration), min(DURATION_MIN, max_duration))
    )


class CertificateAuthority:
    """Certificate authority from two files."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._paths = certificate, key

    def sign(self, request: "x509.CertificateSigningRequest", policy: SigningPolicy, now: datetime) -> bytes:
        """Return the signed certificate in PEM; ApiError if it cannot be signed."""
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import Encoding

        authority = self._certificate
        # A certificate must not outlive the one that signs it.
        until = min(
            now + policy.ttl - (BACKDATE if policy.ttl >= SHORT else timedelta()), authority.not_valid_after_utc
        )
        if now >= authority.not_valid_after_utc:
            ended = authority.not_valid_after_utc
            raise ApiError(f"refusing to sign a certificate that expired in the past: NotAfter={ended}")
        builder = (
            x509.CertificateBuilder(authority.subject, _sort_attributes(request.subject), request.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - BACKDATE)
            .not_valid_after(until)
        )
        for extension, critical in self._extensions(request, policy):
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(self._key, self._hash_algorithm).public_bytes(Encoding.PEM)

    def _extensions(
        self, request: "x509.CertificateSigningRequest", policy: SigningPolicy
    ) -> "list[tuple[x509.ExtensionType, bool]]":
        """Return the extensions of the certificate, with whether each is critical."""
        from cryptography import x509

        found: list[tuple[x509.ExtensionType, bool]] = []
        if (usage := _build_key_usage(policy.usages)) is not None:
            found.append((usage, True))
        extended = dict.fromkeys(_EXTENDED_USAGES[one] for one in policy.usages if one in _EXTENDED_USAGES)
        if extended:
            oids = [x509.ObjectIdentifier(oid) for oid in extended]
            found.append((x509.ExtendedKeyUsage(oids), False))
        # Requested extensions other than the alternative names are ignored: a request could ask to be a CA.
        found.append((x509.BasicConstraints(ca=False, path_length=None), True))
        public = self._key.public_key()
        found.append((x509.AuthorityKeyIdentifier.from_issuer_public_key(public), False))
        try:
            found.append((request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value, False))
        except x509.ExtensionNotFound:
            return found
        return found

    @cached_property
    def _certificate(self) -> "x509.Certificate":
        from cryptography import x509

        return x509.load_pem_x509_certificate(_read_file(self._paths[0]))

    @cached_property
    def _key(self) -> "CertificateIssuerPrivateKeyTypes":
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        key: Any = load_pem_private_key(_read_file(self._paths[1]), None)
        issuer: CertificateIssuerPrivateKeyTypes = key
        return issuer

    @property
    def _hash_algorithm(self) -> Any:
        """Hash algorithm of signatures; None for Edwards curves, which define their own."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        own = isinstance(self._key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
        return hashes.SHA256() if own else None


def _sort_attributes(subject: "x509.Name") -> "x509.Name":
    """Return a name with its attributes in the order of Go's pkix.Name."""
    from cryptography import x509

    return x509.Name(
        sorted(subject, key=lambda part: _ATTRIBUTE_ORDER.get(part.oid.dotted_string, len(_ATTRIBUTE_ORDER)))
    )


def _build_key_usage(usages: Sequence[str]) -> "x509.KeyUsage | None":
    from cryptography import x509

    wanted = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    if not wanted:
        return None
    if "key_agreement" not in wanted:
        # Without key agreement these two mean nothing, and the cryptography package refuses to encode them.
        wanted -= {"encipher_only", "decipher_only"}
    return x509.KeyUsage(**{name: name in wanted for name in _KEY_USAGES.values()})


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ApiError(f"{path}: {error.strerror}") from error
