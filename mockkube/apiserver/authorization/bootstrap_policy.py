"""Default roles and bindings of a cluster, by version and gates.

`data/roles.txt` has a paragraph for each role. Its first line is the name (`NAMESPACE/NAME` for a namespaced role),
with `<LABEL` if the role aggregates the roles with that label, and `>LABEL` for each label it has. The other lines are
rules: verbs, then groups (the empty one is `core`) and resources, optionally `=` and names; or verbs and paths.
`?` precedes a condition of a role, a rule or one item: a gate, or versions (`1.35+`, `-1.34`, `1.34`, `1.34-1.35`).
"""

# upstream 1.36: plugin/pkg/auth/authorizer/rbac/bootstrappolicy
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import lru_cache
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.apiserver.authorization.reconciliation import AUTO_UPDATE_ANNOTATION
from mockkube.apiserver.authorization.roles import GROUP
from mockkube.apiserver.authorization.rules import PolicyRule
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

NODE_ROLE: Final = "system:node"

_API_VERSION: Final = f"{GROUP}/v1"
_CONTROLLER: Final = "system:controller:"
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS: Final = {AUTO_UPDATE_ANNOTATION: "true"}
_AUTHENTICATED: Final = "Group system:authenticated"
_CONTROLLER_MANAGER: Final = "User system:kube-controller-manager"
_SCHEDULER: Final = "User system:kube-scheduler"

_CLUSTER_ROLE_SUBJECTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("cluster-admin", ("Group system:masters",)),
    ("system:monitoring", ("Group system:monitoring",)),
    ("system:discovery", (_AUTHENTICATED,)),
    ("system:basic-user", (_AUTHENTICATED,)),
    ("system:public-info-viewer", (_AUTHENTICATED, "Group system:unauthenticated")),
    ("system:node-proxier", ("User system:kube-proxy",)),
    ("system:kube-controller-manager", (_CONTROLLER_MANAGER,)),
    ("system:kube-dns", ("ServiceAccount kube-dns",)),
    ("system:kube-scheduler", (_SCHEDULER,)),
    ("system:volume-scheduler", (_SCHEDULER,)),
    (NODE_ROLE, ()),
    ("system:service-account-issuer-discovery", ("Group system:serviceaccounts",)),
    ("system:cluster-trust-bundle-discovery", ("Group system:serviceaccounts",)),
)
"""Cluster roles and their subjects; controllers have the role of their name besides."""

_AUTHENTICATION_READER: Final = "extension-apiserver-authentication-reader"
_LEADER_LOCKING_PREFIX: Final = "system::leader-locking-"
_LEADER_ELECTION_SUBJECTS: Final = (
    "ServiceAccount kube-controller-manager",
    "ServiceAccount leader-election-controller",
)
_ROLE_BINDINGS: Final[tuple[tuple[str, str, str, tuple[str, ...]], ...]] = (
    ("kube-public", f"{_CONTROLLER}bootstrap-signer", "", ("ServiceAccount bootstrap-signer",)),
    ("kube-system", f"system::{_AUTHENTICATION_READER}", _AUTHENTICATION_READER, (_CONTROLLER_MANAGER, _SCHEDULER)),
    (
        "kube-system",
        f"{_LEADER_LOCKING_PREFIX}kube-controller-manager",
        "",
        (_CONTROLLER_MANAGER, *_LEADER_ELECTION_SUBJECTS),
    ),
    ("kube-system", f"{_LEADER_LOCKING_PREFIX}kube-scheduler", "", (_SCHEDULER, "ServiceAccount kube-scheduler")),
    ("kube-system", f"{_CONTROLLER}bootstrap-signer", "", ("ServiceAccount bootstrap-signer",)),
    ("kube-system", f"{_CONTROLLER}cloud-provider", "", ("ServiceAccount cloud-provider",)),
    ("kube-system", f"{_CONTROLLER}token-cleaner", "", ("ServiceAccount token-cleaner",)),
)
"""Namespace and name of a binding, the role if it has another name, and its subjects."""


@dataclass(slots=True)
class _RoleDefinition:
    name: str
    namespace: str = ""
    aggregates_label: str = ""
    labels: list[str] = field(default_factory=list)
    rules: list[PolicyRule] = field(default_factory=list)


def node_rules(caps: Capabilities) -> tuple[PolicyRule, ...]:
    """Return the rules of every node, which the node authorizer restricts to related objects."""
    return next(tuple(role.rules) for role in _read_roles(caps) if role.name == NODE_ROLE)


def default_objects(caps: Capabilities) -> Iterator[Object]:
    """Yield every role, then every binding."""
    roles = _read_roles(caps)
    labelled: dict[str, list[_RoleDefinition]] = {}
    for role in sorted(roles, key=lambda role: role.name):
        for label in role.labels:
            labelled.setdefault(label, []).append(role)
    yield from (_make_role(role, labelled) for role in roles)
    yield from _make_bindings({role.name for role in roles})


