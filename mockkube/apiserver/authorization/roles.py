"""Rules of roles, compiled once for each state of a role."""

from collections.abc import Callable, Sequence
from threading import local
from typing import Final, TypeVar

from mockkube.api.selectors.labels import LabelSelector, from_label_selector
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.authorization.rules import Rule
from mockkube.apiserver.registry.cache import Change, Record
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource

T = TypeVar("T")
GROUP: Final = "rbac.authorization.k8s.io"


class MissingRole(Exception):
    """Error when a binding refers to a role that does not exist."""

    def __init__(self, plural: str, name: str) -> None:
        super().__init__(f'{plural}.{GROUP} "{name}" not found')
        self.plural = plural
        self.name = name


class _Gathered(local):
    """Rules of aggregated roles at a revision. Each thread has its own, because computing them changes it."""

    def __init__(self) -> None:
        self.rules: dict[str, tuple[Rule, ...]] = {}
        self.revision = 0


class Roles:
    """Roles and cluster roles of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._resources = {plural: resource_of(registry, plural) for plural in ("roles", "clusterroles")}
        # Compiled rules by key; None for an aggregated role, whose rules change with other roles.
        self._compiled: dict[str, tuple[Record, tuple[Rule, ...] | None]] = {}
        self._gathered = _Gathered()
        for resource in self._resources.values():
            resource.collection.listeners[self._forget] = None

    def _forget(self, change: Change) -> None:
        self._compiled.pop(change.record.key, None)

    @property
    def revision(self) -> int:
        """Revision of the newest change of any role."""
        return max(resource.collection.revision for resource in self._resources.values())

    def rules(self, reference: ReadOnlyObject, namespace: str) -> Sequence[Rule]:
        """Return the rules of the role that a binding in this namespace refers to; raise MissingRole."""
        plural = "roles" if reference.get("kind") == "Role" else "clusterroles"
        name = reference.get("name", "")
        record = self._resources[plural].record(namespace, name)
        if record is None:
            raise MissingRole(plural, name)
        return self._rules(record)

    def _rules(self, record: Record) -> tuple[Rule, ...]:
        compiled = self._compiled.get(record.key)
        if compiled is None or compiled[0] is not record:
            nothing: tuple[Rule, ...] | None = ()
            own = self._attempt(record, lambda: _compile(record.load()), nothing)
            compiled = self._compiled[record.key] = (record, own)
        rules = compiled[1]
        return self._aggregated(record) if rules is None else rules

    def _attempt(self, record: Record, read: Callable[[], T], otherwise: T) -> T:
        """Return what is read of a role; a role that cannot be read grants nothing."""
        collection = self._resources["roles" if record.namespace else "clusterroles"].collection
        return collection.bad.attempt("RBAC", collection.kind, record.place, read, otherwise)

    def _aggregated(self, record: Record) -> tuple[Rule, ...]:
        """Return the rules of an aggregated role, cached until a cluster role changes."""
        # differs: upstream a controller writes the rules into the role; here they apply whatever controllers run.
        revision = self._resources["clusterroles"].collection.revision
        known = self._gathered
        if revision != known.revision:
            known.rules, known.revision = {}, revision
        if record.key not in known.rules:
            known.rules[record.key] = ()  # a role that gathers itself adds nothing
            known.rules[record.key] = self._gather(record)
        return known.rules[record.key]

    def _gather(self, record: Record) -> tuple[Rule, ...]:
        # upstream 1.36: pkg/controller/clusterroleaggregation
        found: dict[Rule, None] = {}
        for selector in self._attempt(record, lambda: selectors_of(record.load()), list[LabelSelector]()):
            for other in tuple(self._resources["clusterroles"].collection.records.values()):
                if other is not record and selector.matches(other.labels):
                    found |= dict.fromkeys(self._rules(other))
        return tuple(found)


def _compile(role: ReadOnlyObject) -> tuple[Rule, ...] | None:
    return None if role.get("aggregationRule") else tuple(map(Rule.read, role.get("rules") or ()))


def selectors_of(role: ReadOnlyObject) -> list[LabelSelector]:
    """Return the selectors of an aggregation rule."""
    rule = role.get("aggregationRule") or {}
    return [from_label_selector(selector) for selector in rule.get("clusterRoleSelectors") or ()]


def resource_of(registry: Registry, plural: str) -> Resource:
    """Return a resource of this group, which every server has."""
    resource = registry.stored(GROUP, plural)
    assert resource is not None, f"every server has {plural}"
    return resource
