"""Keys and certificates: what they say, and that they stay while they are good."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mockkube.cluster.state.certificates import (
    Certificates,
    ensure_certificates,
    install_authorities,
    load_or_create_authorities,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return ensure_certificates(tmp_path / "keys", ["192.0.2.7", "box.example"], now=NOW)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def contents(certificates: Certificates) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in certificates.all_files()}


def test_the_server_is_certified_for_its_names(certificates: Certificates) -> None:
    names = load(certificates.serving).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"localhost", "kubernetes.default.svc", "box.example"} <= set(names.get_values_for_type(x509.DNSName))
    addresses = set(names.get_values_for_type(x509.IPAddress))
    assert {ip_address("127.0.0.1"), ip_address("::1"), ip_address("192.0.2.7")} <= addresses


def test_the_administrator_is_in_system_masters(certificates: Certificates) -> None:
    admin = load(certificates.admin)
    assert [a.value for a in admin.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:masters"]
    usage = admin.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_the_authority_issued_both_and_all_hold_now(certificates: Certificates) -> None:
    authority = load(certificates.authority)
    for path in (certificates.serving, certificates.admin):
        certificate = load(path)
        certificate.verify_directly_issued_by(authority)
        assert certificate.not_valid_before_utc < NOW < certificate.not_valid_after_utc


def test_a_front_proxy_has_an_authority_of_its_own(certificates: Certificates) -> None:
    authority, proxy = load(certificates.front_proxy_authority), load(certificates.front_proxy)
    proxy.verify_directly_issued_by(authority)
    assert proxy.subject.rfc4514_string() == "CN=front-proxy-client"
    assert authority.public_key() != load(certificates.authority).public_key()


def test_keys_are_readable_by_their_owner_alone(certificates: Certificates) -> None:
    keys = [path for path in certificates.all_files() if path.suffix == ".key"]
    assert [path.stat().st_mode & 0o777 for path in keys] == [0o600] * 4
    assert certificates.directory.stat().st_mode & 0o777 == 0o700


def test_good_certificates_are_kept(certificates: Certificates) -> None:
    before = contents(certificates)
    ensure_certificates(certificates.directory, ["192.0.2.7"], now=NOW + timedelta(days=300))
    assert contents(certificates) == before


@pytest.mark.parametrize(
    ("names", "later"),
    [
        pytest.param(["192.0.2.8"], timedelta(0), id="another name"),
        pytest.param([], timedelta(days=340), id="soon over"),
    ],
)
def test_renewed_certificates_are_of_the_same_authority(
    certificates: Certificates, names: list[str], later: timedelta
) -> None:
    before = contents(certificates)
    renewed = contents(ensure_certificates(certificates.directory, names, now=NOW + later))
    assert renewed["ca.crt"] == before["ca.crt"]
    assert renewed["apiserver.crt"] != before["apiserver.crt"]


@pytest.mark.parametrize("damaged", ["ca.crt", "ca.key", "apiserver.key", "admin.crt", "certificates.json"])
def test_a_missing_file_is_made_good(certificates: Certificates, damaged: str) -> None:
    (certificates.directory / damaged).unlink()
    again = ensure_certificates(certificates.directory, [], now=NOW)
    load(again.serving).verify_directly_issued_by(load(again.authority))
    load(again.admin).verify_directly_issued_by(load(again.authority))


def test_an_authority_of_another_key_is_replaced(certificates: Certificates, tmp_path: Path) -> None:
    other = ensure_certificates(tmp_path / "other", [], now=NOW)
    certificates.authority.write_bytes(other.authority.read_bytes())
    certificates.metadata.unlink()
    again = ensure_certificates(certificates.directory, [], now=NOW)
    assert again.authority.read_bytes() != other.authority.read_bytes()
    load(again.serving).verify_directly_issued_by(load(again.authority))


def test_shared_authorities_issue_the_certificates_of_another_directory(tmp_path: Path) -> None:
    authorities = load_or_create_authorities(tmp_path / "first", now=NOW)
    before = ensure_certificates(tmp_path / "second", [], now=NOW)
    old_serving = before.serving.read_bytes()
    install_authorities(tmp_path / "second", authorities)
    second = ensure_certificates(tmp_path / "second", [], now=NOW)
    assert second.authority.read_text() == authorities.certificate
    assert second.serving.read_bytes() != old_serving
    load(second.serving).verify_directly_issued_by(load(second.authority))
    assert second.front_proxy_authority.read_text() == authorities.front_proxy_certificate
    load(second.front_proxy).verify_directly_issued_by(load(second.front_proxy_authority))
    assert second.front_proxy_authority_key.stat().st_mode & 0o777 == 0o600


def test_shared_authorities_that_are_installed_already_change_nothing(tmp_path: Path) -> None:
    authorities = load_or_create_authorities(tmp_path / "first", now=NOW)
    install_authorities(tmp_path / "second", authorities)
    certificates = ensure_certificates(tmp_path / "second", [], now=NOW)
    before = contents(certificates)
    install_authorities(tmp_path / "second", authorities)
    assert contents(ensure_certificates(tmp_path / "second", [], now=NOW)) == before


def test_a_directory_that_has_an_authority_shares_it(certificates: Certificates) -> None:
    authorities = load_or_create_authorities(certificates.directory, now=NOW)
    assert authorities.certificate == certificates.authority.read_text()
    assert authorities.key == certificates.authority_key.read_text()
