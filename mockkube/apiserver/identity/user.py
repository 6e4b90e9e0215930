"""User: name, uid, groups and extra values of a client, for authenticators, authorizers and admission plugins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.lazy_dataclasses import dataclass

ALL_AUTHENTICATED: Final = "system:authenticated"
ALL_UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS_GROUP: Final = "system:masters"
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class User:
    """Identity of a client (upstream: user.Info)."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_user_info(self) -> Object:
        """Return the user as a UserInfo object."""
        extra = {key: list(values) for key, values in self.extra.items()}
        fields = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {name: value for name, value in fields.items() if value}


ANONYMOUS_USER: Final = User("system:anonymous", groups=(ALL_UNAUTHENTICATED,))
# User of all requests to a server without authentication (plain HTTP on loopback).
UNSECURED_USER: Final = User("system:unsecured", groups=(MASTERS_GROUP, ALL_AUTHENTICATED))
# Default audience of tokens, and issuer of service account tokens: this API.
DEFAULT_AUDIENCE: Final = "https://kubernetes.default.svc"


@dataclass(frozen=True, slots=True)
class AuthenticatedUser:
    """User of a token, and those of the requested audiences for which it is valid."""

    user: User
    audiences: tuple[str, ...]


# Authenticates a token for some audiences: None for an unknown token, InvalidCredentials for an invalid one.
TokenAuthenticatorFunction = Callable[[str, Sequence[str]], AuthenticatedUser | None]


class InvalidCredentials(Exception):
    """Error for credentials that are not valid: the response is 401; no other authenticator is tried."""


def with_authenticated_group(user: User) -> User:
    """Return the user as a member of system:authenticated, unless the user is anonymous."""
    if ALL_AUTHENTICATED in user.groups or ALL_UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, ALL_AUTHENTICATED))
