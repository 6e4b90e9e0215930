"""Issue and verify tokens of service accounts.

upstream 1.36: pkg/serviceaccount/jwt.go
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson
from cachetools import LRUCache

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.identity.user import DEFAULT_AUDIENCE, InvalidCredentials

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

# Verified tokens that are cached, because verifying a signature takes much longer than most requests.
VERIFIED_TOKENS_MAX: Final = 1024

# Issuer of legacy tokens, which are stored in secrets and never expire.
LEGACY_ISSUER: Final = "kubernetes/serviceaccount"

_COORDINATE_BYTES: Final = 32
_ALGORITHM: Final = "ES256"


@dataclass(frozen=True, slots=True)
class TokenTerms:
    """Claims of a token besides its service account. It is bound to at most one object; `node` goes only with a pod."""

    audiences: Sequence[str]
    issued_at: datetime
    expires_at: datetime
    token_id: str
    bound_object: ReadOnlyObject | None = None
    node: ReadOnlyObject | None = None
    warn_after: datetime | None = None


class TokenIssuer:
    """Issuer with a key of its own, generated with the first token, so its tokens are invalid after a restart."""

    def __init__(self, issuer: str = DEFAULT_AUDIENCE) -> None:
        self.issuer = issuer
        self._verified: LRUCache[str, Object] = LRUCache(VERIFIED_TOKENS_MAX)

    @cached_property
    def _key(self) -> "EllipticCurvePrivateKey":
        from cryptography.hazmat.primitives.asymmetric import ec

        return ec.generate_private_key(ec.SECP256R1())

    @cached_property
    def _key_id(self) -> str:
        # upstream 1.36: pkg/serviceaccount/jwt.go, keyIDFromPublicKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return _encode(hashlib.sha256(public).digest())

    def public_keys(self) -> Object:
        """Return the JSON Web Key Set by which tokens can be verified."""
        # upstream 1.36: pkg/serviceaccount/openidmetadata.go
        point = self._key.public_key().public_numbers()
        x, y = (_encode(number.to_bytes(_COORDINATE_BYTES, "big")) for number in (point.x, point.y))
        key = {"use": "sig", "kty": "EC", "kid": self._key_id, "crv": "P-256", "alg": _ALGORITHM, "x": x, "y": y}
        return {"keys": [key]}

    def openid_configuration(self, keys_at: str) -> Object:
        """Return the OpenID Connect discovery document; `keys_at` is the address of the keys."""
        return {
            "issuer": self.issuer,
            "jwks_uri": keys_at,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [_ALGORITHM],
        }

    def issue(self, account: ReadOnlyObject, terms: TokenTerms) -> str:
        """Return a new token of a service account."""
        return self._encode_token(self._make_claims(account, terms))

    def issue_legacy(self, account: ReadOnlyObject, secret: str) -> str:
        """Return a new token to be stored in the secret of this name."""
        # upstream 1.36: pkg/serviceaccount/legacy.go
        metadata = account["metadata"]
        return self._encode_token(
            {
                "iss": LEGACY_ISSUER,
                "kubernetes.io/serviceaccount/namespace": metadata["namespace"],
                "kubernetes.io/serviceaccount/secret.name": secret,
                "kubernetes.io/serviceaccount/service-account.name": metadata["name"],
                "kubernetes.io/serviceaccount/service-account.uid": metadata["uid"],
                "sub": _subject(metadata),
            }
        )

    def _encode_token(self, claims: Object) -> str:
        head = {"alg": _ALGORITHM, "kid": self._key_id}
        signed = f"{_encode(orjson.dumps(head))}.{_encode(orjson.dumps(claims))}"
        return f"{signed}.{_encode(self._sign(signed.encode()))}"

    def _make_claims(self, account: ReadOnlyObject, terms: TokenTerms) -> Object:
        # upstream 1.36: pkg/serviceaccount/claims.go
        metadata = account["metadata"]
        private: Object = {"namespace": metadata["namespace"], "serviceaccount": _reference(account)}
        if terms.bound_object is not None:
            private[terms.bound_object["kind"].lower()] = _reference(terms.bound_object)
        if terms.node is not None:
            private["node"] = _reference(terms.node)
        if terms.warn_after is not None:
            private["warnafter"] = int(terms.warn_after.timestamp())
        return {
            "aud": list(terms.audiences),
            "exp": int(terms.expires_at.timestamp()),
            "iat": int(terms.issued_at.timestamp()),
            "iss": self.issuer,
            "jti": terms.token_id,
            "kubernetes.io": private,
            "nbf": int(terms.issued_at.timestamp()),
            "sub": _subject(metadata),
        }

    def _sign(self, text: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        from cryptography.hazmat.primitives.hashes import SHA256

        # JWS wants both numbers with a fixed length, where the library encodes them as DER.
        r, s = utils.decode_dss_signature(self._key.sign(text, ec.ECDSA(SHA256())))
        return r.to_bytes(_COORDINATE_BYTES, "big") + s.to_bytes(_COORDINATE_BYTES, "big")

    def verify(self, token: str) -> Object | None:
        """Return the claims of a token, or None if another issuer made it.

        Raise InvalidCredentials if the signature is wrong.
        """
        # hot: per request of a service account
        if token not in self._verified:
            claims = self._verify_token(token)
            if claims is None:
                return None
            self._verified[token] = claims
        return self._verified[token]

    def _verify_token(self, token: str) -> Object | None:
        parts = token.split(".")
        if len(parts) != 3:
            return None
        head, claims = _decode_json(parts[0]), _decode_json(parts[1])
        # Another authenticator may know the token, so an unknown issuer is no error.
        if claims is None or claims.get("iss") not in (self.issuer, LEGACY_ISSUER) or head is None:
            return None
        if head.get("kid", self._key_id) != self._key_id:
            raise InvalidCredentials("invalid signature, no keys found")
        if not self._verify_signature(f"{parts[0]}.{parts[1]}".encode(), parts[2]):
            raise InvalidCredentials("go-jose/go-jose: error in cryptographic primitive")
        return claims

    def _verify_signature(self, signed: bytes, signature: str) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        from cryptography.hazmat.primitives.hashes import SHA256

        try:
            raw = _decode(signature)
            encoded = utils.encode_dss_signature(
                int.from_bytes(raw[:_COORDINATE_BYTES], "big"), int.from_bytes(raw[_COORDINATE_BYTES:], "big")
            )
            self._key.public_key().verify(encoded, signed, ec.ECDSA(SHA256()))
        except (InvalidSignature, ValueError):
            return False
        return True


def _subject(metadata: ReadOnlyObject) -> str:
    return f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}"


def _reference(obj: ReadOnlyObject) -> Object:
    """Return name and uid of an object, as far as it has them."""
    return {field: obj["metadata"][field] for field in ("name", "uid") if obj["metadata"].get(field)}


def _decode_json(part: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(_decode(part))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
