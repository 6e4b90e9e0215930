"""Authorizer: allow system:masters, then nodes, then RBAC; deny everything else."""

# upstream 1.36: --authorization-mode=Node,RBAC; apiserver/pkg/authorization/union/union.go
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.authorization.grants import Grants, Holdings
from mockkube.apiserver.authorization.node import NodeAuthorizer, node_of
from mockkube.apiserver.authorization.roles import GROUP, MissingRole, Roles
from mockkube.apiserver.authorization.rules import Rule
from mockkube.apiserver.identity.user import MASTERS, User
from mockkube.apiserver.registry.authorizer import Attributes, Decision
from mockkube.apiserver.registry.registry import Registry

_ALLOWED: Final = Decision(allowed=True)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Rules of a user, as far as they can be listed."""

    rules: tuple[Rule, ...]
    incomplete: bool
    error: str


class Authorizer:
    """Authorizer of one API server (upstream: union of the node and RBAC authorizers)."""

    def __init__(self, registry: Registry) -> None:
        self.roles = Roles(registry)
        self._grants = Grants(registry, self.roles)
        self._nodes = NodeAuthorizer(registry)

    def decide(self, asked: Attributes) -> Decision:
        """Authorize a request."""
        # hot: per request
        if MASTERS in asked.user.groups:
            return _ALLOWED
        by_node = self._nodes.decide(asked)
        if by_node.allowed:
            return by_node
        holdings = self.holdings(asked.user, asked.namespace)
        for held in holdings.held:
            if held.rule.allows(asked):
                return Decision(allowed=True, reason=f"RBAC: allowed by {held.source}")
        # A missing role may be why the request is denied, so it is part of the reason.
        reasons = (by_node.reason, f"RBAC: {_absences(holdings.missing)}" if holdings.missing else "")
        return Decision(allowed=False, reason="\n".join(filter(None, reasons)))

    def holdings(self, user: User, namespace: str) -> Holdings:
        """Return the rules of a user in a namespace; without a namespace those that apply everywhere."""
        return self._grants.holdings(user, namespace)

    def enumerate(self, user: User, namespace: str) -> Enumeration:
        """Return the rules of a user in a namespace, for a SelfSubjectRulesReview."""
        holdings, is_node = self.holdings(user, namespace), node_of(user) is not None
        errors = ["node authorizer does not support user rule resolution"] if is_node else []
        errors += map(_absence, holdings.missing)
        rules = tuple(held.rule for held in holdings.held)
        return Enumeration(rules, is_node, aggregate_messages(errors) if errors else "")


def _absence(missing: MissingRole) -> str:
    """Return the error text for a missing role, as upstream's listers word it."""
    return f'{missing.plural.removesuffix("s")}.{GROUP} "{missing.name}" not found'


def _absences(missing: tuple[MissingRole, ...]) -> str:
    return aggregate_messages([_absence(one) for one in missing])
