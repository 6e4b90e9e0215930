"""Keys of service account tokens: RSA and elliptic curves, from each kind of PEM block."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.apiserver.identity.signing_keys import SigningKey, UnusableKeyError, parse_verification_keys
from mockkube.apiserver.identity.user import InvalidCredentials

KEYS = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "ES512": ec.generate_private_key(ec.SECP521R1()),
}
ACCOUNT = {"metadata": {"namespace": "default", "name": "robot", "uid": "u1"}}


def private_pem(key: Any, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())  # type: ignore[no-any-return]


def public_pem(key: Any) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[no-any-return]


def issuer_of(signing: Any, *verifying: Any) -> TokenIssuer:
    keys = [key for one in verifying for key in parse_verification_keys(public_pem(one))]
    return TokenIssuer(
        load_signing_key=lambda: SigningKey.from_pem(private_pem(signing)),
        load_verification_keys=(lambda: keys) if keys else None,
    )


@pytest.mark.parametrize("algorithm", KEYS)
@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
def test_tokens_of_every_algorithm(algorithm: str, form: PrivateFormat) -> None:
    key = KEYS[algorithm]
    signing = SigningKey.from_pem(b"some text\n" + private_pem(key, form))
    assert signing.verification_key.algorithm == algorithm
    [verification] = parse_verification_keys(private_pem(key, form))
    assert verification.key_id == signing.verification_key.key_id
    signature = signing.sign(b"text")
    assert verification.verify(signature, b"text")
    assert not verification.verify(signature, b"other")
    assert not verification.verify(signature[:-1], b"text")
    assert verification.to_json_web_key()["kty"] == ("RSA" if algorithm == "RS256" else "EC")


def test_tokens_of_an_older_key_stay_valid() -> None:
    old, new = KEYS["ES256"], KEYS["RS256"]
    token = issuer_of(old).issue_legacy(ACCOUNT, "s")
    assert issuer_of(new, old, new).verify(token) is not None
    with pytest.raises(InvalidCredentials, match="no keys found"):
        issuer_of(new, new).verify(token)


def test_key_set_and_discovery() -> None:
    issuer = issuer_of(KEYS["ES256"], KEYS["ES256"], KEYS["RS256"])
    assert [key["alg"] for key in issuer.public_keys()["keys"]] == ["ES256", "RS256"]
    assert issuer.openid_configuration("https://x/keys")["id_token_signing_alg_values_supported"] == ["ES256", "RS256"]


def test_what_is_no_usable_key() -> None:
    other = private_pem(ed25519.Ed25519PrivateKey.generate())
    for pem in (b"", b"text", public_pem(KEYS["RS256"]), other):
        with pytest.raises(UnusableKeyError):
            SigningKey.from_pem(pem)
    for pem in (b"", b"text", other):
        with pytest.raises(UnusableKeyError):
            parse_verification_keys(pem)
