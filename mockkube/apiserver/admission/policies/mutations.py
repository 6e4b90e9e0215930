"""Mutations of policies: apply the object or the JSON patch that an expression returns."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/mutating/patch
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from mockkube_cel.environment import Compiled
from mockkube_cel.object_literals import NotJson, to_json, type_name_errors
from mockkube_cel.values import ObjectLiteral

from mockkube.api.managed_fields.errors import TypeMismatch
from mockkube.api.managed_fields.merge import merge
from mockkube.api.managed_fields.types import ListType, MapType, Type
from mockkube.api.managed_fields.validate import check
from mockkube.api.patching import json_patch
from mockkube.api.patching.errors import PatchError, TestFailed
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.policies.evaluation import COST_MAX, Activation, Budget, Failed, Occasion
from mockkube.apiserver.admission.policies.expressions import OBJECT, PATCHES, Scope, compiled

_JSON_PATCH: Final = "JSONPatch"


@dataclass(frozen=True, slots=True)
class Mutation:
    """Compiled mutation of a policy."""

    program: Compiled
    # Whether it returns a JSON patch; else an object to merge (ApplyConfiguration).
    patches: bool

    @classmethod
    def read(cls, raw: ReadOnlyObject, scope: Scope) -> "Mutation":
        """Compile a mutation; compilation errors are reported when it is applied."""
        patches = raw.get("patchType") == _JSON_PATCH
        given = raw.get("jsonPatch" if patches else "applyConfiguration") or {}
        wanted = PATCHES if patches else OBJECT
        return cls(compiled(given.get("expression", "").strip(), scope.building(), wanted), patches)

    def play(self, occasion: Occasion, found: Activation) -> None:
        """Change the object of the request; raise EvaluationError if that is impossible."""
        value = found.evaluate(self.program, Budget(COST_MAX))
        before = occasion.shown(occasion.request.obj)
        assert before is not None, "only what has an object is changed"
        if self.patches:
            occasion.take_strictly(_patched(before, value))
        else:
            occasion.take(_merged(occasion, before, value))


def _merged(occasion: Occasion, before: ReadOnlyObject, value: Any) -> Any:
    """Return the object with the expression's object merged into it."""
    wanted: dict[str, Any] = _json(value, "invalid return type")
    # Expressions construct objects without kind and apiVersion.
    wanted |= {"apiVersion": occasion.resource.api_version, "kind": occasion.resource.kind.kind}
    resource = occasion.resource
    kind = resource.services.trackers.of(resource, "").type
    try:
        check(wanted, kind)
    except TypeMismatch as error:
        raise Failed(f"error applying patch: failed to convert patch object to typed object: {error}") from error
    if whole := list(_atomics(wanted, kind, "")):
        what = f"may not mutate atomic arrays, maps or structs: {', '.join(whole)}"
        raise Failed(f"error applying patch: invalid ApplyConfiguration: {what}")
    return merge(before, wanted, kind)


def _atomics(value: Any, kind: Type, path: str) -> Iterator[str]:
    """Yield the paths of atomic values, which would be replaced as a whole and lose what the expression omits."""
    form = kind.form(value)
    if isinstance(value, dict) and isinstance(form, MapType):
        if form.atomic:
            yield path
        for name, part in value.items():
            if name in form.fields:
                yield from _atomics(part, form.fields[name], f"{path}.{name}")
    elif isinstance(value, list) and isinstance(form, ListType):
        if form.atomic:
            yield path
        for index, part in enumerate(value):
            yield from _atomics(part, form.element, f"{path}[{index}]")


def _patched(before: ReadOnlyObject, patches: Any) -> Any:
    """Return the object with the expression's patch applied, unchanged if a test operation fails."""
    operations = [_operation(each) for each in patches]
    try:
        return json_patch.apply(before, operations)
    except TestFailed:
        return before
    except PatchError as error:
        raise Failed(f"JSON Patch: {error}") from error


def _operation(patch: Any) -> dict[str, Any]:
    operation: dict[str, Any] = {"op": patch.get("op", ""), "path": patch.get("path", "")}
    if patch.get("from"):
        operation["from"] = patch["from"]
    if "value" in patch:
        operation["value"] = _json(
            patch["value"], "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
        )
    return operation


def _json(value: Any, prefix: str) -> Any:
    """Return the value of an expression as JSON."""
    if isinstance(value, ObjectLiteral) and (wrong := list(type_name_errors(value, value.type_name))):
        raise Failed("type mismatch: " + "\n".join(wrong))
    try:
        return to_json(value)
    except NotJson as error:
        raise Failed(f"{prefix}: {error}") from error
