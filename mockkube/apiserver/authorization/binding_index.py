"""Index of role bindings by subject, kept up to date by the watch cache."""

# upstream 1.36: pkg/registry/rbac/validation/rule.go
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from mockkube.api.fields import quote
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.authorization.roles import MissingRole, Roles, rbac_resource
from mockkube.apiserver.authorization.rules import PolicyRule
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes, Decision
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.heavy_work import in_worker_thread

# Users whose rules are cached; beyond it the whole cache is dropped.
CACHED_USERS_MAX: Final = 1024
# Kinds of requests of a user for which the rule is remembered: one that may do everything may also ask for anything.
FOUND_MAX: Final = 256

# `User` or `Group`, and a name; a service account is a user.
SubjectKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BoundRole:
    """Binding of one subject to a role."""

    binding: str
    position: int
    role_ref: ReadOnlyObject
    namespace: str
    source: str


@dataclass(frozen=True, slots=True)
class GrantedRule:
    """Rule of a user, and the decision about requests that it allows, which names binding and role."""

    rule: PolicyRule
    decision: Decision


@dataclass(frozen=True, slots=True)
class UserRules:
    """Rules of a user in one namespace, and bound roles that do not exist."""

    rules: tuple[GrantedRule, ...]
    missing_roles: tuple[MissingRole, ...]
    # Rules that were found for requests about any name, by verb, group, resource and subresource.
    _found: dict[tuple[str, str, str, str], GrantedRule] = field(default_factory=dict, compare=False)

    def find(self, attributes: AuthorizationAttributes) -> GrantedRule | None:  # hot: per request
        """Return the first rule that allows a request."""
        key = (attributes.verb, attributes.group, attributes.resource, attributes.subresource)
        if attributes.path is None and (found := self._found.get(key)) is not None:
            return found
        is_for_all_names = attributes.path is None
        for granted in self.rules:
            rule = granted.rule
            if not rule.allows_any_name(attributes):
                continue
            # Requests for other names find other rules.
            is_for_all_names = is_for_all_names and not rule.names
            if rule.allows_name(attributes):
                if is_for_all_names and len(self._found) < FOUND_MAX:
                    self._found[key] = granted
                return granted
        return None


