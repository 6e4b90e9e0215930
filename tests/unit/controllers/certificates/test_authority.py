from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mockkube.api.errors import ApiError
from mockkube.controllers.certificates.authority import CertificateAuthority, SigningPolicy, signing_duration

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
YEAR, HOUR = timedelta(days=365), timedelta(hours=1)


def named(*parts):
    return x509.Name([x509.NameAttribute(oid, text) for oid, text in parts])


@pytest.fixture
def authority(tmp_path):
    name = named((NameOID.COMMON_NAME, "authority"))
    builder = x509.CertificateBuilder(name, name, KEY.public_key(), 1).not_valid_before(NOW - YEAR)
    certificate = builder.not_valid_after(NOW + 2 * YEAR).sign(KEY, hashes.SHA256())
    (tmp_path / "ca.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
    (tmp_path / "ca.key").write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return CertificateAuthority(tmp_path / "ca.crt", tmp_path / "ca.key")


@pytest.fixture
def request_for_joe():
    name = named((NameOID.COMMON_NAME, "joe"), (NameOID.ORGANIZATION_NAME, "dev"))
    names = x509.SubjectAlternativeName([x509.DNSName("joe.example.com")])
    return x509.CertificateSigningRequestBuilder(name).add_extension(names, critical=False).sign(KEY, hashes.SHA256())


def signed(authority, request, *usages, lasts=YEAR, now=NOW):
    return x509.load_pem_x509_certificate(authority.sign(request, SigningPolicy(usages, lasts), now))


def test_what_was_asked_for_is_signed(authority, request_for_joe):
    made = signed(authority, request_for_joe, "digital signature", "client auth")
    made.verify_directly_issued_by(x509.load_pem_x509_certificate(authority._paths[0].read_bytes()))
    assert made.subject.rfc4514_string() == "CN=joe,O=dev"
    assert made.extensions.get_extension_for_class(x509.KeyUsage).value.digital_signature
    extended = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(extended) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["joe.example.com"]
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_it_begins_a_little_earlier_and_ends_so_if_it_is_long(authority, request_for_joe):
    early = timedelta(minutes=5)
    long, short = (signed(authority, request_for_joe, "client auth", lasts=lasts) for lasts in (YEAR, HOUR))
    assert (long.not_valid_before_utc, long.not_valid_after_utc) == (NOW - early, NOW + YEAR - early)
    assert (short.not_valid_before_utc, short.not_valid_after_utc) == (NOW - early, NOW + HOUR)


def test_nothing_outlasts_its_authority(authority, request_for_joe):
    made = signed(authority, request_for_joe, "client auth", now=NOW + 2 * YEAR - HOUR)
    assert made.not_valid_after_utc == NOW + 2 * YEAR
    with pytest.raises(ApiError, match="expired in the past"):
        signed(authority, request_for_joe, "client auth", now=NOW + 2 * YEAR)


def test_what_cannot_be_read_is_told(tmp_path, request_for_joe):
    with pytest.raises(ApiError, match="No such file"):
        signed(CertificateAuthority(tmp_path / "no.crt", tmp_path / "no.key"), request_for_joe, "client auth")


@pytest.mark.parametrize(
    ("asked", "lasts"),
    [
        pytest.param(None, YEAR, id="as long as can be, unless told"),
        pytest.param(3600, HOUR, id="as long as asked"),
        pytest.param(60, timedelta(minutes=10), id="ten minutes at least"),
        pytest.param(99 * 365 * 24 * 3600, YEAR, id="no longer than can be"),
    ],
)
def test_how_long_it_lasts(asked, lasts):
    assert signing_duration(asked, YEAR) == lasts
