import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from mockkube.api.kinds.certificates.cluster_trust_bundle import ClusterTrustBundleStrategy

STRATEGY = ClusterTrustBundleStrategy()
KEY = ec.generate_private_key(ec.SECP256R1())


def certificate(*, is_authority=True):
    name, start = x509.Name([]), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(KEY.public_key())
    builder = builder.serial_number(1).not_valid_before(start).not_valid_after(start + datetime.timedelta(days=1))
    if is_authority:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


AUTHORITY = certificate()


def bundle(text=AUTHORITY, name="b", signer=""):
    return {"metadata": {"name": name}, "spec": {"trustBundle": text, "signerName": signer}}


def said(errors):
    return [str(error) for error in errors]


def hidden(detail):
    return [f'spec.trustBundle: Invalid value: "<value omitted>": {detail}']


def test_a_bundle_of_an_authority_is_accepted(judge):
    assert STRATEGY.validate(bundle("a comment\n" + AUTHORITY), judge()) == []
    assert STRATEGY.validate(bundle(name="x.io:s:b", signer="x.io/s"), judge()) == []


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "at least one trust anchor must be provided"),
        (AUTHORITY * 2, "duplicate trust anchor (indices [0 1])"),
        (certificate(is_authority=False), "entry 0 does not have the CA bit set"),
        (AUTHORITY.replace("CERTIFICATE", "X"), "entry 0 has bad block type: X"),
        (AUTHORITY.replace("CERTIFICATE-----\n", "CERTIFICATE-----\na: b\n\n", 1), "entry 0 has PEM block headers"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "entry 0 does not parse as X.509"),
    ],
)
def test_certificates_are_those_of_authorities(judge, text, detail):
    assert said(STRATEGY.validate(bundle(text), judge())) == hidden(detail)


@pytest.mark.parametrize(
    ("name", "signer", "complaint"),
    [
        ("a:b", "", 'ClusterTrustBundle without signer name must not have ":" in its name'),
        ("b", "x.io/s", "ClusterTrustBundle for signerName x.io/s must be named with prefix x.io:s:"),
    ],
)
def test_a_bundle_is_named_after_its_signer(judge, name, signer, complaint):
    errors = STRATEGY.validate(bundle(name=name, signer=signer), judge())
    assert said(errors) == [f'metadata.name: Invalid value: "{name}": {complaint}']


def test_unchanged_certificates_are_not_judged_again(judge):
    old = bundle("garbage")
    assert STRATEGY.validate_update(bundle("garbage"), old, judge()) == []
    errors = STRATEGY.validate_update(bundle("other garbage"), old, judge())
    assert said(errors) == hidden("at least one trust anchor must be provided")


def test_the_signer_never_changes(judge):
    errors = STRATEGY.validate_update(bundle(name="x.io:s:b"), bundle(name="x.io:s:b", signer="x.io/s"), judge())
    assert said(errors)[-1] == 'spec.signerName: Invalid value: "": field is immutable'
