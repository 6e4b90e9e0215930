"""Users, as authenticators, authorizers and admission plugins see them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mockkube.api.types import Object

ALL_AUTHENTICATED: Final = "system:authenticated"
ALL_UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class User:
    """An identity: what RBAC subjects, `kubectl auth whoami` and admission see of a client."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def info(self) -> Object:
        """The identity as a UserInfo."""
        extra = {key: list(values) for key, values in self.extra.items()}
        whole = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {name: value for name, value in whole.items() if value}


ANONYMOUS: Final = User("system:anonymous", groups=(ALL_UNAUTHENTICATED,))
# Who everybody is on a server that asks for no credentials (plain HTTP on loopback).
UNSECURED: Final = User("system:unsecured", groups=(MASTERS, ALL_AUTHENTICATED))
AUDIENCE: Final = "https://kubernetes.default.svc"
"""Who a token is for when it does not say: this API. It is also who issues those of service accounts."""


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Whom a token speaks for, and for which of the audiences asked about it is good."""

    user: User
    audiences: tuple[str, ...]


TokenReviewer = Callable[[str, Sequence[str]], Authenticated | None]
"""Judges a token for some audiences: None for one it does not know, InvalidCredentials for one that is not good."""


class InvalidCredentials(Exception):
    """The client presented credentials, and they are not valid here. The answer is 401, never another identity."""


def with_authenticated_group(user: User) -> User:
    """Return the user as a member of system:authenticated, unless the user is anonymous."""
    if ALL_AUTHENTICATED in user.groups or ALL_UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, ALL_AUTHENTICATED))
