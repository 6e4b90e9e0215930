"""The verdict on a request: administrators, then nodes, then roles and bindings. Whoever is not allowed, is refused."""

# upstream 1.36: --authorization-mode=Node,RBAC; apiserver/pkg/authorization/union/union.go
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import aggregate
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
    """What somebody may do, as far as it can be told."""

    rules: tuple[Rule, ...]
    incomplete: bool
    error: str


class Authorizer:
    """Decides who may do what on one API server."""

    def __init__(self, registry: Registry) -> None:
        self.roles = Roles(registry)
        self._grants = Grants(registry, self.roles)
        self._nodes = NodeAuthorizer(registry)

    def decide(self, asked: Attributes) -> Decision:
        """Decide about a request."""
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
        reasons = (by_node.reason, f"RBAC: {_absences(holdings.missing)}" if holdings.missing else "")
        return Decision(allowed=False, reason="\n".join(filter(None, reasons)))

    def holdings(self, user: User, namespace: str) -> Holdings:
        """The rules of a user in a namespace, or with none, everywhere."""
        return self._grants.holdings(user, namespace)

    def enumerate(self, user: User, namespace: str) -> Enumeration:
        """What a user may do in a namespace."""
        holdings, is_node = self.holdings(user, namespace), node_of(user) is not None
        errors = ["node authorizer does not support user rule resolution"] if is_node else []
        errors += map(_absence, holdings.missing)
        rules = tuple(held.rule for held in holdings.held)
        return Enumeration(rules, is_node, aggregate(errors) if errors else "")


def _absence(missing: MissingRole) -> str:
    """That a role is not there, as those say it who look it up in a cache."""
    return f'{missing.plural.removesuffix("s")}.{GROUP} "{missing.name}" not found'


def _absences(missing: tuple[MissingRole, ...]) -> str:
    return aggregate([_absence(one) for one in missing])
