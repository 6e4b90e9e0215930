"""Validate legacy tokens: secret and service account must exist and match the token."""

# upstream 1.36: pkg/serviceaccount/legacy.go
import base64
import binascii
from collections.abc import Callable
from hmac import compare_digest
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.identity.user import InvalidCredentials
from mockkube.apiserver.registry.registry import Registry

INVALID_SINCE_LABEL: Final = "kubernetes.io/legacy-token-invalid-since"
TOKEN_KEY: Final = "token"  # noqa: S105 - the key of a secret's data
_CLAIM_PREFIX: Final = "kubernetes.io/serviceaccount/"
_INVALIDATED: Final = "Token has been invalidated"


class LegacyTokenValidator:
    """Validator of the claims of legacy tokens whose signature has been verified."""

    def __init__(self, registry: Registry, used: Callable[[str, str], None]) -> None:
        self._registry = registry
        self._record_use = used

    def validate(self, token: str, claims: Object) -> None:
        """Raise InvalidCredentials unless the token is valid."""
        namespace, account = claims[f"{_CLAIM_PREFIX}namespace"], claims[f"{_CLAIM_PREFIX}service-account.name"]
        secret = self._load("secrets", namespace, claims[f"{_CLAIM_PREFIX}secret.name"])
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            raise InvalidCredentials(_INVALIDATED)
        if not compare_digest(read_token(secret), token.encode("utf-8", "surrogateescape")):
            raise InvalidCredentials("Token does not match server's copy")
        self._validate_account(namespace, account, claims[f"{_CLAIM_PREFIX}service-account.uid"])
        name = secret["metadata"]["name"]
        # upstream: the last use is recorded even if the token has been marked invalid, and before it is rejected.
        self._record_use(namespace, name)
        if (secret["metadata"].get("labels") or {}).get(INVALID_SINCE_LABEL):
            raise InvalidCredentials(
                f"the token in secret {namespace}/{name} for service account {namespace}/{account} has been marked "
                "invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the "
                f"'{INVALID_SINCE_LABEL}' label from the secret to temporarily allow use of this token"
            )

    def _validate_account(self, namespace: str, name: str, uid: str) -> None:
        account = self._load("serviceaccounts", namespace, name)
        if account is None:
            raise InvalidCredentials(NotFound.for_object("", "serviceaccounts", name).message)
        metadata = account["metadata"]
        if metadata.get("deletionTimestamp"):
            raise InvalidCredentials(f"ServiceAccount {namespace}/{name} has been deleted")
        if metadata["uid"] != uid:
            raise InvalidCredentials(f"ServiceAccount UID ({metadata['uid']}) does not match claim ({uid})")

    def _load(self, plural: str, namespace: str, name: str) -> ReadOnlyObject | None:
        resource = self._registry.find_storage_resource("", plural)
        cached = resource.get_cached(namespace, name) if resource is not None else None
        return None if cached is None else cached.load()


def read_token(secret: ReadOnlyObject) -> bytes:
    """Return the token of a secret; empty if it has none."""
    try:
        return base64.b64decode((secret.get("data") or {}).get(TOKEN_KEY) or "")
    except binascii.Error:
        return b""
