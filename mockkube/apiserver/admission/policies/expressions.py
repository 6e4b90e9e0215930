"""Compile CEL expressions of policies and match conditions: available variables and required result types."""

# upstream 1.36: apiserver/pkg/admission/plugin/cel/compile.go, composition.go
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from mockkube_cel import object_literals, types
from mockkube_cel.environment import Compiled, Environment
from mockkube_cel.schema import Schema
from mockkube_cel.types import CelType

from mockkube.api.fields import FieldError, internal, invalid
from mockkube.api.types import ReadOnlyObject
from mockkube.matching.cel.environment import kubernetes_environment

_TEXTS: Final = types.list_of(types.STRING)
_LABELS: Final = types.map_of(types.STRING, types.STRING)
_VARIABLES: Final = "kubernetes.variables"
_POLICIES: Final = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")


def _texts(*names: str) -> dict[str, CelType]:
    return dict.fromkeys(names, types.STRING)


def _struct(name: str) -> CelType:
    return types.struct(f"kubernetes.{name}")


_MESSAGES: Final[Mapping[str, Mapping[str, CelType]]] = {
    "kubernetes.GroupVersionKind": _texts("group", "version", "kind"),
    "kubernetes.GroupVersionResource": _texts("group", "version", "resource"),
    "kubernetes.UserInfo": {
        **_texts("username", "uid"),
        "groups": _TEXTS,
        "extra": types.map_of(types.STRING, _TEXTS),
    },
    "kubernetes.AdmissionRequest": {
        **_texts("subResource", "requestSubResource", "name", "namespace", "operation"),
        "kind": _struct("GroupVersionKind"),
        "resource": _struct("GroupVersionResource"),
        "requestKind": _struct("GroupVersionKind"),
        "requestResource": _struct("GroupVersionResource"),
        "userInfo": _struct("UserInfo"),
        "dryRun": types.BOOL,
        "options": types.DYN,
    },
    "kubernetes.NamespaceMetadata": {
        **_texts("name", "generateName", "namespace", "UID", "resourceVersion"),
        "labels": _LABELS,
        "annotations": _LABELS,
        "creationTimestamp": types.TIMESTAMP,
        "deletionTimestamp": types.TIMESTAMP,
        "deletionGracePeriodSeconds": types.INT,
        "generation": types.INT,
        "finalizers": _TEXTS,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceCondition": {
        **_texts("status", "type", "message", "reason"),
        "lastTransitionTime": types.TIMESTAMP,
    },
    "kubernetes.NamespaceStatus": {"conditions": types.list_of(_struct("NamespaceCondition")), "phase": types.STRING},
    "kubernetes.Namespace": {
        "metadata": _struct("NamespaceMetadata"),
        "spec": _struct("NamespaceSpec"),
        "status": _struct("NamespaceStatus"),
    },
}
_ALWAYS: Final = {
    "object": types.DYN,
    "oldObject": types.DYN,
    "request": _struct("AdmissionRequest"),
    "namespaceObject": _struct("Namespace"),
}
_AUTHORIZER: Final = {
    "authorizer": types.struct("kubernetes.authorization.Authorizer"),
    "authorizer.requestResource": types.struct("kubernetes.authorization.ResourceCheck"),
}
_INDEX: Final = re.compile(r"^spec\.variables\[(\d+)\]")
# Compiled expressions that are cached, by least recent use.
_KEPT_MAX: Final = 512

