"""Compile CEL expressions of policies and match conditions: available variables and required result types."""

# upstream 1.36: apiserver/pkg/admission/plugin/cel/compile.go, composition.go
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from mockkube_cel import object_literals, types
from mockkube_cel.environment import Compiled, Environment
from mockkube_cel.schema import Schema
from mockkube_cel.types import CelType

from mockkube.api.fields import FieldError, internal, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.environment import kubernetes_environment

_STRING_LIST: Final = types.list_of(types.STRING)
_STRING_MAP: Final = types.map_of(types.STRING, types.STRING)
_VARIABLES: Final = "kubernetes.variables"
_POLICIES: Final = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")


def _string_fields(*names: str) -> dict[str, CelType]:
    return dict.fromkeys(names, types.STRING)


def _struct_type(name: str) -> CelType:
    return types.struct(f"kubernetes.{name}")


_MESSAGES: Final[Mapping[str, Mapping[str, CelType]]] = {
    "kubernetes.GroupVersionKind": _string_fields("group", "version", "kind"),
    "kubernetes.GroupVersionResource": _string_fields("group", "version", "resource"),
    "kubernetes.UserInfo": {
        **_string_fields("username", "uid"),
        "groups": _STRING_LIST,
        "extra": types.map_of(types.STRING, _STRING_LIST),
    },
    "kubernetes.AdmissionRequest": {
        **_string_fields("subResource", "requestSubResource", "name", "namespace", "operation"),
        "kind": _struct_type("GroupVersionKind"),
        "resource": _struct_type("GroupVersionResource"),
        "requestKind": _struct_type("GroupVersionKind"),
        "requestResource": _struct_type("GroupVersionResource"),
        "userInfo": _struct_type("UserInfo"),
        "dryRun": types.BOOL,
        "options": types.DYN,
    },
    "kubernetes.NamespaceMetadata": {
        **_string_fields("name", "generateName", "namespace", "UID", "resourceVersion"),
        "labels": _STRING_MAP,
        "annotations": _STRING_MAP,
        "creationTimestamp": types.TIMESTAMP,
        "deletionTimestamp": types.TIMESTAMP,
        "deletionGracePeriodSeconds": types.INT,
        "generation": types.INT,
        "finalizers": _STRING_LIST,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _STRING_LIST},
    "kubernetes.NamespaceCondition": {
        **_string_fields("status", "type", "message", "reason"),
        "lastTransitionTime": types.TIMESTAMP,
    },
    "kubernetes.NamespaceStatus": {
        "conditions": types.list_of(_struct_type("NamespaceCondition")),
        "phase": types.STRING,
    },
    "kubernetes.Namespace": {
        "metadata": _struct_type("NamespaceMetadata"),
        "spec": _struct_type("NamespaceSpec"),
        "status": _struct_type("NamespaceStatus"),
    },
}
_REQUEST_VARIABLES: Final = {
    "object": types.DYN,
    "oldObject": types.DYN,
    "request": _struct_type("AdmissionRequest"),
    "namespaceObject": _struct_type("Namespace"),
}
_AUTHORIZER_VARIABLES: Final = {
    "authorizer": types.struct("kubernetes.authorization.Authorizer"),
    "authorizer.requestResource": types.struct("kubernetes.authorization.ResourceCheck"),
}
_VARIABLE_PATH: Final = re.compile(r"^spec\.variables\[(\d+)\]")
# Compiled expressions that are cached, by least recent use.
_COMPILED_EXPRESSIONS_MAX: Final = 512

BOOL: Final = (types.BOOL,)
MESSAGE: Final = (types.STRING,)
ANNOTATION: Final = (types.STRING, types.NULL)
ANY: Final = (types.ANY,)
OBJECT: Final = (object_literals.OBJECT,)
PATCHES: Final = (types.list_of(object_literals.PATCH),)
_RESULT_TYPES: Final = {
    "variable": ANY,
    "validation": BOOL,
    "matchCondition": BOOL,
    "message": MESSAGE,
    "auditAnnotation": ANNOTATION,
    "applyConfiguration": OBJECT,
    "jsonPatch": PATCHES,
}
"""Result types of expressions by their purpose."""


