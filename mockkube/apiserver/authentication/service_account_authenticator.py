"""Authenticate service account tokens: not expired, and service account and bound object still exist."""

# upstream 1.36: pkg/serviceaccount/claims.go, pkg/serviceaccount/jwt.go
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.apiserver.authentication.legacy_tokens import LegacyTokenValidator
from mockkube.apiserver.authorization.rules import format_go_list
from mockkube.apiserver.identity.service_account_tokens import LEGACY_ISSUER
from mockkube.apiserver.identity.user import (
    CREDENTIAL_ID,
    AuthenticatedUser,
    InvalidCredentials,
    User,
)
from mockkube.apiserver.registry.registry import Registry

# Tolerated clock skew, and how long after its deletion timestamp an object still counts.
LEEWAY: Final = timedelta(minutes=1)

_GROUP: Final = "system:serviceaccounts"
_EXTRA: Final = "authentication.kubernetes.io/"
_INVALIDATED: Final = "service account token has been invalidated"


class ServiceAccountTokenAuthenticator:
    """Authenticator of service account tokens."""

    def __init__(
        self, registry: Registry, record_use: Callable[[str, str], None] = lambda namespace, name: None
    ) -> None:
        """Call `record_use` with namespace and name of each secret whose token is presented."""
        self._registry = registry
        self._issuer = registry.dependencies.token_issuer
        self._legacy_validator = LegacyTokenValidator(registry, record_use)

    def __call__(self, token: str, audiences: Sequence[str]) -> AuthenticatedUser | None:
        """Return user and audiences of a token; None for a token of another issuer."""
        claims = self._issuer.verify(token)
        if claims is None:
            return None
        is_legacy = claims["iss"] == LEGACY_ISSUER
        # Legacy tokens have no audience; upstream treats them as meant for the API server.
        own: list[str] = [*self._issuer.audiences] if is_legacy else claims["aud"]
        agreed = tuple(audience for audience in own if audience in audiences)
        if not agreed:
            why = (
                f"token audiences {format_go_list(own)} is invalid for the target audiences {format_go_list(audiences)}"
            )
            raise InvalidCredentials(why)
        if is_legacy:
            self._legacy_validator.validate(token, claims)
            return AuthenticatedUser(_to_legacy_user(claims), agreed)
        self._validate(claims)
        return AuthenticatedUser(_to_user(claims), agreed)

    def _validate(self, claims: Object) -> None:
        now = self._registry.dependencies.clock.now()
        if (now - LEEWAY).timestamp() > claims["exp"]:
            raise InvalidCredentials("service account token has expired")
        if (now + LEEWAY).timestamp() < claims["nbf"]:
            raise InvalidCredentials("service account token is not valid yet")
        private = claims["kubernetes.io"]
        namespace = private["namespace"]
        self._validate_account(namespace, private["serviceaccount"], now)
        for kind in ("secret", "pod", "node"):
            # The node of a pod-bound token is informational: the token ends with the pod.
            if kind in private and not (kind == "node" and "pod" in private):
                self._validate_bound_object(kind, "" if kind == "node" else namespace, private[kind], now)

    def _validate_account(self, namespace: str, claimed: ReadOnlyObject, now: datetime) -> None:
        name = claimed["name"]
        account = self._load_metadata("serviceaccounts", namespace, name)
        if account is None:
            raise InvalidCredentials(NotFound.for_object("", "serviceaccounts", name).message)
        if account["uid"] != claimed["uid"]:
            why = f"service account UID ({account['uid']}) does not match claim ({claimed['uid']})"
            raise InvalidCredentials(why)
        if _is_deleted(account, now):
            raise InvalidCredentials(f"service account {namespace}/{name} has been deleted")

    def _validate_bound_object(self, kind: str, namespace: str, claimed: ReadOnlyObject, now: datetime) -> None:
        bound = self._load_metadata(f"{kind}s", namespace, claimed["name"])
        if bound is None:
            raise InvalidCredentials(_INVALIDATED)
        uid = claimed.get("uid", "")
        if bound["uid"] != uid:
            why = f"{kind} UID ({bound['uid']}) does not match service account {kind} ref claim ({uid})"
            raise InvalidCredentials(why)
        if _is_deleted(bound, now):
            raise InvalidCredentials(_INVALIDATED)

    def _load_metadata(self, plural: str, namespace: str, name: str) -> ReadOnlyObject | None:
        resource = self._registry.find_storage_resource("", plural)
        cached = resource.get_cached(namespace, name) if resource is not None else None
        if cached is None:
            return None
        metadata: ReadOnlyObject = cached.load()["metadata"]
        return metadata


def _is_deleted(metadata: ReadOnlyObject, now: datetime) -> bool:
    deleted = metadata.get("deletionTimestamp")
    # An object with finalizers or a grace period still exists after its deletion, but its tokens should end soon.
    return deleted is not None and parse_time(deleted) < now - LEEWAY


def _to_user(claims: Object) -> User:
    private: Object = claims["kubernetes.io"]
    return User(
        claims["sub"],
        uid=private["serviceaccount"]["uid"],
        groups=(_GROUP, f"{_GROUP}:{private['namespace']}"),
        extra=dict(_user_extra(claims, private)),
    )


def _to_legacy_user(claims: Object) -> User:
    namespace, uid = (claims[f"kubernetes.io/serviceaccount/{name}"] for name in ("namespace", "service-account.uid"))
    return User(claims["sub"], uid=uid, groups=(_GROUP, f"{_GROUP}:{namespace}"))


def _user_extra(claims: Object, private: Object) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield CREDENTIAL_ID, (f"JTI={claims['jti']}",)
    for kind in ("node", "pod"):
        for field, value in private.get(kind, {}).items():
            yield f"{_EXTRA}{kind}-{field}", (value,)
