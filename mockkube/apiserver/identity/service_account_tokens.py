"""Issue and verify tokens of service accounts.

upstream 1.36: pkg/serviceaccount/jwt.go
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import orjson
from cachetools import LRUCache

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.identity.signing_keys import SigningKey, VerificationKey, encode_base64url
from mockkube.apiserver.identity.user import DEFAULT_AUDIENCE, InvalidCredentials
from mockkube.lazy_dataclasses import dataclass

# Verified tokens that are cached, because verifying a signature takes much longer than most requests.
VERIFIED_TOKENS_MAX: Final = 1024

# Issuer of legacy tokens, which are stored in secrets and never expire.
LEGACY_ISSUER: Final = "kubernetes/serviceaccount"


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
    """Issuer of service account tokens, which also verifies them.

    Without a signing key it generates one with the first token, so that its tokens are invalid after a restart.
    """

    def __init__(
        self,
        issuers: Sequence[str] = (DEFAULT_AUDIENCE,),
        *,
        audiences: Sequence[str] = (),
        load_signing_key: Callable[[], SigningKey] = SigningKey.generate,
        load_verification_keys: Callable[[], Sequence[VerificationKey]] | None = None,
        keys_url: str = "",
    ) -> None:
        """Issue tokens of the first issuer; accept those of all of them.

        `audiences` are those of the API, by default the issuers. Verification keys are by default the signing key's.
        Keys are loaded when they are first needed: parsing them costs a tenth of a server's start.
        """
        self.issuer, self._issuers = issuers[0], frozenset((*issuers, LEGACY_ISSUER))
        self.audiences = tuple(audiences) or tuple(issuers)
        self.keys_url = keys_url
        self._load_signing_key = load_signing_key
        self._load_verification_keys = load_verification_keys
        self._verified: LRUCache[str, Object] = LRUCache(VERIFIED_TOKENS_MAX)

    @cached_property
    def _key(self) -> SigningKey:
        return self._load_signing_key()

    @cached_property
    def _verification_keys(self) -> Mapping[str, VerificationKey]:
        load = self._load_verification_keys
        keys = (self._key.verification_key,) if load is None else load()
        return {key.key_id: key for key in keys}

    def public_keys(self) -> Object:
        """Return the JSON Web Key Set by which tokens can be verified."""
        return {"keys": [key.to_json_web_key() for key in self._verification_keys.values()]}

    def openid_configuration(self, keys_at: str) -> Object:
        """Return the OpenID Connect discovery document; `keys_at` is the address of the keys."""
        return {
            "issuer": self.issuer,
            "jwks_uri": self.keys_url or keys_at,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted(
                {key.algorithm for key in self._verification_keys.values()}
            ),
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
        public = self._key.verification_key
        head = {"alg": public.algorithm, "kid": public.key_id}
        signed = f"{encode_base64url(orjson.dumps(head))}.{encode_base64url(orjson.dumps(claims))}"
        return f"{signed}.{encode_base64url(self._key.sign(signed.encode()))}"

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
        if claims is None or claims.get("iss") not in self._issuers or head is None:
            return None
        keys = self._verification_keys
        # A token without a key id is verified by every key, as upstream's verifier does it.
        candidates = tuple(keys.values()) if "kid" not in head else (keys.get(head["kid"]),)
        if not any(candidates):
            raise InvalidCredentials("invalid signature, no keys found")
        signed, signature = f"{parts[0]}.{parts[1]}".encode(), _decode(parts[2])
        if not any(key is not None and key.verify(signature, signed) for key in candidates):
            raise InvalidCredentials("go-jose/go-jose: error in cryptographic primitive")
        return claims


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


def _decode(text: str) -> bytes:
    try:
        # Strict, without padding and other characters: one token, one text.
        padding = b"=" * (-len(text) % 4)
        return b"" if "=" in text else base64.b64decode(text.encode() + padding, altchars=b"-_", validate=True)
    except ValueError:
        return b""
