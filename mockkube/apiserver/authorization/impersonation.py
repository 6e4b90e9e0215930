"""Impersonation: parse the headers, and check the permission to act as another user.

From 1.36 on a user may be allowed only some actions as another user (constrained impersonation, KEP-5284); the old verb
`impersonate` allows all of them.
"""

# upstream 1.36: apiserver/pkg/endpoints/filters/impersonation
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from mockkube.api import names
from mockkube.api.errors import BadRequest, Forbidden, aggregate_messages
from mockkube.api.fields import FieldError, invalid, quote
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.errors import new_forbidden_request
from mockkube.apiserver.authorization.node import NODE_USER_PREFIX, NODES_GROUP
from mockkube.apiserver.authorization.rules import ALL
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS_USER, MASTERS_GROUP, User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.lazy_dataclasses import dataclass

_USER: Final = "Impersonate-User"
_GROUP: Final = "Impersonate-Group"
_UID: Final = "Impersonate-Uid"
_EXTRA: Final = "impersonate-extra-"
_AUTHENTICATION: Final = "authentication.k8s.io"
_SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"
_SERVICE_ACCOUNTS_GROUP: Final = "system:serviceaccounts"
_NODE_NAME_EXTRA: Final = "authentication.kubernetes.io/node-name"
_EXTRA_PATH_PATTERN: Final = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_EXTRA_PATH: Final = re.compile(_EXTRA_PATH_PATTERN)
_EXTRA_KEY: Final = "extra.key"
# With that many groups or extra values, one check for `*` comes first, which may save the single ones.
WILDCARD_CHECK_MIN: Final = 4


class Impersonator:
    """Impersonation of users. `constrained`: try the modes of 1.36 before the old verb."""

    def __init__(self, authorizer: Authorizer, *, constrained: bool) -> None:
        self._authorizer = authorizer
        self._modes = _CONSTRAINED_MODES if constrained else ()
        self._constrained = constrained

    def apply(self, attributes: AuthorizationAttributes, headers: CIMultiDictProxy[str]) -> AuthorizationAttributes:
        """Return the attributes with the impersonated user; raise Forbidden if that is not allowed."""
        # hot: per request, nearly always without such headers
        if "impersonate-" not in " ".join(headers).lower():
            return attributes
        impersonated = _parse_headers(headers)
        if not impersonated.name:
            if impersonated == User(""):
                return attributes
            raise BadRequest(_missing_name_text(impersonated, constrained=self._constrained))
        return attributes._replace(user=self._impersonate(impersonated, attributes))

    def _impersonate(self, impersonated: User, attributes: AuthorizationAttributes) -> User:
        refused: Forbidden | None = None
        for mode in self._modes:
            if not mode.applies(impersonated, attributes.user):
                continue
            try:
                self._require(
                    mode.attributes_to_check(attributes._replace(verb=f"impersonate-on:{mode.name}:{attributes.verb}"))
                )
                return self._check_user(impersonated, attributes.user, mode)
            except Forbidden as error:
                refused = refused or error
        try:
            return self._check_user(impersonated, attributes.user, None)
        except Forbidden as error:
            # The first mode that applies explains best why the request is denied.
            raise refused or error from None

    def _require(self, attributes: AuthorizationAttributes) -> None:
        decision = self._authorizer.authorize(attributes)
        if not decision.allowed:
            raise new_forbidden_request(attributes, decision.reason)

    def _check_user(self, impersonated: User, requester: User, mode: _ImpersonationMode | None) -> User:
        """Return the complete impersonated user, if the requester may impersonate all its parts."""
        verb = "impersonate" if mode is None else f"impersonate:{mode.name}"
        group = "" if mode is None else _AUTHENTICATION
        name = _name_attributes(
            impersonated,
            AuthorizationAttributes(requester, verb, group, "users", name=impersonated.name),
            nodes=mode is not None,
        )
        self._require(name if mode is None else mode.attributes_to_check(name, named=True))
        if impersonated.uid:
            self._require(AuthorizationAttributes(requester, verb, _AUTHENTICATION, "uids", name=impersonated.uid))
        self._require_groups(
            impersonated, AuthorizationAttributes(requester, verb, group, "groups"), strict=mode is not None
        )
        extra = AuthorizationAttributes(requester, verb, _AUTHENTICATION, "userextras")
        self._require_extra(impersonated, extra, strict=mode is not None)
        return _with_implied_groups(impersonated, nodes=mode is not None)

    def _require_groups(self, impersonated: User, attributes: AuthorizationAttributes, *, strict: bool) -> None:
        if strict and "" in impersonated.groups:
            raise new_forbidden_request(attributes, "impersonating the empty string group is not allowed")
        if strict and MASTERS_GROUP in impersonated.groups:
            raise new_forbidden_request(
                attributes._replace(name=MASTERS_GROUP), "impersonating the system:masters group is not allowed"
            )
        if (
            strict
            and len(impersonated.groups) >= WILDCARD_CHECK_MIN
            and self._authorizer.authorize(attributes._replace(name=ALL)).allowed
        ):
            return
        for group in impersonated.groups:
            self._require(attributes._replace(name=group))

    def _require_extra(self, impersonated: User, attributes: AuthorizationAttributes, *, strict: bool) -> None:
        values = [(key, value) for key, some in impersonated.extra.items() for value in some]
        if strict and (why := find_extra_error(impersonated.extra)):
            raise new_forbidden_request(attributes, why)
        if strict and max(len(values), len(impersonated.extra)) >= WILDCARD_CHECK_MIN:
            wildcard = attributes._replace(subresource=ALL, name=ALL)
            if self._authorizer.authorize(wildcard).allowed:
                return
        for key, value in values:
            self._require(attributes._replace(subresource=key, name=value))


