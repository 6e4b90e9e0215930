import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mockkube.api.kinds.core.tls import find_key_pair_error


def make_pair():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    )
    certificate = (
        builder.not_valid_before(start).not_valid_after(start + datetime.timedelta(days=1)).sign(key, SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM), pem


CERTIFICATE, KEY = make_pair()


@pytest.mark.parametrize(
    ("certificate", "key", "complaint"),
    [
        pytest.param(CERTIFICATE, KEY, None, id="a pair"),
        pytest.param(b"", KEY, "tls: failed to find any PEM data in certificate input", id="no certificate"),
        pytest.param(CERTIFICATE, b"", "tls: failed to find any PEM data in key input", id="no key"),
        pytest.param(CERTIFICATE, make_pair()[1], "tls: private key does not match public key", id="another key"),
        pytest.param(
            KEY,
            KEY,
            'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks '
            "of the following "
            "types: [PRIVATE KEY]",
            id="two keys",
        ),
    ],
)
def test_a_pair_belongs_together(certificate, key, complaint):
    assert find_key_pair_error(certificate, key) == complaint
