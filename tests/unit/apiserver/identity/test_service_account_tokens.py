import base64
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256

from mockkube.apiserver.identity.service_account_tokens import TokenIssuer, TokenTerms
from mockkube.apiserver.identity.signing_keys import encode_base64url
from mockkube.apiserver.identity.user import InvalidCredentials

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROBOT = {"metadata": {"name": "robot", "namespace": "ns", "uid": "u"}}
TERMS = TokenTerms(("here",), NOW, NOW + timedelta(hours=1), "id")


def test_an_issuer_knows_its_own_tokens():
    issuer = TokenIssuer()
    claims = issuer.verify(issuer.issue(ROBOT, TERMS))
    assert claims is not None
    assert claims["kubernetes.io"] == {"namespace": "ns", "serviceaccount": {"name": "robot", "uid": "u"}}
    assert (claims["aud"], claims["jti"], claims["exp"] - claims["iat"]) == (["here"], "id", 3600)


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("secret", id="no token of this form"),
        pytest.param("a.b", id="two parts"),
        pytest.param("a.b.c", id="parts that are nothing"),
        pytest.param("\udcff.\udcff.\udcff", id="bytes that are no text"),
        pytest.param("e30.e30.e30", id="claims of nobody"),
    ],
)
def test_what_is_no_token_of_the_issuer_is_left_to_others(token):
    assert TokenIssuer().verify(token) is None


def test_a_token_of_another_key_is_not_good():
    with pytest.raises(InvalidCredentials, match="invalid signature, no keys found"):
        TokenIssuer().verify(TokenIssuer().issue(ROBOT, TERMS))


def test_a_token_of_another_issuer_is_left_to_it():
    assert TokenIssuer().verify(TokenIssuer(["https://example.com"]).issue(ROBOT, TERMS)) is None


def test_a_changed_token_is_not_good():
    issuer = TokenIssuer()
    head, _, signature = issuer.issue(ROBOT, TERMS).split(".")
    claims = encode_base64url(orjson.dumps({"iss": issuer.issuer, "sub": "system:serviceaccount:kube-system:admin"}))
    genuine = issuer.issue(ROBOT, TERMS)
    forged_tokens = (f"{head}.{claims}.{signature}", f"{head}.{claims}.", f"{head}.{claims}.AAAA")
    for forged in (*forged_tokens, f"{genuine}=", f"{genuine[:-3]}!{genuine[-3:]}"):
        with pytest.raises(InvalidCredentials, match="error in cryptographic primitive"):
            issuer.verify(forged)


def test_the_keys_an_issuer_publishes_verify_its_tokens():
    issuer = TokenIssuer()
    (key,) = issuer.public_keys()["keys"]
    point = (int.from_bytes(base64.urlsafe_b64decode(key[axis] + "=")) for axis in ("x", "y"))
    head, claims, signature = issuer.issue(ROBOT, TERMS).split(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    encoded = utils.encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    public = ec.EllipticCurvePublicNumbers(*point, ec.SECP256R1()).public_key()
    public.verify(encoded, f"{head}.{claims}".encode(), ec.ECDSA(SHA256()))
    assert orjson.loads(base64.urlsafe_b64decode(head + "=="))["kid"] == key["kid"]


def test_discovery_names_the_issuer_and_where_its_keys_are():
    found = TokenIssuer(["https://example.com"]).openid_configuration("https://example.com/keys")
    assert (found["issuer"], found["jwks_uri"]) == ("https://example.com", "https://example.com/keys")
