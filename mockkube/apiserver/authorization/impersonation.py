"""Impersonation: parse the headers, and check the permission to act as another user.

From 1.36 on a user may be allowed only some actions as another user (constrained impersonation, KEP-5284); the old verb
`impersonate` allows all of them.
"""

# upstream 1.36: apiserver/pkg/endpoints/filters/impersonation
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from mockkube.api import names
from mockkube.api.errors import BadRequest, Forbidden
from mockkube.api.fields import quote
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.impersonation_fields import extra_complaint
from mockkube.apiserver.authorization.node import NODES, PREFIX
from mockkube.apiserver.authorization.refusals import refusal
from mockkube.apiserver.authorization.rules import ALL
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, MASTERS, User
from mockkube.apiserver.registry.authorizer import Attributes

_USER: Final = "Impersonate-User"
_GROUP: Final = "Impersonate-Group"
_UID: Final = "Impersonate-Uid"
_EXTRA: Final = "impersonate-extra-"
_AUTHENTICATION: Final = "authentication.k8s.io"
_ACCOUNT: Final = "system:serviceaccount:"
_ACCOUNTS: Final = "system:serviceaccounts"
_NODE_OF_REQUESTER: Final = "authentication.kubernetes.io/node-name"
# With that many groups or extra values, one check for `*` comes first, which may save the single ones.
MANY: Final = 4


class Impersonation:
    """Impersonation of users. `constrained`: try the modes of 1.36 before the old verb."""

    def __init__(self, authorizer: Authorizer, *, constrained: bool) -> None:
        self._authorizer = authorizer
        self._modes = _CONSTRAINED if constrained else ()
        self._constrained = constrained

    def apply(self, asked: Attributes, headers: CIMultiDictProxy[str]) -> Attributes:
        """Return the attributes with the impersonated user; raise Forbidden if that is not allowed."""
        # hot: per request, nearly always without such headers
        if not any(name[:12].lower() == "impersonate-" for name in headers):
            return asked
        wanted = _wanted(headers)
        if not wanted.name:
            if wanted == User(""):
                return asked
            raise BadRequest(_nameless(wanted, constrained=self._constrained))
        return replace(asked, user=self._become(wanted, asked))

    def _become(self, wanted: User, asked: Attributes) -> User:
        refused: Forbidden | None = None
        for mode in self._modes:
            if not mode.applies(wanted, asked.user):
                continue
            try:
                self._require(mode.seen(replace(asked, verb=f"impersonate-on:{mode.name}:{asked.verb}")))
                return self._allowed(wanted, asked.user, mode)
            except Forbidden as error:
                refused = refused or error
        try:
            return self._allowed(wanted, asked.user, None)
        except Forbidden as error:
            # The first mode that applies explains best why the request is denied.
            raise refused or error from None

    def _require(self, asked: Attributes) -> None:
        decision = self._authorizer.decide(asked)
        if not decision.allowed:
            raise refusal(asked, decision.reason)

    def _allowed(self, wanted: User, requester: User, mode: _Mode | None) -> User:
        """Return the complete impersonated user, if the requester may impersonate all its parts."""
        verb = "impersonate" if mode is None else f"impersonate:{mode.name}"
        group = "" if mode is None else _AUTHENTICATION
        name = _name(wanted, Attributes(requester, verb, group, "users", name=wanted.name), nodes=mode is not None)
        self._require(name if mode is None else mode.seen(name, named=True))
        if wanted.uid:
            self._require(Attributes(requester, verb, _AUTHENTICATION, "uids", name=wanted.uid))
        self._require_groups(wanted, Attributes(requester, verb, group, "groups"), strict=mode is not None)
        extra = Attributes(requester, verb, _AUTHENTICATION, "userextras")
        self._require_extra(wanted, extra, strict=mode is not None)
        return _completed(wanted, nodes=mode is not None)

    def _require_groups(self, wanted: User, asked: Attributes, *, strict: bool) -> None:
        if strict and "" in wanted.groups:
            raise refusal(asked, "impersonating the empty string group is not allowed")
        if strict and MASTERS in wanted.groups:
            raise refusal(replace(asked, name=MASTERS), "impersonating the system:masters group is not allowed")
        if strict and len(wanted.groups) >= MANY and self._authorizer.decide(replace(asked, name=ALL)).allowed:
            return
        for group in wanted.groups:
            self._require(replace(asked, name=group))

    def _require_extra(self, wanted: User, asked: Attributes, *, strict: bool) -> None:
        values = [(key, value) for key, some in wanted.extra.items() for value in some]
        if strict and (why := extra_complaint(wanted.extra)):
            raise refusal(asked, why)
        if strict and max(len(values), len(wanted.extra)) >= MANY:
            whole = replace(asked, subresource=ALL, name=ALL)
            if self._authorizer.decide(whole).allowed:
                return
        for key, value in values:
            self._require(replace(asked, subresource=key, name=value))