@dataclass(frozen=True, slots=True)
class ExpressionScope:
    """Variables that an expression may use besides the request.

    They are the parameters, the authorizer, and the policy's own variables with their types.
    """

    params: bool = False
    authorizer: bool = True
    # None where `variables` itself is not available.
    variables: tuple[tuple[str, CelType], ...] | None = None
    # Whether the expression may construct objects and patches.
    allows_objects: bool = False

    def with_variable(self, name: str, compiled: Compiled) -> "ExpressionScope":
        """Return the scope of expressions after a variable."""
        found = types.DYN if compiled.type is None else compiled.type
        rest = tuple(one for one in self.variables or () if one[0] != name)
        return replace(self, variables=(*rest, (name, found)))

    def without_authorizer(self) -> "ExpressionScope":
        """Return the scope without the variable `authorizer`."""
        return replace(self, authorizer=False)

    def with_objects(self) -> "ExpressionScope":
        """Return the scope of an expression that constructs an object or patches."""
        return replace(self, allows_objects=True)


@lru_cache(maxsize=64)
def _get_environment(scope: ExpressionScope) -> Environment:
    variables, messages = dict(_REQUEST_VARIABLES), dict(_MESSAGES)
    if scope.params:
        variables["params"] = types.DYN
    if scope.authorizer:
        variables |= _AUTHORIZER_VARIABLES
    if scope.variables is not None:
        variables["variables"] = types.struct(_VARIABLES)
        messages[_VARIABLES] = dict(scope.variables)
    return kubernetes_environment(
        Schema(variables=variables, messages=messages, allows_object_literals=scope.allows_objects)
    )


@lru_cache(maxsize=_COMPILED_EXPRESSIONS_MAX)
def compile_expression(text: str, scope: ExpressionScope, result_types: tuple[CelType, ...]) -> Compiled:
    """Compile an expression that must have one of these result types."""
    found = _get_environment(scope).compile(text, boolean=False)
    # A dynamic type has no static result type; its value is checked at evaluation.
    if found.type is None or found.error is not None or result_types == ANY:
        return found
    if found.type in result_types and not found.type.nullable:
        return found
    expected = str(result_types[0]) if len(result_types) == 1 else f"one of [{' '.join(map(str, result_types))}]"
    return Compiled(text, found.type, error=f"must evaluate to {expected} but got {found.type}")


def policy_scope(spec: ReadOnlyObject, count: int | None = None) -> ExpressionScope:
    """Return the scope after all variables of a policy, or after the first `count`."""
    scope = ExpressionScope(params=spec.get("paramKind") is not None, variables=())
    for variable in (spec.get("variables") or [])[:count]:
        scope = scope.with_variable(
            variable.get("name", ""), compile_expression(variable.get("expression", ""), scope, ANY)
        )
    return scope


def compile_variables(spec: ReadOnlyObject) -> dict[str, Compiled]:
    """Compile the variables of a policy; each may use those before it."""
    return {
        one["name"]: compile_expression(one["expression"].strip(), policy_scope(spec, index), ANY)
        for index, one in enumerate(spec.get("variables") or [])
    }


def validate_expression(expression: str, at: str, purpose: str, obj: ReadOnlyObject) -> list[FieldError]:
    """Validate an expression of a policy or webhook at a path."""
    # upstream 1.36: pkg/apis/admissionregistration/validation/validation.go
    wanted = _RESULT_TYPES.get(purpose)
    if wanted is None:
        return []
    scope = ExpressionScope()
    if obj.get("kind") in _POLICIES:
        index = _VARIABLE_PATH.match(at)
        scope = policy_scope(obj["spec"], int(index[1]) if index else None)
    if purpose == "message":
        scope = scope.without_authorizer()
    if wanted in (OBJECT, PATCHES):
        scope = scope.with_objects()
    text = expression.strip()
    found = compile_expression(text, scope, wanted)
    if found.error is None:
        return []
    return [internal(at, found.error) if found.is_internal else invalid(at, text, found.error)]