class BindingIndex:
    """Index of the bindings of a registry. It follows the watch cache from the first request on."""

    def __init__(self, registry: Registry, roles: Roles) -> None:
        self._roles = roles
        self._collections = tuple(
            rbac_resource(registry, plural).collection for plural in ("clusterrolebindings", "rolebindings")
        )
        self._is_following = False
        self._index: dict[str, dict[SubjectKey, dict[str, BoundRole]]] = {}
        self._cache: dict[tuple[str, tuple[str, ...], str], UserRules] = {}

    def rules_for(self, user: User, namespace: str) -> UserRules:  # hot: per request
        """Return the rules of a user in a namespace, those of cluster role bindings first."""
        if not self._is_following:
            self._follow()
        if in_worker_thread():  # the index may change meanwhile, so what is found now is not remembered
            return self._resolve(user, namespace)
        # Most namespaces have no bindings: in these a user has the same rules.
        scope = namespace if namespace in self._index else ""
        key = (user.name, user.groups, scope)
        rules = self._cache.get(key)
        if rules is None:
            if len(self._cache) >= CACHED_USERS_MAX:
                self._cache.clear()
            rules = self._cache[key] = self._resolve(user, scope)
        return rules

    def _resolve(self, user: User, namespace: str) -> UserRules:
        held: list[GrantedRule] = []
        missing: list[MissingRole] = []
        for grant in self._bound_roles(user, namespace):
            try:
                rules = self._roles.get_rules(grant.role_ref, grant.namespace)
            except MissingRole as error:
                missing.append(error)
            else:
                decision = Decision(allowed=True, reason=f"RBAC: allowed by {grant.source}")
                held += [GrantedRule(rule, decision) for rule in rules]
        return UserRules(tuple(held), tuple(missing))

    def _bound_roles(self, user: User, namespace: str) -> Iterator[BoundRole]:
        """Yield the bindings of a user by name, each for the first of its subjects that matches."""
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        for scope in ("", namespace) if namespace else ("",):
            index = self._index.get(scope, {})
            found: dict[str, BoundRole] = {}
            for subject in subjects:
                for key, grant in list(index.get(subject, {}).items()):
                    if key not in found or grant.position < found[key].position:
                        found[key] = grant
            yield from (found[key] for key in sorted(found))

    def _follow(self) -> None:
        self._is_following = True
        self._roles.add_listener(self._forget_rules)
        for collection in self._collections:
            for cached in tuple(collection.objects.values()):
                self._add(cached)
            collection.listeners[self._on_change] = False

    def _forget_rules(self, change: CacheChange) -> None:
        """Forget the rules of all users: roles and bindings change rarely, requests come often."""
        self._cache.clear()

    def _on_change(self, change: CacheChange) -> None:
        self._forget_rules(change)
        if change.previous is not None:
            self._remove(change.previous)
        if change.type is not ChangeType.DELETED:
            self._add(change.object)

    def _add(self, cached: CachedObject) -> None:
        for subject, grant in self._read_safely(cached):
            index = self._index.setdefault(cached.namespace, {})
            index.setdefault(subject, {}).setdefault(cached.key, grant)

    def _remove(self, cached: CachedObject) -> None:
        index = self._index.get(cached.namespace, {})
        for subject, _ in _previous_grants(cached):
            if (grants := index.get(subject)) is not None:
                grants.pop(cached.key, None)
                if not grants:
                    del index[subject]
        if not index:
            self._index.pop(cached.namespace, None)

    def _read_safely(self, cached: CachedObject) -> list[tuple[SubjectKey, BoundRole]]:
        """Return the grants of a binding; none if it cannot be read."""
        collection = self._collections[1 if cached.namespace else 0]
        return collection.bad_objects.attempt(
            "RBAC", collection.plural, cached.display_name, lambda: _read_bound_roles(cached), []
        )


def _previous_grants(cached: CachedObject) -> list[tuple[SubjectKey, BoundRole]]:
    try:
        return _read_bound_roles(cached)
    except Exception:  # it has granted nothing
        return []


def _read_bound_roles(cached: CachedObject) -> list[tuple[SubjectKey, BoundRole]]:
    grants = list(_iter_bound_roles(cached))
    # A malformed subject may be unhashable; it must fail here, before the index is changed.
    hash(tuple(subject for subject, _ in grants))
    return grants


def _iter_bound_roles(cached: CachedObject) -> Iterator[tuple[SubjectKey, BoundRole]]:
    """Yield each subject of a binding with its grant."""
    binding = cached.load()
    reference, namespace = binding.get("roleRef") or {}, cached.namespace
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    name = f"{cached.name}/{namespace}" if namespace else cached.name
    title = f"{kind} {quote(name)} of {reference.get('kind', '')} {quote(reference.get('name', ''))}"
    for position, subject in enumerate(binding.get("subjects") or ()):
        named = _subject_key(subject, namespace)
        if named is not None:
            source = f"{title} to {_describe_subject(subject, namespace)}"
            yield named, BoundRole(cached.key, position, reference, namespace, source)


def _subject_key(subject: ReadOnlyObject, namespace: str) -> SubjectKey | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in ("User", "Group"):
        return kind, name
    account_namespace = subject.get("namespace") or namespace
    return (
        ("User", f"system:serviceaccount:{account_namespace}:{name}")
        if kind == "ServiceAccount" and account_namespace
        else None
    )


def _describe_subject(subject: ReadOnlyObject, namespace: str) -> str:
    kind, name = subject["kind"], subject.get("name", "")
    if kind == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f"{kind} {quote(name)}"