@dataclass(frozen=True, slots=True)
class _Mode:
    """Mode of constrained impersonation, for one kind of user."""

    name: str
    applies: Callable[[User, User], bool]

    def seen(self, asked: Attributes, *, named: bool = False) -> Attributes:
        """Return the attributes to check; in the mode for a pod's own node they name neither node nor pod."""
        if self.name != _OWN_NODE:
            return asked
        keys = {"authentication.kubernetes.io/associated-node-keys": tuple(sorted(asked.user.extra))}
        return replace(asked, user=replace(asked.user, extra=keys), name=ALL if named else asked.name)


_OWN_NODE: Final = "associated-node"


def _only_name(wanted: User) -> bool:
    return not (wanted.uid or wanted.groups or wanted.extra)


def _own_node(wanted: User, requester: User) -> bool:
    node = _node(wanted.name)
    known = requester.extra.get(_NODE_OF_REQUESTER, ()) == (node,)
    return bool(node) and known and _only_name(wanted) and _account(requester.name) is not None


_CONSTRAINED: Final = (
    _Mode(_OWN_NODE, _own_node),
    _Mode("arbitrary-node", lambda wanted, _: _only_name(wanted) and bool(_node(wanted.name))),
    _Mode("serviceaccount", lambda wanted, _: _only_name(wanted) and _account(wanted.name) is not None),
    _Mode("user-info", lambda wanted, _: not _node(wanted.name) and _account(wanted.name) is None),
)


def _node(username: str) -> str:
    """Return the node of a user name; empty for other users."""
    name = username.removeprefix(PREFIX)
    return "" if name == username or names.check_dns_subdomain(name) else name


def _account(username: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account's user name; None for other users."""
    parts = username.removeprefix(_ACCOUNT).split(":")
    if not username.startswith(_ACCOUNT) or len(parts) != 2:
        return None
    return None if names.check_dns_label(parts[0]) or names.check_dns_subdomain(parts[1]) else (parts[0], parts[1])


def _name(wanted: User, asked: Attributes, *, nodes: bool) -> Attributes:
    """Return the attributes to check for the user name."""
    if nodes and (node := _node(wanted.name)):
        return replace(asked, resource="nodes", name=node)
    if (account := _account(wanted.name)) is not None:
        return replace(asked, resource="serviceaccounts", namespace=account[0], name=account[1])
    return asked


def _completed(wanted: User, *, nodes: bool) -> User:
    """Return the user with the groups that follow from its name."""
    groups = wanted.groups
    if nodes and _node(wanted.name):
        groups = (NODES,)
    elif not groups and (account := _account(wanted.name)) is not None:
        groups = (_ACCOUNTS, f"{_ACCOUNTS}:{account[0]}")
    more = ALL_UNAUTHENTICATED if wanted.name == ANONYMOUS.name else ALL_AUTHENTICATED
    if more in groups or ALL_UNAUTHENTICATED in groups:
        return replace(wanted, groups=groups)
    return replace(wanted, groups=(*groups, more))


def _wanted(headers: CIMultiDictProxy[str]) -> User:
    """Return the user that the headers name."""
    extra: dict[str, tuple[str, ...]] = {}
    for name, value in headers.items():
        if name.lower().startswith(_EXTRA):
            # Header names are case-insensitive and limited in characters, so extra keys are percent-encoded.
            key = unquote(name[len(_EXTRA) :].lower())
            extra[key] = (*extra.get(key, ()), value)
    name, uid = headers.get(_USER, ""), headers.get(_UID, "")
    return User(name, uid=uid, groups=tuple(headers.getall(_GROUP, ())), extra=dict(sorted(extra.items())))


def _nameless(wanted: User, *, constrained: bool) -> str:
    """Return the error text for headers that name no user."""
    if constrained:
        groups = ", ".join(map(quote, wanted.groups))
        shown = f"[]string{{{groups}}}" if wanted.groups else "[]string(nil)"
        extra = ", ".join(f"{quote(key)}:[]string{{{_texts(values)}}}" for key, values in wanted.extra.items())
        more = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
        user = f'&user.DefaultInfo{{Name:"", UID:{quote(wanted.uid)}, Groups:{shown}, Extra:{more}}}'
        return f"requested {user} without impersonating a user name"
    return f"requested [{' '.join(_references(wanted))}] without impersonating a user"


def _texts(values: tuple[str, ...]) -> str:
    return ", ".join(map(quote, values))


def _references(wanted: User) -> Iterator[str]:
    """Yield the object references that older servers print in errors."""
    version = f"{_AUTHENTICATION}/v1"
    yield from (f"{{Group  {group}    }}" for group in wanted.groups)
    for key, values in wanted.extra.items():
        yield from (f"{{UserExtra  {value}  {version}  {key}}}" for value in values)
    if wanted.uid:
        yield f"{{UID  {wanted.uid}  {version}  }}"
