"""Authenticate service account tokens: not expired, and service account and bound object still exist."""

# upstream 1.36: pkg/serviceaccount/claims.go, pkg/serviceaccount/jwt.go
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.times import parse_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.authentication.legacy_tokens import KeptTokens
from mockkube.apiserver.authorization.rules import go_list
from mockkube.apiserver.identity.service_account_tokens import LEGACY
from mockkube.apiserver.identity.user import AUDIENCE, CREDENTIAL_ID, Authenticated, InvalidCredentials, User
from mockkube.apiserver.registry.registry import Registry

# Tolerated clock skew, and how long after its deletion timestamp an object still counts.
LEEWAY: Final = timedelta(minutes=1)

_GROUP: Final = "system:serviceaccounts"
_EXTRA: Final = "authentication.kubernetes.io/"
_INVALIDATED: Final = "service account token has been invalidated"


class ServiceAccountReviewer:
    """Authenticator of service account tokens; a TokenReviewer."""

    def __init__(self, registry: Registry, used: Callable[[str, str], None] = lambda namespace, name: None) -> None:
        """Call `record_use` with namespace and name of each secret whose token is presented."""
        self._registry = registry
        self._issuer = registry.services.accounts
        self._kept = KeptTokens(registry, used)

    def __call__(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """Return user and audiences of a token; None for a token of another issuer."""
        claims = self._issuer.claims(token)
        if claims is None:
            return None
        kept = claims["iss"] == LEGACY
        # Legacy tokens have no audience; upstream treats them as meant for the API server.
        own: list[str] = [AUDIENCE] if kept else claims["aud"]
        agreed = tuple(audience for audience in own if audience in audiences)
        if not agreed:
            why = f"token audiences {go_list(own)} is invalid for the target audiences {go_list(audiences)}"
            raise InvalidCredentials(why)
        if kept:
            self._kept.judge(token, claims)
            return Authenticated(_kept_user(claims), agreed)
        self._judge(claims)
        return Authenticated(_user(claims), agreed)

    def _judge(self, claims: Object) -> None:
        now = self._registry.services.clock.now()
        if (now - LEEWAY).timestamp() > claims["exp"]:
            raise InvalidCredentials("service account token has expired")
        if (now + LEEWAY).timestamp() < claims["nbf"]:
            raise InvalidCredentials("service account token is not valid yet")
        private = claims["kubernetes.io"]
        namespace = private["namespace"]
        self._judge_account(namespace, private["serviceaccount"], now)
        for kind in ("secret", "pod", "node"):
            # The node of a pod-bound token is informational: the token ends with the pod.
            if kind in private and not (kind == "node" and "pod" in private):
                self._judge_bound(kind, "" if kind == "node" else namespace, private[kind], now)

    def _judge_account(self, namespace: str, claimed: ReadOnlyObject, now: datetime) -> None:
        name = claimed["name"]
        account = self._metadata("serviceaccounts", namespace, name)
        if account is None:
            raise InvalidCredentials(NotFound.for_object("", "serviceaccounts", name).message)
        if account["uid"] != claimed["uid"]:
            why = f"service account UID ({account['uid']}) does not match claim ({claimed['uid']})"
            raise InvalidCredentials(why)
        if _gone(account, now):
            raise InvalidCredentials(f"service account {namespace}/{name} has been deleted")

    def _judge_bound(self, kind: str, namespace: str, claimed: ReadOnlyObject, now: datetime) -> None:
        bound = self._metadata(f"{kind}s", namespace, claimed["name"])
        if bound is None:
            raise InvalidCredentials(_INVALIDATED)
        uid = claimed.get("uid", "")
        if bound["uid"] != uid:
            why = f"{kind} UID ({bound['uid']}) does not match service account {kind} ref claim ({uid})"
            raise InvalidCredentials(why)
        if _gone(bound, now):
            raise InvalidCredentials(_INVALIDATED)

    def _metadata(self, plural: str, namespace: str, name: str) -> ReadOnlyObject | None:
        resource = self._registry.stored("", plural)
        record = resource.record(namespace, name) if resource is not None else None
        if record is None:
            return None
        metadata: ReadOnlyObject = record.load()["metadata"]
        return metadata


def _gone(metadata: ReadOnlyObject, now: datetime) -> bool:
    deleted = metadata.get("deletionTimestamp")
    # An object with finalizers or a grace period still exists after its deletion, but its tokens should end soon.
    return deleted is not None and parse_time(deleted) < now - LEEWAY


def _user(claims: Object) -> User:
    private: Object = claims["kubernetes.io"]
    return User(
        claims["sub"],
        uid=private["serviceaccount"]["uid"],
        groups=(_GROUP, f"{_GROUP}:{private['namespace']}"),
        extra=dict(_extra(claims, private)),
    )


def _kept_user(claims: Object) -> User:
    namespace, uid = (claims[f"kubernetes.io/serviceaccount/{name}"] for name in ("namespace", "service-account.uid"))
    return User(claims["sub"], uid=uid, groups=(_GROUP, f"{_GROUP}:{namespace}"))


def _extra(claims: Object, private: Object) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield CREDENTIAL_ID, (f"JTI={claims['jti']}",)
    for kind in ("node", "pod"):
        for field, value in private.get(kind, {}).items():
            yield f"{_EXTRA}{kind}-{field}", (value,)
