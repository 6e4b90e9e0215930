"""Default roles and bindings of a cluster, by version and gates.

`data/roles.txt` has a paragraph for each role. Its first line is the name (`NAMESPACE/NAME` for a namespaced role),
with `<LABEL` if the role aggregates the roles with that label, and `>LABEL` for each label it has. The other lines are
rules: verbs, then groups (the empty one is `core`) and resources, optionally `=` and names; or verbs and paths.
`?` precedes a condition of a role, a rule or one item: a gate, or versions (`1.35+`, `-1.34`, `1.34`, `1.34-1.35`).
"""

# upstream 1.36: plugin/pkg/auth/authorizer/rbac/bootstrappolicy
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from mockkube.api.types import Object
from mockkube.apiserver.authorization.reconciliation import AUTO_UPDATE
from mockkube.apiserver.authorization.roles import GROUP
from mockkube.apiserver.authorization.rules import Rule
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

NODE: Final = "system:node"

_API_VERSION: Final = f"{GROUP}/v1"
_CONTROLLER: Final = "system:controller:"
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS: Final = {AUTO_UPDATE: "true"}
_AUTHENTICATED: Final = "Group system:authenticated"
_MANAGER: Final = "User system:kube-controller-manager"
_SCHEDULER: Final = "User system:kube-scheduler"

_EVERYWHERE: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("cluster-admin", ("Group system:masters",)),
    ("system:monitoring", ("Group system:monitoring",)),
    ("system:discovery", (_AUTHENTICATED,)),
    ("system:basic-user", (_AUTHENTICATED,)),
    ("system:public-info-viewer", (_AUTHENTICATED, "Group system:unauthenticated")),
    ("system:node-proxier", ("User system:kube-proxy",)),
    ("system:kube-controller-manager", (_MANAGER,)),
    ("system:kube-dns", ("ServiceAccount kube-dns",)),
    ("system:kube-scheduler", (_SCHEDULER,)),
    ("system:volume-scheduler", (_SCHEDULER,)),
    (NODE, ()),
    ("system:service-account-issuer-discovery", ("Group system:serviceaccounts",)),
    ("system:cluster-trust-bundle-discovery", ("Group system:serviceaccounts",)),
)
"""Cluster roles and their subjects; controllers have the role of their name besides."""

_READER: Final = "extension-apiserver-authentication-reader"
_LEADING: Final = "system::leader-locking-"
_LEADING_MANAGERS: Final = ("ServiceAccount kube-controller-manager", "ServiceAccount leader-election-controller")
_IN_NAMESPACES: Final[tuple[tuple[str, str, str, tuple[str, ...]], ...]] = (
    ("kube-public", f"{_CONTROLLER}bootstrap-signer", "", ("ServiceAccount bootstrap-signer",)),
    ("kube-system", f"system::{_READER}", _READER, (_MANAGER, _SCHEDULER)),
    ("kube-system", f"{_LEADING}kube-controller-manager", "", (_MANAGER, *_LEADING_MANAGERS)),
    ("kube-system", f"{_LEADING}kube-scheduler", "", (_SCHEDULER, "ServiceAccount kube-scheduler")),
    ("kube-system", f"{_CONTROLLER}bootstrap-signer", "", ("ServiceAccount bootstrap-signer",)),
    ("kube-system", f"{_CONTROLLER}cloud-provider", "", ("ServiceAccount cloud-provider",)),
    ("kube-system", f"{_CONTROLLER}token-cleaner", "", ("ServiceAccount token-cleaner",)),
)
"""Namespace and name of a binding, the role if it has another name, and its subjects."""


@dataclass(slots=True)
class _Role:
    name: str
    namespace: str = ""
    gathers: str = ""
    labels: list[str] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)


def node_rules(caps: Capabilities) -> tuple[Rule, ...]:
    """Return the rules of every node, which the node authorizer restricts to related objects."""
    return next(tuple(role.rules) for role in _roles(caps) if role.name == NODE)


def objects(caps: Capabilities) -> Iterator[Object]:
    """Yield every role, then every binding."""
    roles = _roles(caps)
    labelled: dict[str, list[_Role]] = {}
    for role in sorted(roles, key=lambda role: role.name):
        for label in role.labels:
            labelled.setdefault(label, []).append(role)
    yield from (_role_object(role, labelled) for role in roles)
    yield from _bindings({role.name for role in roles})