@lru_cache(maxsize=64)
def _read_roles(caps: Capabilities) -> tuple[_RoleDefinition, ...]:
    """Return the roles of the table for such a server; callers must not change them."""
    text = pkgutil.get_data(__package__, "data/roles.txt")
    assert text is not None, "the table of roles is part of the package"
    roles: list[_RoleDefinition] = []
    there = False
    for line in text.decode().splitlines():
        words = _apply_conditions(line.split(), caps)
        if not line.startswith(" "):
            there = bool(words)
            if there:
                roles.append(_parse_role(words))
        elif there and words:
            roles[-1].rules.append(_parse_rule(words, caps))
    return tuple(roles)


def _apply_conditions(words: list[str], caps: Capabilities) -> list[str]:
    """Return the words of a line without its conditions; none if a condition is not met."""
    holds = all(_condition_holds(word[1:], caps) for word in words if word[0] == "?")
    return [word for word in words if word[0] != "?"] if holds else []


def _condition_holds(condition: str, caps: Capabilities) -> bool:
    if not (condition[0].isdigit() or condition[0] == "-"):
        return caps.enabled(condition)
    if condition.endswith("+"):
        return Version.parse(condition[:-1]) <= caps.version
    first, dash, last = condition.partition("-")
    if dash and not first:
        return caps.version <= Version.parse(last)
    return Version.parse(first) <= caps.version <= Version.parse(last or first)


def _parse_role(words: list[str]) -> _RoleDefinition:
    namespace, _, name = words[0].rpartition("/")
    role = _RoleDefinition(name, namespace)
    for word in words[1:]:
        if word[0] == "<":
            role.aggregates_label = word[1:]
        else:
            role.labels.append(word[1:])
    return role


def _parse_rule(words: list[str], caps: Capabilities) -> PolicyRule:
    verbs = tuple(words[0].split(","))
    if len(words) == 2:
        return PolicyRule(verbs, urls=tuple(_parse_items(words[1], caps)))
    groups = tuple("" if group == "core" else group for group in words[1].split(","))
    names = tuple(words[3][1:].split(",")) if len(words) > 3 else ()
    return PolicyRule(verbs, groups, tuple(_parse_items(words[2], caps)), names)


def _parse_items(text: str, caps: Capabilities) -> Iterator[str]:
    for item in text.split(","):
        value, _, condition = item.partition("?")
        if not condition or _condition_holds(condition, caps):
            yield value


def _make_role(role: _RoleDefinition, labelled: dict[str, list[_RoleDefinition]]) -> Object:
    obj = _make_object("Role" if role.namespace else "ClusterRole", role.name, role.namespace)
    obj["metadata"]["labels"] |= {f"{GROUP}/{label}": "true" for label in role.labels}
    if role.aggregates_label:
        selector = {"matchLabels": {f"{GROUP}/{role.aggregates_label}": "true"}}
        obj["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    obj["rules"] = [rule.to_object() for rule in _aggregate_rules(role, labelled)]
    return obj


def _aggregate_rules(role: _RoleDefinition, labelled: dict[str, list[_RoleDefinition]]) -> Iterable[PolicyRule]:
    """Return the rules of a role, or those of the roles it aggregates, each once."""
    if not role.aggregates_label:
        return role.rules
    found: dict[PolicyRule, None] = {}
    for other in labelled[role.aggregates_label]:
        found |= dict.fromkeys(_aggregate_rules(other, labelled))
    return found


def _make_bindings(roles: set[str]) -> Iterator[Object]:
    everywhere = [(name, subjects) for name, subjects in _CLUSTER_ROLE_SUBJECTS if name in roles]
    in_namespaces = {name for _, name, _, _ in _ROLE_BINDINGS}
    # Every controller role without a namespaced binding belongs to the service account of that name.
    controllers = sorted(name for name in roles if name.startswith(_CONTROLLER) and name not in in_namespaces)
    everywhere += [(name, (f"ServiceAccount {name.removeprefix(_CONTROLLER)}",)) for name in controllers]
    for name, subjects in everywhere:
        yield _set_role_and_subjects(_make_object("ClusterRoleBinding", name, ""), "ClusterRole", name, subjects)
    for namespace, name, role, subjects in _ROLE_BINDINGS:
        yield _set_role_and_subjects(_make_object("RoleBinding", name, namespace), "Role", role or name, subjects)


def _set_role_and_subjects(obj: Object, kind: str, role: str, subjects: tuple[str, ...]) -> Object:
    obj["roleRef"] = {"apiGroup": GROUP, "kind": kind, "name": role}
    if subjects:
        obj["subjects"] = [_make_subject(*subject.split(" ")) for subject in subjects]
    return obj


def _make_subject(kind: str, name: str) -> Object:
    where = {"namespace": "kube-system"} if kind == "ServiceAccount" else {"apiGroup": GROUP}
    return {"kind": kind, **where, "name": name}


def _make_object(kind: str, name: str, namespace: str) -> Object:
    metadata: Object = {"name": name, "labels": dict(_LABELS), "annotations": dict(_ANNOTATIONS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata}
