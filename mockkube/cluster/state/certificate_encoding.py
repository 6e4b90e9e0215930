"""Encode X.509 certificates as DER and PEM, signed by an elliptic-curve key.

The x509 package of cryptography writes the same bytes. Importing it takes as long as everything else that is done for
the certificates of a new cluster, so it is only imported to read certificates.
"""

import hashlib
import os
from base64 import encodebytes
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

# Tags of DER. https://www.itu.int/rec/T-REC-X.690
_BOOLEAN, _INTEGER, _BIT_STRING, _OCTET_STRING, _UTF8_STRING = 0x01, 0x02, 0x03, 0x04, 0x0C
_UTC_TIME, _GENERALIZED_TIME, _SEQUENCE, _SET = 0x17, 0x18, 0x30, 0x31
_DNS_NAME, _KEY_IDENTIFIER, _IP_ADDRESS = 0x82, 0x80, 0x87
_VERSION, _EXTENSIONS = 0xA0, 0xA3
# Object identifiers, encoded.
_COMMON_NAME: Final = bytes.fromhex("0603550403")
_ORGANIZATION: Final = bytes.fromhex("060355040a")
_ECDSA_WITH_SHA256: Final = bytes.fromhex("06082a8648ce3d040302")
_SUBJECT_KEY_IDENTIFIER: Final = bytes.fromhex("0603551d0e")
_KEY_USAGE: Final = bytes.fromhex("0603551d0f")
_ALTERNATIVE_NAME: Final = bytes.fromhex("0603551d11")
_BASIC_CONSTRAINTS: Final = bytes.fromhex("0603551d13")
_AUTHORITY_KEY_IDENTIFIER: Final = bytes.fromhex("0603551d23")
_EXTENDED_KEY_USAGE: Final = bytes.fromhex("0603551d25")
_SERVER_AUTH: Final = bytes.fromhex("06082b06010505070301")
_CLIENT_AUTH: Final = bytes.fromhex("06082b06010505070302")
# Digital signature, signing of certificates and of revocation lists.
_AUTHORITY_USAGE: Final = bytes.fromhex("0186")
# Years from here on are written with four digits.
_GENERALIZED_YEAR_MIN: Final = 2050


@dataclass(frozen=True, slots=True)
class CertificateContents:
    """Contents of a certificate; names are encoded."""

    issuer: bytes
    subject: bytes
    not_before: datetime
    not_after: datetime
    public_key: "EllipticCurvePublicKey"
    extensions: bytes
    serial_number: int

    def encode(self) -> bytes:
        """Return what is signed."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        return _encode(
            _SEQUENCE,
            _encode(_VERSION, _encode_integer(2)),
            _encode_integer(self.serial_number),
            _encode(_SEQUENCE, _ECDSA_WITH_SHA256),
            self.issuer,
            _encode(_SEQUENCE, _encode_time(self.not_before), _encode_time(self.not_after)),
            self.subject,
            self.public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
            _encode(_EXTENSIONS, _encode(_SEQUENCE, self.extensions)),
        )


def sign(contents: CertificateContents, key: "EllipticCurvePrivateKey") -> bytes:
    """Return the certificate in PEM, signed by a key of the issuer."""
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.hashes import SHA256

    signed = contents.encode()
    signature = key.sign(signed, ECDSA(SHA256()))
    certificate = _encode(
        _SEQUENCE, signed, _encode(_SEQUENCE, _ECDSA_WITH_SHA256), _encode(_BIT_STRING, b"\0", signature)
    )
    text = encodebytes(certificate).replace(b"\n", b"")
    lines = b"".join(text[at : at + 64] + b"\n" for at in range(0, len(text), 64))
    return b"-----BEGIN CERTIFICATE-----\n" + lines + b"-----END CERTIFICATE-----\n"


def new_serial_number() -> int:
    """Return a positive number of twenty bytes at most."""
    return int.from_bytes(os.urandom(20), "big") >> 1


def encode_name(common_name: str, organizations: Sequence[str] = ()) -> bytes:
    """Encode the name of a subject or issuer."""
    attributes = [(_ORGANIZATION, text) for text in organizations] + [(_COMMON_NAME, common_name)]
    parts = (_encode(_SEQUENCE, kind, _encode(_UTF8_STRING, text.encode())) for kind, text in attributes)
    return _encode(_SEQUENCE, *(_encode(_SET, part) for part in parts))


def encode_authority_extensions(key: "EllipticCurvePublicKey") -> bytes:
    """Encode the extensions of a CA that issues no other CAs."""
    constraints = _encode(_SEQUENCE, _encode(_BOOLEAN, b"\xff"), _encode_integer(0))
    return b"".join(
        (
            _encode_extension(_BASIC_CONSTRAINTS, constraints, critical=True),
            _encode_extension(_KEY_USAGE, _encode(_BIT_STRING, _AUTHORITY_USAGE), critical=True),
            _encode_extension(_SUBJECT_KEY_IDENTIFIER, _encode(_OCTET_STRING, _identify(key))),
        )
    )


def encode_leaf_extensions(hosts: Sequence[str], authority_key: "EllipticCurvePublicKey") -> bytes:
    """Encode the extensions of a certificate: for a server with hosts, else for a client."""
    usage = _encode(_SEQUENCE, _SERVER_AUTH if hosts else _CLIENT_AUTH)
    issuer = _encode(_SEQUENCE, _encode(_KEY_IDENTIFIER, _identify(authority_key)))
    extensions = [
        _encode_extension(_BASIC_CONSTRAINTS, _encode(_SEQUENCE), critical=True),
        _encode_extension(_EXTENDED_KEY_USAGE, usage),
        _encode_extension(_AUTHORITY_KEY_IDENTIFIER, issuer),
    ]
    if hosts:
        extensions.append(_encode_extension(_ALTERNATIVE_NAME, _encode(_SEQUENCE, *map(_encode_host, hosts))))
    return b"".join(extensions)


def _encode_host(host: str) -> bytes:
    try:
        return _encode(_IP_ADDRESS, ip_address(host).packed)
    except ValueError:
        return _encode(_DNS_NAME, host.encode("ascii"))


def _encode_extension(kind: bytes, value: bytes, *, critical: bool = False) -> bytes:
    mark = _encode(_BOOLEAN, b"\xff") if critical else b""
    return _encode(_SEQUENCE, kind, mark, _encode(_OCTET_STRING, value))


def _identify(key: "EllipticCurvePublicKey") -> bytes:
    """Return the identifier of a key."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    point = key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return hashlib.sha1(point, usedforsecurity=False).digest()  # as RFC 5280 says


def _encode_time(moment: datetime) -> bytes:
    moment = moment.astimezone(UTC)
    if moment.year < _GENERALIZED_YEAR_MIN:
        return _encode(_UTC_TIME, moment.strftime("%y%m%d%H%M%SZ").encode())
    return _encode(_GENERALIZED_TIME, moment.strftime("%Y%m%d%H%M%SZ").encode())


def _encode_integer(number: int) -> bytes:
    """Encode a number that is not negative."""
    return _encode(_INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _encode(tag: int, *parts: bytes) -> bytes:
    """Encode a value of one tag."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content
