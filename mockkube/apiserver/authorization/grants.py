"""Index of role bindings by subject, kept up to date by the watch cache."""

# upstream 1.36: pkg/registry/rbac/validation/rule.go
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.fields import quote
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.authorization.roles import MissingRole, Roles, resource_of
from mockkube.apiserver.authorization.rules import Rule
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.cache import Change, ChangeType, Record
from mockkube.apiserver.registry.registry import Registry
from mockkube.runtime.heavy_work import in_worker_thread

# Users whose rules are cached; beyond it the whole cache is dropped.
HOLDINGS_MAX: Final = 1024

# `User` or `Group`, and a name; a service account is a user.
Subject = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Grant:
    """Binding of one subject to a role."""

    binding: str
    position: int
    reference: ReadOnlyObject
    namespace: str
    source: str


@dataclass(frozen=True, slots=True)
class Held:
    """Rule of a user, with the binding and role it comes from."""

    rule: Rule
    source: str


@dataclass(frozen=True, slots=True)
class Holdings:
    """Rules of a user in one namespace, and bound roles that do not exist."""

    held: tuple[Held, ...]
    missing: tuple[MissingRole, ...]


class Grants:
    """Index of the bindings of a registry. It follows the watch cache from the first request on."""

    def __init__(self, registry: Registry, roles: Roles) -> None:
        self._roles = roles
        self._collections = tuple(
            resource_of(registry, plural).collection for plural in ("clusterrolebindings", "rolebindings")
        )
        self._following = False
        self._index: dict[str, dict[Subject, dict[str, Grant]]] = {}
        self._holdings: dict[tuple[str, tuple[str, ...], str], Holdings] = {}
        self._holdings_at = 0

    def holdings(self, user: User, namespace: str) -> Holdings:
        """Return the rules of a user in a namespace, those of cluster role bindings first."""
        self._follow()
        if in_worker_thread():  # the index may change meanwhile, so what is found now is not remembered
            return self._resolve(user, namespace)
        revision = max(self._roles.revision, *(collection.revision for collection in self._collections))
        # Any change of a role or binding invalidates all cached rules: such changes are rare, requests are not.
        if revision != self._holdings_at or len(self._holdings) >= HOLDINGS_MAX:
            self._holdings, self._holdings_at = {}, revision
        key = (user.name, user.groups, namespace)
        if key not in self._holdings:
            self._holdings[key] = self._resolve(user, namespace)
        return self._holdings[key]

    def _resolve(self, user: User, namespace: str) -> Holdings:
        held: list[Held] = []
        missing: list[MissingRole] = []
        for grant in self._grants(user, namespace):
            try:
                rules = self._roles.rules(grant.reference, grant.namespace)
            except MissingRole as error:
                missing.append(error)
            else:
                held += [Held(rule, grant.source) for rule in rules]
        return Holdings(tuple(held), tuple(missing))

    def _grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """Yield the bindings of a user by name, each for the first of its subjects that matches."""
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        for scope in ("", namespace) if namespace else ("",):
            index = self._index.get(scope, {})
            found: dict[str, Grant] = {}
            for subject in subjects:
                for key, grant in list(index.get(subject, {}).items()):
                    if key not in found or grant.position < found[key].position:
                        found[key] = grant
            yield from (found[key] for key in sorted(found))

    def _follow(self) -> None:
        if self._following:
            return
        self._following = True
        for collection in self._collections:
            for record in tuple(collection.records.values()):
                self._add(record)
            collection.listeners[self._changed] = None

    def _changed(self, change: Change) -> None:
        if change.previous is not None:
            index = self._index.get(change.previous.namespace, {})
            for subject, _ in _granted_before(change.previous):
                index[subject].pop(change.previous.key, None)
        if change.type is not ChangeType.DELETED:
            self._add(change.record)

    def _add(self, record: Record) -> None:
        index = self._index.setdefault(record.namespace, {})
        for subject, grant in self._grants_in(record):
            index.setdefault(subject, {}).setdefault(record.key, grant)

    def _grants_in(self, record: Record) -> list[tuple[Subject, Grant]]:
        """Return the grants of a binding; none if it cannot be read."""
        collection = self._collections[1 if record.namespace else 0]
        return collection.bad.attempt("RBAC", collection.kind, record.place, lambda: _read_grants(record), [])


def _granted_before(record: Record) -> list[tuple[Subject, Grant]]:
    try:
        return _read_grants(record)
    except Exception:  # it has granted nothing
        return []


def _read_grants(record: Record) -> list[tuple[Subject, Grant]]:
    grants = list(_grants_of(record))
    # A malformed subject may be unhashable; it must fail here, before the index is changed.
    hash(tuple(subject for subject, _ in grants))
    return grants


def _grants_of(record: Record) -> Iterator[tuple[Subject, Grant]]:
    """Yield each subject of a binding with its grant."""
    binding = record.load()
    reference, namespace = binding.get("roleRef") or {}, record.namespace
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    name = f"{record.name}/{namespace}" if namespace else record.name
    title = f"{kind} {quote(name)} of {reference.get('kind', '')} {quote(reference.get('name', ''))}"
    for position, subject in enumerate(binding.get("subjects") or ()):
        named = _subject(subject, namespace)
        if named is not None:
            source = f"{title} to {_described(subject, namespace)}"
            yield named, Grant(record.key, position, reference, namespace, source)


def _subject(subject: ReadOnlyObject, namespace: str) -> Subject | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in ("User", "Group"):
        return kind, name
    account_namespace = subject.get("namespace") or namespace
    return (
        ("User", f"system:serviceaccount:{account_namespace}:{name}")
        if kind == "ServiceAccount" and account_namespace
        else None
    )


def _described(subject: ReadOnlyObject, namespace: str) -> str:
    kind, name = subject["kind"], subject.get("name", "")
    if kind == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f"{kind} {quote(name)}"