@dataclass(frozen=True, slots=True)
class _ImpersonationMode:
    """Mode of constrained impersonation, for one kind of user."""

    name: str
    applies: Callable[[User, User], bool]

    def attributes_to_check(
        self, attributes: AuthorizationAttributes, *, named: bool = False
    ) -> AuthorizationAttributes:
        """Return the attributes to check; in the mode for a pod's own node they name neither node nor pod."""
        if self.name != _ASSOCIATED_NODE:
            return attributes
        keys = {"authentication.kubernetes.io/associated-node-keys": tuple(sorted(attributes.user.extra))}
        return attributes._replace(user=replace(attributes.user, extra=keys), name=ALL if named else attributes.name)


_ASSOCIATED_NODE: Final = "associated-node"


def _has_only_name(impersonated: User) -> bool:
    return not (impersonated.uid or impersonated.groups or impersonated.extra)


def _is_associated_node(impersonated: User, requester: User) -> bool:
    node = _node_name(impersonated.name)
    known = requester.extra.get(_NODE_NAME_EXTRA, ()) == (node,)
    return bool(node) and known and _has_only_name(impersonated) and _service_account(requester.name) is not None


_CONSTRAINED_MODES: Final = (
    _ImpersonationMode(_ASSOCIATED_NODE, _is_associated_node),
    _ImpersonationMode("arbitrary-node", lambda wanted, _: _has_only_name(wanted) and bool(_node_name(wanted.name))),
    _ImpersonationMode(
        "serviceaccount", lambda wanted, _: _has_only_name(wanted) and _service_account(wanted.name) is not None
    ),
    _ImpersonationMode(
        "user-info", lambda wanted, _: not _node_name(wanted.name) and _service_account(wanted.name) is None
    ),
)


def _node_name(username: str) -> str:
    """Return the node of a user name; empty for other users."""
    name = username.removeprefix(NODE_USER_PREFIX)
    return "" if name == username or names.check_dns_subdomain(name) else name


