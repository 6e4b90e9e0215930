"""Mutations of policies: apply the object or the JSON patch that an expression returns."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/mutating/patch
from collections.abc import Iterator
from typing import Any, Final

from mockkube_cel.environment import Compiled
from mockkube_cel.object_literals import NotJson, to_json, type_name_errors
from mockkube_cel.values import ObjectLiteral

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.managed_fields.errors import TypeMismatch
from mockkube.api.managed_fields.merge_values import merge_values
from mockkube.api.managed_fields.types import ListType, MapType, Type
from mockkube.api.managed_fields.validate import validate_value
from mockkube.api.patching import json_patch
from mockkube.api.patching.errors import PatchError, TestFailed
from mockkube.apiserver.admission.policies.evaluation import (
    POLICY_COST_MAX,
    Activation,
    CostBudget,
    EvaluationError,
    VersionedAttributes,
)
from mockkube.apiserver.admission.policies.expressions import OBJECT, PATCHES, ExpressionScope, compile_expression
from mockkube.lazy_dataclasses import dataclass

_JSON_PATCH: Final = "JSONPatch"


@dataclass(frozen=True, slots=True)
class CompiledMutation:
    """Compiled mutation of a policy."""

    program: Compiled
    # Whether it returns a JSON patch; else an object to merge (ApplyConfiguration).
    is_json_patch: bool

    @classmethod
    def compile(cls, raw: ReadOnlyObject, scope: ExpressionScope) -> "CompiledMutation":
        """Compile a mutation; compilation errors are reported when it is applied."""
        patches = raw.get("patchType") == _JSON_PATCH
        given = raw.get("jsonPatch" if patches else "applyConfiguration") or {}
        wanted = PATCHES if patches else OBJECT
        return cls(compile_expression(given.get("expression", "").strip(), scope.with_objects(), wanted), patches)

    def apply(self, attributes: VersionedAttributes, found: Activation) -> None:
        """Change the object of the request; raise EvaluationError if that is impossible."""
        value = found.evaluate(self.program, CostBudget(POLICY_COST_MAX))
        before = attributes.convert(attributes.request.obj)
        assert before is not None, "only what has an object is changed"
        if self.is_json_patch:
            attributes.set_object_strictly(_apply_patch(before, value))
        else:
            attributes.set_object(_merge(attributes, before, value))


def _merge(attributes: VersionedAttributes, before: ReadOnlyObject, value: Any) -> Any:
    """Return the object with the expression's object merged into it."""
    wanted: dict[str, Any] = _convert_to_json(value, "invalid return type")
    # Expressions construct objects without kind and apiVersion.
    wanted |= {"apiVersion": attributes.resource.api_version, "kind": attributes.resource.kind.kind}
    resource = attributes.resource
    kind = resource.dependencies.managed_fields_updaters.for_resource(resource, "").type
    try:
        validate_value(wanted, kind)
    except TypeMismatch as error:
        raise EvaluationError(
            f"error applying patch: failed to convert patch object to typed object: {error}"
        ) from error
    if atomic_paths := list(_atomic_paths(wanted, kind, "")):
        what = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic_paths)}"
        raise EvaluationError(f"error applying patch: invalid ApplyConfiguration: {what}")
    return merge_values(before, wanted, kind)


def _atomic_paths(value: Any, kind: Type, path: str) -> Iterator[str]:
    """Yield the paths of atomic values, which would be replaced as a whole and lose what the expression omits."""
    form = kind.form(value)
    if isinstance(value, dict) and isinstance(form, MapType):
        if form.atomic:
            yield path
        for name, part in value.items():
            if name in form.fields:
                yield from _atomic_paths(part, form.fields[name], f"{path}.{name}")
    elif isinstance(value, list) and isinstance(form, ListType):
        if form.atomic:
            yield path
        for index, part in enumerate(value):
            yield from _atomic_paths(part, form.element, f"{path}[{index}]")


def _apply_patch(before: ReadOnlyObject, patches: Any) -> Any:
    """Return the object with the expression's patch applied, unchanged if a test operation fails."""
    operations = [_to_operation(each) for each in patches]
    try:
        return json_patch.apply(before, operations)
    except TestFailed:
        return before
    except PatchError as error:
        raise EvaluationError(f"JSON Patch: {error}") from error


def _to_operation(patch: Any) -> dict[str, Any]:
    operation: dict[str, Any] = {"op": patch.get("op", ""), "path": patch.get("path", "")}
    if patch.get("from"):
        operation["from"] = patch["from"]
    if "value" in patch:
        operation["value"] = _convert_to_json(
            patch["value"], "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
        )
    return operation


def _convert_to_json(value: Any, prefix: str) -> Any:
    """Return the value of an expression as JSON."""
    if isinstance(value, ObjectLiteral) and (wrong := list(type_name_errors(value, value.type_name))):
        raise EvaluationError("type mismatch: " + "\n".join(wrong))
    try:
        return to_json(value)
    except NotJson as error:
        raise EvaluationError(f"{prefix}: {error}") from error
