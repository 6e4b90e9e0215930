"""Tokens of service accounts: signed when asked for, recognised when they come back."""

import base64
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.http.authentication import User

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
_GROUP: Final = "system:serviceaccounts"
_HALF: Final = 32


class TokenIssuer:
    """Signs with a key of its own, made when the first token is asked for; so tokens end with the server."""

    def __init__(self, issuer: str = ISSUER) -> None:
        self.issuer = issuer

    @cached_property
    def _key(self) -> "EllipticCurvePrivateKey":
        from cryptography.hazmat.primitives.asymmetric import ec

        return ec.generate_private_key(ec.SECP256R1())

    def issue(
        self, account: ReadOnlyObject, audiences: Sequence[str], now: datetime, expires: datetime, bound: Object | None
    ) -> str:
        """A token that says who the account is."""
        metadata = account["metadata"]
        private: Object = {
            "namespace": metadata["namespace"],
            "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
        }
        if bound is not None:
            private[bound["kind"].lower()] = {"name": bound["metadata"]["name"], "uid": bound["metadata"]["uid"]}
        issued = int(now.timestamp())
        claims = {
            "aud": list(audiences),
            "exp": int(expires.timestamp()),
            "iat": issued,
            "iss": self.issuer,
            "kubernetes.io": private,
            "nbf": issued,
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
        }
        signed = f"{_encoded(orjson.dumps({'alg': 'ES256', 'typ': 'JWT'}))}.{_encoded(orjson.dumps(claims))}"
        return f"{signed}.{_encoded(self._sign(signed.encode()))}"

    def _sign(self, text: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        from cryptography.hazmat.primitives.hashes import SHA256

        r, s = utils.decode_dss_signature(self._key.sign(text, ec.ECDSA(SHA256())))
        return r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")

    def claims(self, token: str, now: datetime) -> Object | None:
        """What a token says, if this issuer signed it and it has not expired."""
        signed, _, signature = token.rpartition(".")
        if token.count(".") != 2 or not self._verified(signed, signature):
            return None
        claims: Object = orjson.loads(_decoded(signed.partition(".")[2]))
        return claims if claims["nbf"] <= now.timestamp() < claims["exp"] else None

    def _verified(self, signed: str, signature: str) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        from cryptography.hazmat.primitives.hashes import SHA256

        try:
            raw = _decoded(signature)
            encoded = utils.encode_dss_signature(int.from_bytes(raw[:_HALF], "big"), int.from_bytes(raw[_HALF:], "big"))
            self._key.public_key().verify(encoded, signed.encode(), ec.ECDSA(SHA256()))
        except (InvalidSignature, ValueError):
            return False
        return True

    def user(self, claims: Object) -> User:
        """The user a token speaks for."""
        private: dict[str, Any] = claims["kubernetes.io"]
        groups = (_GROUP, f"{_GROUP}:{private['namespace']}")
        return User(claims["sub"], uid=private["serviceaccount"]["uid"], groups=groups)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
