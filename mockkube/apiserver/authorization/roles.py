"""Rules of roles, compiled once for each state of a role."""

from collections.abc import Callable, Sequence
from threading import local
from typing import Final, TypeVar

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.labels import LabelSelector, from_label_selector
from mockkube.apiserver.authorization.rules import PolicyRule
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeListener

T = TypeVar("T")
GROUP: Final = "rbac.authorization.k8s.io"


class MissingRole(Exception):
    """Error when a binding refers to a role that does not exist."""

    def __init__(self, plural: str, name: str) -> None:
        super().__init__(f'{plural}.{GROUP} "{name}" not found')
        self.plural = plural
        self.name = name


class _AggregatedRules(local):
    """Rules of aggregated roles at a revision. Each thread has its own, because computing them changes it."""

    def __init__(self) -> None:
        self.rules: dict[str, tuple[PolicyRule, ...]] = {}
        self.revision = 0


class Roles:
    """Roles and cluster roles of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._resources = {plural: rbac_resource(registry, plural) for plural in ("roles", "clusterroles")}
        # Compiled rules by key; None for an aggregated role, whose rules change with other roles.
        self._compiled: dict[str, tuple[CachedObject, tuple[PolicyRule, ...] | None]] = {}
        self._aggregated_rules = _AggregatedRules()
        self.add_listener(self._on_change)

    def add_listener(self, listener: ChangeListener) -> None:
        """Call a function with each change of a role."""
        for resource in self._resources.values():
            resource.collection.listeners[listener] = False

    def _on_change(self, change: CacheChange) -> None:
        self._compiled.pop(change.object.key, None)

    def get_rules(self, reference: ReadOnlyObject, namespace: str) -> Sequence[PolicyRule]:
        """Return the rules of the role that a binding in this namespace refers to; raise MissingRole."""
        plural = "roles" if reference.get("kind") == "Role" else "clusterroles"
        name = reference.get("name", "")
        cached = self._resources[plural].get_cached(namespace, name)
        if cached is None:
            raise MissingRole(plural, name)
        return self._get_compiled(cached)

    def _get_compiled(self, cached: CachedObject) -> tuple[PolicyRule, ...]:
        compiled = self._compiled.get(cached.key)
        if compiled is None or compiled[0] is not cached:
            nothing: tuple[PolicyRule, ...] | None = ()
            own = self._read_safely(cached, lambda: _compile(cached.load()), nothing)
            compiled = self._compiled[cached.key] = (cached, own)
        rules = compiled[1]
        return self._get_aggregated(cached) if rules is None else rules

    def _read_safely(self, cached: CachedObject, read: Callable[[], T], otherwise: T) -> T:
        """Return what is read of a role; a role that cannot be read grants nothing."""
        collection = self._resources["roles" if cached.namespace else "clusterroles"].collection
        return collection.bad_objects.attempt("RBAC", collection.plural, cached.display_name, read, otherwise)

    def _get_aggregated(self, cached: CachedObject) -> tuple[PolicyRule, ...]:
        """Return the rules of an aggregated role, cached until a cluster role changes."""
        # differs: upstream a controller writes the rules into the role; here they apply whatever controllers run.
        revision = self._resources["clusterroles"].collection.revision
        known = self._aggregated_rules
        if revision != known.revision:
            known.rules, known.revision = {}, revision
        if cached.key not in known.rules:
            known.rules[cached.key] = ()  # a role that gathers itself adds nothing
            known.rules[cached.key] = self._aggregate(cached)
        return known.rules[cached.key]

    def _aggregate(self, cached: CachedObject) -> tuple[PolicyRule, ...]:
        # upstream 1.36: pkg/controller/clusterroleaggregation
        found: dict[PolicyRule, None] = {}
        for selector in self._read_safely(cached, lambda: aggregation_selectors(cached.load()), list[LabelSelector]()):
            for other in tuple(self._resources["clusterroles"].collection.objects.values()):
                if other is not cached and selector.matches(other.labels):
                    found |= dict.fromkeys(self._get_compiled(other))
        return tuple(found)


def _compile(role: ReadOnlyObject) -> tuple[PolicyRule, ...] | None:
    return None if role.get("aggregationRule") else tuple(map(PolicyRule.from_object, role.get("rules") or ()))


def aggregation_selectors(role: ReadOnlyObject) -> list[LabelSelector]:
    """Return the selectors of an aggregation rule."""
    rule = role.get("aggregationRule") or {}
    return [from_label_selector(selector) for selector in rule.get("clusterRoleSelectors") or ()]


def rbac_resource(registry: Registry, plural: str) -> Resource:
    """Return a resource of this group, which every server has."""
    resource = registry.find_storage_resource(GROUP, plural)
    assert resource is not None, f"every server has {plural}"
    return resource