BOOL: Final = (types.BOOL,)
MESSAGE: Final = (types.STRING,)
ANNOTATION: Final = (types.STRING, types.NULL)
ANYTHING: Final = (types.ANY,)
OBJECT: Final = (object_literals.OBJECT,)
PATCHES: Final = (types.list_of(object_literals.PATCH),)
_YIELDS: Final = {
    "variable": ANYTHING,
    "validation": BOOL,
    "matchCondition": BOOL,
    "message": MESSAGE,
    "auditAnnotation": ANNOTATION,
    "applyConfiguration": OBJECT,
    "jsonPatch": PATCHES,
}
"""Result types of expressions by their purpose."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Variables that an expression may use besides the request.

    They are the parameters, the authorizer, and the policy's own variables with their types.
    """

    params: bool = False
    authorizer: bool = True
    # None where `variables` itself is not available.
    variables: tuple[tuple[str, CelType], ...] | None = None
    # Whether the expression may construct objects and patches.
    builds: bool = False

    def naming(self, name: str, compiled: Compiled) -> "Scope":
        """Return the scope of expressions after a variable."""
        found = types.DYN if compiled.type is None else compiled.type
        rest = tuple(one for one in self.variables or () if one[0] != name)
        return replace(self, variables=(*rest, (name, found)))

    def without_authorizer(self) -> "Scope":
        """Return the scope without the variable `authorizer`."""
        return replace(self, authorizer=False)

    def building(self) -> "Scope":
        """Return the scope of an expression that constructs an object or patches."""
        return replace(self, builds=True)


@lru_cache(maxsize=64)
def _environment(scope: Scope) -> Environment:
    variables, messages = dict(_ALWAYS), dict(_MESSAGES)
    if scope.params:
        variables["params"] = types.DYN
    if scope.authorizer:
        variables |= _AUTHORIZER
    if scope.variables is not None:
        variables["variables"] = types.struct(_VARIABLES)
        messages[_VARIABLES] = dict(scope.variables)
    return kubernetes_environment(
        Schema(variables=variables, messages=messages, allows_object_literals=scope.builds), {}
    )


@lru_cache(maxsize=_KEPT_MAX)
def compiled(text: str, scope: Scope, wanted: tuple[CelType, ...]) -> Compiled:
    """Compile an expression that must have one of these result types."""
    found = _environment(scope).compile(text, boolean=False)
    # A dynamic type has no static result type; its value is checked at evaluation.
    if found.type is None or found.error is not None or wanted == ANYTHING:
        return found
    if found.type in wanted and not found.type.nullable:
        return found
    expected = str(wanted[0]) if len(wanted) == 1 else f"one of [{' '.join(map(str, wanted))}]"
    return Compiled(text, found.type, error=f"must evaluate to {expected} but got {found.type}")


def variables_scope(spec: ReadOnlyObject, count: int | None = None) -> Scope:
    """Return the scope after all variables of a policy, or after the first `count`."""
    scope = Scope(params=spec.get("paramKind") is not None, variables=())
    for variable in (spec.get("variables") or [])[:count]:
        scope = scope.naming(variable.get("name", ""), compiled(variable.get("expression", ""), scope, ANYTHING))
    return scope


def named_values(spec: ReadOnlyObject) -> dict[str, Compiled]:
    """Compile the variables of a policy; each may use those before it."""
    return {
        one["name"]: compiled(one["expression"].strip(), variables_scope(spec, index), ANYTHING)
        for index, one in enumerate(spec.get("variables") or [])
    }


def policy_expression(expression: str, at: str, purpose: str, obj: ReadOnlyObject) -> list[FieldError]:
    """Validate an expression of a policy or webhook at a path."""
    # upstream 1.36: pkg/apis/admissionregistration/validation/validation.go
    wanted = _YIELDS.get(purpose)
    if wanted is None:
        return []
    scope = Scope()
    if obj.get("kind") in _POLICIES:
        index = _INDEX.match(at)
        scope = variables_scope(obj["spec"], int(index[1]) if index else None)
    if purpose == "message":
        scope = scope.without_authorizer()
    if wanted in (OBJECT, PATCHES):
        scope = scope.building()
    text = expression.strip()
    found = compiled(text, scope, wanted)
    if found.error is None:
        return []
    return [internal(at, found.error) if found.is_internal else invalid(at, text, found.error)]
