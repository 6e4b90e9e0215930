"""Prevent privilege escalation: users may only grant permissions that they have."""

# upstream 1.36: pkg/registry/rbac/escalation_check.go, pkg/registry/rbac/*/policybased/storage.go
from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import Forbidden, NotFound
from mockkube.api.fields import quote
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.policy_comparator import find_missing
from mockkube.apiserver.authorization.roles import GROUP, MissingRole
from mockkube.apiserver.authorization.rules import ALL, PolicyRule, format_go_list
from mockkube.apiserver.identity.user import MASTERS_GROUP
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes

_ROLES: Final = ("roles", "clusterroles")
_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_CLUSTER_ADMIN_RULES: Final = (PolicyRule((ALL,), (ALL,), (ALL,)), PolicyRule((ALL,), urls=(ALL,)))
_BOOKKEEPING_METADATA: Final = ("ownerReferences", "finalizers", "managedFields", "selfLink")


class EscalationCheck(AdmissionPlugin):
    """Rejects roles and bindings that grant more than the user has. It runs after all plugins that change objects.

    It cannot be disabled: upstream does the same in its registry, whatever plugins are enabled.
    """

    name = "Escalation"
    resources = tuple((GROUP, plural) for plural in (*_ROLES, *_BINDINGS))

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def admit(self, request: AdmissionAttributes) -> None:
        """Check a new or changed role or binding."""
        resource = request.resource.storage_resource
        if MASTERS_GROUP in request.scope.user.groups or _changes_only_bookkeeping(request):
            return
        if resource.plural in _ROLES:
            self._check_role(request, resource.plural)
        elif resource.plural in _BINDINGS:
            self._check_binding(request, resource.plural)

    def _check_role(self, request: AdmissionAttributes, plural: str) -> None:
        scope, role = request.scope, request.new
        escalate = AuthorizationAttributes(
            scope.user, "escalate", GROUP, plural, namespace=scope.namespace, name=scope.name
        )
        if self._authorizer.authorize(escalate).allowed:
            return
        self._check_covered(request, tuple(map(PolicyRule.from_object, role.get("rules") or ())))
        # An aggregated role may gain any rule later, so only a cluster admin may create or change one.
        if (_has_aggregation(role) or _has_aggregation(request.old or {})) and self._find_missing(
            request, _CLUSTER_ADMIN_RULES
        ):
            raise _new_forbidden(request, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, request: AdmissionAttributes, plural: str) -> None:
        scope, reference = request.scope, request.new.get("roleRef") or {}
        namespace = scope.namespace if plural == "rolebindings" else ""
        kinds = {"Role": "roles", "ClusterRole": "clusterroles"}
        role = kinds.get(reference.get("kind", ""), "")
        name, group = reference.get("name", ""), reference.get("apiGroup", "")
        bind = AuthorizationAttributes(scope.user, "bind", group, role, namespace=namespace, name=name)
        # The verb `bind` on a role allows to grant it without having its permissions.
        if role and self._authorizer.authorize(bind).allowed:
            return
        try:
            rules = self._authorizer.roles.get_rules(reference, namespace)
        except MissingRole as error:
            raise NotFound.for_object(GROUP, plural, error.name) from error
        self._check_covered(request, rules)

    def _check_covered(self, request: AdmissionAttributes, rules: Sequence[PolicyRule]) -> None:
        lacking = self._find_missing(request, rules)
        if not lacking:
            return
        user = request.scope.user
        user_text = f"user {quote(user.name)} (groups={format_go_list(user.groups)})"
        rights = "\n".join(sorted({str(rule) for rule in lacking}))
        absent = self._authorizer.rules_for(user, request.scope.namespace).missing_roles
        errors = ", ".join(dict.fromkeys(map(str, absent)))
        why = f"{user_text} is attempting to grant RBAC permissions not currently held:\n{rights}"
        if errors:
            why += f"; resolution errors: [{errors if len(absent) == 1 else f'[{errors}]'}]"
        raise _new_forbidden(request, why)

    def _find_missing(self, request: AdmissionAttributes, rules: Sequence[PolicyRule]) -> list[PolicyRule]:
        holdings = self._authorizer.rules_for(request.scope.user, request.scope.namespace)
        return find_missing([held.rule for held in holdings.rules], rules)


def _new_forbidden(request: AdmissionAttributes, why: str) -> Forbidden:
    return Forbidden.for_object(GROUP, request.resource.plural, request.new["metadata"].get("name", ""), why)


def _has_aggregation(role: ReadOnlyObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _changes_only_bookkeeping(request: AdmissionAttributes) -> bool:
    """Return whether an update changes only metadata for the garbage collector."""
    if request.old is None:
        return False
    return _without_bookkeeping(request.new) == _without_bookkeeping(request.old)


def _without_bookkeeping(obj: ReadOnlyObject) -> ReadOnlyObject:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _BOOKKEEPING_METADATA}
    return {**obj, "metadata": metadata}
