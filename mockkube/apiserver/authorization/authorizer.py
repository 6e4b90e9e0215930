"""Authorizer: allow system:masters, then ask the configured modes in order; deny everything else."""

# upstream 1.36: apiserver/pkg/authorization/union/union.go, pkg/kubeapiserver/authorizer/modes/modes.go
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.authorization.binding_index import BindingIndex, UserRules
from mockkube.apiserver.authorization.node import NodeAuthorizer, node_name
from mockkube.apiserver.authorization.roles import GROUP, MissingRole, Roles
from mockkube.apiserver.authorization.rules import PolicyRule
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes, Decision
from mockkube.apiserver.registry.registry import Registry
from mockkube.lazy_dataclasses import dataclass

NODE: Final = "Node"
RBAC: Final = "RBAC"
ALWAYS_ALLOW: Final = "AlwaysAllow"
ALWAYS_DENY: Final = "AlwaysDeny"
DEFAULT_MODES: Final = (NODE, RBAC)

_ALLOWED: Final = Decision(allowed=True)
_DENIED: Final = Decision(allowed=False, reason="Everything is forbidden.")
_NO_RULES: Final = UserRules((), ())
_EVERYTHING: Final = (
    PolicyRule(("*",), groups=("*",), resources=("*",)),
    PolicyRule(("*",), urls=("*",)),
)


@dataclass(frozen=True, slots=True)
class ResolvedRules:
    """Rules of a user, as far as they can be listed."""

    rules: tuple[PolicyRule, ...]
    is_incomplete: bool
    error: str


class Authorizer:
    """Authorizer of one API server (upstream: union of the authorizers of its modes)."""

    def __init__(self, registry: Registry, modes: Sequence[str] = DEFAULT_MODES) -> None:
        self.roles = Roles(registry)
        self.modes = tuple(modes)
        self._bindings = BindingIndex(registry, self.roles)
        by_mode: Mapping[str, Callable[[AuthorizationAttributes], Decision]] = {
            NODE: NodeAuthorizer(registry).authorize,
            RBAC: self._authorize_by_roles,
            ALWAYS_ALLOW: lambda attributes: _ALLOWED,
            ALWAYS_DENY: lambda attributes: _DENIED,
        }
        self._authorizers = tuple(by_mode[mode] for mode in modes)

    def authorize(self, attributes: AuthorizationAttributes) -> Decision:
        """Authorize a request."""
        # hot: per request
        if MASTERS_GROUP in attributes.user.groups:
            return _ALLOWED
        reasons = []
        for authorize in self._authorizers:
            decision = authorize(attributes)
            if decision.allowed:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(allowed=False, reason="\n".join(reasons))

    def _authorize_by_roles(self, attributes: AuthorizationAttributes) -> Decision:
        holdings = self.rules_for(attributes.user, attributes.namespace)
        if (granted := holdings.find(attributes)) is not None:
            return granted.decision
        # A missing role may be why the request is denied, so it is part of the reason.
        missing = holdings.missing_roles
        return Decision(allowed=False, reason=f"RBAC: {_missing_roles_text(missing)}" if missing else "")

    def rules_for(self, user: User, namespace: str) -> UserRules:
        """Return the rules of a user in a namespace; without a namespace those that apply everywhere."""
        return self._bindings.rules_for(user, namespace)

    def resolve_rules(self, user: User, namespace: str) -> ResolvedRules:
        """Return the rules of a user in a namespace, for a SelfSubjectRulesReview."""
        if ALWAYS_ALLOW in self.modes:
            return ResolvedRules(_EVERYTHING, is_incomplete=False, error="")
        is_node = NODE in self.modes and node_name(user) is not None
        holdings = self.rules_for(user, namespace) if RBAC in self.modes else _NO_RULES
        errors = ["node authorizer does not support user rule resolution"] if is_node else []
        errors += map(_missing_role_text, holdings.missing_roles)
        rules = tuple(held.rule for held in holdings.rules)
        return ResolvedRules(rules, is_node, aggregate_messages(errors) if errors else "")


def _missing_role_text(missing: MissingRole) -> str:
    """Return the error text for a missing role, as upstream's listers word it."""
    return f'{missing.plural.removesuffix("s")}.{GROUP} "{missing.name}" not found'


def _missing_roles_text(missing: tuple[MissingRole, ...]) -> str:
    return aggregate_messages([_missing_role_text(one) for one in missing])
