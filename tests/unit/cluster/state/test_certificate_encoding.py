"""Certificates have the bytes that the x509 package of cryptography writes."""

from datetime import UTC, datetime
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mockkube.cluster.state.certificate_encoding import (
    CertificateContents,
    encode_authority_extensions,
    encode_leaf_extensions,
    encode_name,
    new_serial_number,
    sign,
)

KEY = ec.derive_private_key(0xC0FFEE, ec.SECP256R1())
ISSUER_KEY = ec.derive_private_key(0xBEEF, ec.SECP256R1())
BEFORE = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
USAGE = {"digital_signature": True, "key_cert_sign": True, "crl_sign": True}
NO_USAGE = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
            "decipher_only")  # fmt: skip


def name(common_name, organizations=()):
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def leaf_extensions(hosts):
    usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    yield x509.BasicConstraints(ca=False, path_length=None), True
    yield x509.ExtendedKeyUsage([usage]), False
    yield x509.AuthorityKeyIdentifier.from_issuer_public_key(ISSUER_KEY.public_key()), False
    if hosts:
        names = [x509.IPAddress(ip_address(one)) if one[-1].isdigit() else x509.DNSName(one) for one in hosts]
        yield x509.SubjectAlternativeName(names), False


def authority_extensions():
    yield x509.BasicConstraints(ca=True, path_length=0), True
    yield x509.KeyUsage(**USAGE, **dict.fromkeys(NO_USAGE, False)), True
    yield x509.SubjectKeyIdentifier.from_public_key(KEY.public_key()), False


def expected(subject, until, serial, extensions):
    builder = x509.CertificateBuilder(name("ca"), subject, KEY.public_key(), serial)
    builder = builder.not_valid_before(BEFORE).not_valid_after(until)
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(ISSUER_KEY, hashes.SHA256()).tbs_certificate_bytes


@pytest.mark.parametrize(
    "hosts", [(), ("localhost", "192.0.2.7", "::1"), tuple(f"host-{n}.example" for n in range(200))]
)
@pytest.mark.parametrize("until", [datetime(2027, 1, 1, tzinfo=UTC), datetime(2051, 12, 31, 23, 59, 59, tzinfo=UTC)])
@pytest.mark.parametrize("serial", [1, 127, 128, 2**159 - 1])
def test_a_certificate_is_encoded_like_that_of_cryptography(hosts, until, serial):
    extensions = encode_leaf_extensions(hosts, ISSUER_KEY.public_key())
    subject = encode_name("jane ü", ("a", "b"))
    given = CertificateContents(encode_name("ca"), subject, BEFORE, until, KEY.public_key(), extensions, serial)
    assert given.encode() == expected(name("jane ü", ("a", "b")), until, serial, leaf_extensions(hosts))


def test_a_ca_is_encoded_like_that_of_cryptography():
    until, extensions = datetime(2036, 1, 1, tzinfo=UTC), encode_authority_extensions(KEY.public_key())
    given = CertificateContents(encode_name("ca"), encode_name("s"), BEFORE, until, KEY.public_key(), extensions, 7)
    assert given.encode() == expected(name("s"), until, 7, authority_extensions())


def test_a_signed_certificate_is_read_and_verified():
    until, extensions = datetime(2036, 1, 1, tzinfo=UTC), encode_authority_extensions(ISSUER_KEY.public_key())
    given = CertificateContents(
        encode_name("ca"), encode_name("ca"), BEFORE, until, ISSUER_KEY.public_key(), extensions, new_serial_number()
    )
    certificate = x509.load_pem_x509_certificate(sign(given, ISSUER_KEY))
    certificate.verify_directly_issued_by(certificate)
    assert certificate.not_valid_after_utc == until
    assert 0 < certificate.serial_number < 2**159