@lru_cache(maxsize=64)
def _roles(caps: Capabilities) -> tuple[_Role, ...]:
    """Return the roles of the table for such a server; callers must not change them."""
    text = pkgutil.get_data(__package__, "data/roles.txt")
    assert text is not None, "the table of roles is part of the package"
    roles: list[_Role] = []
    there = False
    for line in text.decode().splitlines():
        words = _applying(line.split(), caps)
        if not line.startswith(" "):
            there = bool(words)
            if there:
                roles.append(_role(words))
        elif there and words:
            roles[-1].rules.append(_rule(words, caps))
    return tuple(roles)


def _applying(words: list[str], caps: Capabilities) -> list[str]:
    """Return the words of a line without its conditions; none if a condition is not met."""
    holds = all(_holds(word[1:], caps) for word in words if word[0] == "?")
    return [word for word in words if word[0] != "?"] if holds else []


def _holds(condition: str, caps: Capabilities) -> bool:
    if not (condition[0].isdigit() or condition[0] == "-"):
        return caps.enabled(condition)
    if condition.endswith("+"):
        return Version.parse(condition[:-1]) <= caps.version
    first, dash, last = condition.partition("-")
    if dash and not first:
        return caps.version <= Version.parse(last)
    return Version.parse(first) <= caps.version <= Version.parse(last or first)


def _role(words: list[str]) -> _Role:
    namespace, _, name = words[0].rpartition("/")
    role = _Role(name, namespace)
    for word in words[1:]:
        if word[0] == "<":
            role.gathers = word[1:]
        else:
            role.labels.append(word[1:])
    return role


def _rule(words: list[str], caps: Capabilities) -> Rule:
    verbs = tuple(words[0].split(","))
    if len(words) == 2:
        return Rule(verbs, urls=tuple(_items(words[1], caps)))
    groups = tuple("" if group == "core" else group for group in words[1].split(","))
    names = tuple(words[3][1:].split(",")) if len(words) > 3 else ()
    return Rule(verbs, groups, tuple(_items(words[2], caps)), names)


def _items(text: str, caps: Capabilities) -> Iterator[str]:
    for item in text.split(","):
        value, _, condition = item.partition("?")
        if not condition or _holds(condition, caps):
            yield value


def _role_object(role: _Role, labelled: dict[str, list[_Role]]) -> Object:
    obj = _object("Role" if role.namespace else "ClusterRole", role.name, role.namespace)
    obj["metadata"]["labels"] |= {f"{GROUP}/{label}": "true" for label in role.labels}
    if role.gathers:
        selector = {"matchLabels": {f"{GROUP}/{role.gathers}": "true"}}
        obj["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    obj["rules"] = [rule.to_object() for rule in _gathered(role, labelled)]
    return obj


def _gathered(role: _Role, labelled: dict[str, list[_Role]]) -> Iterable[Rule]:
    """Return the rules of a role, or those of the roles it aggregates, each once."""
    if not role.gathers:
        return role.rules
    found: dict[Rule, None] = {}
    for other in labelled[role.gathers]:
        found |= dict.fromkeys(_gathered(other, labelled))
    return found


def _bindings(roles: set[str]) -> Iterator[Object]:
    everywhere = [(name, subjects) for name, subjects in _EVERYWHERE if name in roles]
    in_namespaces = {name for _, name, _, _ in _IN_NAMESPACES}
    # Every controller role without a namespaced binding belongs to the service account of that name.
    controllers = sorted(name for name in roles if name.startswith(_CONTROLLER) and name not in in_namespaces)
    everywhere += [(name, (f"ServiceAccount {name.removeprefix(_CONTROLLER)}",)) for name in controllers]
    for name, subjects in everywhere:
        yield _binding(_object("ClusterRoleBinding", name, ""), "ClusterRole", name, subjects)
    for namespace, name, role, subjects in _IN_NAMESPACES:
        yield _binding(_object("RoleBinding", name, namespace), "Role", role or name, subjects)


def _binding(obj: Object, kind: str, role: str, subjects: tuple[str, ...]) -> Object:
    obj["roleRef"] = {"apiGroup": GROUP, "kind": kind, "name": role}
    if subjects:
        obj["subjects"] = [_subject(*subject.split(" ")) for subject in subjects]
    return obj


def _subject(kind: str, name: str) -> Object:
    where = {"namespace": "kube-system"} if kind == "ServiceAccount" else {"apiGroup": GROUP}
    return {"kind": kind, **where, "name": name}


def _object(kind: str, name: str, namespace: str) -> Object:
    metadata: Object = {"name": name, "labels": dict(_LABELS), "annotations": dict(_ANNOTATIONS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata}