def _service_account(username: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account's user name; None for other users."""
    parts = username.removeprefix(_SERVICE_ACCOUNT_PREFIX).split(":")
    if not username.startswith(_SERVICE_ACCOUNT_PREFIX) or len(parts) != 2:
        return None
    return None if names.check_dns_label(parts[0]) or names.check_dns_subdomain(parts[1]) else (parts[0], parts[1])


def _name_attributes(
    impersonated: User, attributes: AuthorizationAttributes, *, nodes: bool
) -> AuthorizationAttributes:
    """Return the attributes to check for the user name."""
    if nodes and (node := _node_name(impersonated.name)):
        return attributes._replace(resource="nodes", name=node)
    if (account := _service_account(impersonated.name)) is not None:
        return attributes._replace(resource="serviceaccounts", namespace=account[0], name=account[1])
    return attributes


def _with_implied_groups(impersonated: User, *, nodes: bool) -> User:
    """Return the user with the groups that follow from its name."""
    groups = impersonated.groups
    if nodes and _node_name(impersonated.name):
        groups = (NODES_GROUP,)
    elif not groups and (account := _service_account(impersonated.name)) is not None:
        groups = (_SERVICE_ACCOUNTS_GROUP, f"{_SERVICE_ACCOUNTS_GROUP}:{account[0]}")
    more = ALL_UNAUTHENTICATED if impersonated.name == ANONYMOUS_USER.name else ALL_AUTHENTICATED
    if more in groups or ALL_UNAUTHENTICATED in groups:
        return replace(impersonated, groups=groups)
    return replace(impersonated, groups=(*groups, more))


def _parse_headers(headers: CIMultiDictProxy[str]) -> User:
    """Return the user that the headers name."""
    extra: dict[str, tuple[str, ...]] = {}
    for name, value in headers.items():
        if name.lower().startswith(_EXTRA):
            # Header names are case-insensitive and limited in characters, so extra keys are percent-encoded.
            key = unquote(name[len(_EXTRA) :].lower())
            extra[key] = (*extra.get(key, ()), value)
    name, uid = headers.get(_USER, ""), headers.get(_UID, "")
    return User(name, uid=uid, groups=tuple(headers.getall(_GROUP, ())), extra=dict(sorted(extra.items())))


def _missing_name_text(impersonated: User, *, constrained: bool) -> str:
    """Return the error text for headers that name no user."""
    if constrained:
        groups = ", ".join(map(quote, impersonated.groups))
        shown = f"[]string{{{groups}}}" if impersonated.groups else "[]string(nil)"
        extra = ", ".join(
            f"{quote(key)}:[]string{{{_join_quoted(values)}}}" for key, values in impersonated.extra.items()
        )
        more = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
        user = f'&user.DefaultInfo{{Name:"", UID:{quote(impersonated.uid)}, Groups:{shown}, Extra:{more}}}'
        return f"requested {user} without impersonating a user name"
    return f"requested [{' '.join(_format_references(impersonated))}] without impersonating a user"


def _join_quoted(values: tuple[str, ...]) -> str:
    return ", ".join(map(quote, values))


def _format_references(impersonated: User) -> Iterator[str]:
    """Yield the object references that older servers print in errors."""
    version = f"{_AUTHENTICATION}/v1"
    yield from (f"{{Group  {group}    }}" for group in impersonated.groups)
    for key, values in impersonated.extra.items():
        yield from (f"{{UserExtra  {value}  {version}  {key}}}" for value in values)
    if impersonated.uid:
        yield f"{{UID  {impersonated.uid}  {version}  }}"


def find_extra_error(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return the error text for the first invalid entry; empty if all are valid."""
    # upstream 1.36: apiserver/pkg/endpoints/filters/impersonation/mode.go, validateExtra
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if errors := _validate_extra_key(key):
            return f"impersonating an invalid key in extra is not allowed: {aggregate_messages(errors)}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _validate_extra_key(key: str) -> list[FieldError]:
    host, slash, path = key.partition("/")
    if not (host and slash and path):
        return [invalid(_EXTRA_KEY, key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(_EXTRA_KEY, host, text) for text in names.check_dns_subdomain(host)]
    if not _EXTRA_PATH.fullmatch(path):
        why = f"Invalid path (regex used for validation is '{_EXTRA_PATH_PATTERN}')"
        errors.append(invalid(_EXTRA_KEY, path, why))
    return errors
