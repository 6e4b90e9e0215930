"""Prevent privilege escalation: users may only grant permissions that they have."""

# upstream 1.36: pkg/registry/rbac/escalation_check.go, pkg/registry/rbac/*/policybased/storage.go
from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import Forbidden, NotFound
from mockkube.api.fields import quote
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.covering import missing
from mockkube.apiserver.authorization.roles import GROUP, MissingRole
from mockkube.apiserver.authorization.rules import ALL, Rule, go_list
from mockkube.apiserver.identity.user import MASTERS
from mockkube.apiserver.registry.admission import Plugin, Request
from mockkube.apiserver.registry.authorizer import Attributes

_ROLES: Final = ("roles", "clusterroles")
_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_EVERYTHING: Final = (Rule((ALL,), (ALL,), (ALL,)), Rule((ALL,), urls=(ALL,)))
_TRACKED: Final = ("ownerReferences", "finalizers", "managedFields", "selfLink")


class Escalation(Plugin):
    """Rejects roles and bindings that grant more than the user has. It runs after all plugins that change objects.

    It cannot be disabled: upstream does the same in its registry, whatever plugins are enabled.
    """

    name = "Escalation"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def admit(self, request: Request) -> None:
        """Check a new or changed role or binding."""
        resource = request.resource.home
        if resource.group != GROUP or MASTERS in request.call.user.groups or _only_tracks(request):
            return
        if resource.plural in _ROLES:
            self._judge_role(request, resource.plural)
        elif resource.plural in _BINDINGS:
            self._judge_binding(request, resource.plural)

    def _judge_role(self, request: Request, plural: str) -> None:
        scope, role = request.call, request.given
        escalate = Attributes(scope.user, "escalate", GROUP, plural, namespace=scope.namespace, name=scope.name)
        if self._authorizer.decide(escalate).allowed:
            return
        self._refuse_more(request, tuple(map(Rule.read, role.get("rules") or ())))
        # An aggregated role may gain any rule later, so only a cluster admin may create or change one.
        if (_aggregates(role) or _aggregates(request.old or {})) and self._lacking(request, _EVERYTHING):
            raise _refusal(request, "must have cluster-admin privileges to use the aggregationRule")

    def _judge_binding(self, request: Request, plural: str) -> None:
        scope, reference = request.call, request.given.get("roleRef") or {}
        namespace = scope.namespace if plural == "rolebindings" else ""
        kinds = {"Role": "roles", "ClusterRole": "clusterroles"}
        role = kinds.get(reference.get("kind", ""), "")
        name, group = reference.get("name", ""), reference.get("apiGroup", "")
        bind = Attributes(scope.user, "bind", group, role, namespace=namespace, name=name)
        # The verb `bind` on a role allows to grant it without having its permissions.
        if role and self._authorizer.decide(bind).allowed:
            return
        try:
            rules = self._authorizer.roles.rules(reference, namespace)
        except MissingRole as error:
            raise NotFound.for_object(GROUP, plural, error.name) from error
        self._refuse_more(request, rules)

    def _refuse_more(self, request: Request, rules: Sequence[Rule]) -> None:
        lacking = self._lacking(request, rules)
        if not lacking:
            return
        user = request.call.user
        who = f"user {quote(user.name)} (groups={go_list(user.groups)})"
        rights = "\n".join(sorted({str(rule) for rule in lacking}))
        absent = self._authorizer.holdings(user, request.call.namespace).missing
        errors = ", ".join(dict.fromkeys(map(str, absent)))
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n{rights}"
        if errors:
            why += f"; resolution errors: [{errors if len(absent) == 1 else f'[{errors}]'}]"
        raise _refusal(request, why)

    def _lacking(self, request: Request, rules: Sequence[Rule]) -> list[Rule]:
        holdings = self._authorizer.holdings(request.call.user, request.call.namespace)
        return missing([held.rule for held in holdings.held], rules)


def _refusal(request: Request, why: str) -> Forbidden:
    return Forbidden.for_object(GROUP, request.resource.plural, request.given["metadata"].get("name", ""), why)


def _aggregates(role: ReadOnlyObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_tracks(request: Request) -> bool:
    """Return whether an update changes only metadata for the garbage collector."""
    if request.old is None:
        return False
    return _without_tracking(request.given) == _without_tracking(request.old)


def _without_tracking(obj: ReadOnlyObject) -> ReadOnlyObject:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _TRACKED}
    return {**obj, "metadata": metadata}
