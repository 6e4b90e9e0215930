"""Authorizer: allow system:masters, then nodes, then RBAC; deny everything else."""

# upstream 1.36: --authorization-mode=Node,RBAC; apiserver/pkg/authorization/union/union.go
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.authorization.binding_index import BindingIndex, UserRules
from mockkube.apiserver.authorization.node import NodeAuthorizer, node_name
from mockkube.apiserver.authorization.roles import GROUP, MissingRole, Roles
from mockkube.apiserver.authorization.rules import PolicyRule
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes, Decision
from mockkube.apiserver.registry.registry import Registry

_ALLOWED: Final = Decision(allowed=True)


@dataclass(frozen=True, slots=True)
class ResolvedRules:
    """Rules of a user, as far as they can be listed."""

    rules: tuple[PolicyRule, ...]
    is_incomplete: bool
    error: str


class Authorizer:
    """Authorizer of one API server (upstream: union of the node and RBAC authorizers)."""

    def __init__(self, registry: Registry) -> None:
        self.roles = Roles(registry)
        self._bindings = BindingIndex(registry, self.roles)
        self._node_authorizer = NodeAuthorizer(registry)

    def authorize(self, attributes: AuthorizationAttributes) -> Decision:
        """Authorize a request."""
        # hot: per request
        if MASTERS_GROUP in attributes.user.groups:
            return _ALLOWED
        by_node = self._node_authorizer.authorize(attributes)
        if by_node.allowed:
            return by_node
        holdings = self.rules_for(attributes.user, attributes.namespace)
        for held in holdings.rules:
            if held.rule.allows(attributes):
                return Decision(allowed=True, reason=f"RBAC: allowed by {held.source}")
        # A missing role may be why the request is denied, so it is part of the reason.
        reasons = (
            by_node.reason,
            f"RBAC: {_missing_roles_text(holdings.missing_roles)}" if holdings.missing_roles else "",
        )
        return Decision(allowed=False, reason="\n".join(filter(None, reasons)))

    def rules_for(self, user: User, namespace: str) -> UserRules:
        """Return the rules of a user in a namespace; without a namespace those that apply everywhere."""
        return self._bindings.rules_for(user, namespace)

    def resolve_rules(self, user: User, namespace: str) -> ResolvedRules:
        """Return the rules of a user in a namespace, for a SelfSubjectRulesReview."""
        holdings, is_node = self.rules_for(user, namespace), node_name(user) is not None
        errors = ["node authorizer does not support user rule resolution"] if is_node else []
        errors += map(_missing_role_text, holdings.missing_roles)
        rules = tuple(held.rule for held in holdings.rules)
        return ResolvedRules(rules, is_node, aggregate_messages(errors) if errors else "")


def _missing_role_text(missing: MissingRole) -> str:
    """Return the error text for a missing role, as upstream's listers word it."""
    return f'{missing.plural.removesuffix("s")}.{GROUP} "{missing.name}" not found'


def _missing_roles_text(missing: tuple[MissingRole, ...]) -> str:
    return aggregate_messages([_missing_role_text(one) for one in missing])
