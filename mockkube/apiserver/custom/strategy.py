"""Strategy of custom resources: one for each version of a CRD."""

# upstream 1.36: apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy,validator}.go

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from mockkube.api import names
from mockkube.api.custom.correlation import CorrelatedObject
from mockkube.api.custom.crd import Crd, CrdVersion
from mockkube.api.custom.list_types import validate_lists
from mockkube.api.custom.metadata import validate_embedded
from mockkube.api.custom.validation import validate
from mockkube.api.custom.validation_result import NO_FIELD
from mockkube.api.fields import ErrorType, FieldError, invalid, quote
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.jsonpath import CompiledJsonPath, PathError, compile_path
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.metadata import STANDARD_FINALIZERS
from mockkube.apiserver.custom import rule_evaluation
from mockkube.apiserver.custom.rule_evaluation import RuleResult
from mockkube.apiserver.custom.scale_paths import validate_scale
from mockkube.apiserver.custom.validation_rules import SchemaRules, compile_rules
from mockkube.runtime.heavy_work import spend

# Estimated microseconds to compile the rules of a schema, for each of its bytes; charged to the request's budget.
_COMPILE_MICROSECONDS_PER_BYTE: Final = 4
# Error types after which no rules are evaluated: rules may rely on types and limits of the schema.
_BLOCKING_ERRORS: Final = frozenset(
    (ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID)
)
_RULES_SKIPPED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_RATCHETING_GATE: Final = "CRDValidationRatcheting"


class CustomResourceStrategy(Strategy):
    """Strategy of the objects of one version."""

    allow_unconditional_update = False
    requires_qualified_finalizers = False

    def __init__(self, crd: Crd, version: CrdVersion) -> None:
        self._crd = crd
        self._version = version
        self._fields = [(path.removeprefix("."), _compile_path(path)) for path in version.selectable_paths]
        self.selectable_field_names = tuple(name for name, _ in self._fields)

    @cached_property
    def _rules(self) -> SchemaRules | None:
        spend(_COMPILE_MICROSECONDS_PER_BYTE * self._version.schema_bytes)
        return compile_rules(self._version.structural, is_resource_root=True)

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop the status if it is a subresource; set the first generation."""
        if self._version.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the status, or everything but the status; a change of content increases the generation."""
        if context.subresource == "status":
            _prepare_status(new, old)
            return
        if self._version.has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        generation = old["metadata"].get("generation", 0)
        new["metadata"]["generation"] = (
            generation if _without_metadata(new) == _without_metadata(old) else generation + 1
        )

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a new object: kind, schema, lists, rules."""
        if errors := self._validate_kind(obj):
            return errors
        versioned, version = self._with_api_version(obj), self._version
        errors = validate(versioned, version.validation_schema)
        errors += self._validate_scale(versioned)
        errors += validate_embedded(versioned, version.structural)
        errors += validate_lists(versioned, version.structural)
        return errors + self._evaluate_rules(errors, versioned, None, None).errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a change; with ratcheting, errors in unchanged parts are ignored."""
        if errors := self._validate_kind(new):
            return errors
        versioned, before, structural = (
            self._with_api_version(new),
            self._with_api_version(old),
            self._version.structural,
        )
        correlated = CorrelatedObject(versioned, before, structural) if context.caps.enabled(_RATCHETING_GATE) else None
        if context.subresource == "status":
            errors = self._validate_status(versioned, correlated)
        else:
            errors = validate(versioned, self._version.validation_schema, correlated)
            errors += self._validate_scale(versioned)
            errors += validate_embedded(versioned, structural)
        # upstream: duplicates that exist already do not block updates.
        if not list(validate_lists(before, structural)):
            errors += validate_lists(versioned, structural)
        return errors + self._evaluate_rules(errors, versioned, before, correlated).errors

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Return warnings about finalizer names that may collide."""
        return list(_finalizer_warnings(obj["metadata"].get("finalizers") or ()))

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Return warnings about new finalizers, and about rules that unchanged parts violate."""
        warnings: list[str] = []
        if self._rules is not None and context.caps.enabled(_RATCHETING_GATE):
            versioned, before = self._with_api_version(new), self._with_api_version(old)
            correlated = CorrelatedObject(versioned, before, self._version.structural)
            warnings += self._evaluate_rules([], versioned, before, correlated).warnings
        if context.subresource == "status":
            return warnings
        known = old["metadata"].get("finalizers") or ()
        added = [one for one in new["metadata"].get("finalizers") or () if one not in known]
        return warnings + list(_finalizer_warnings(added))

    def selectable_fields(self, obj: ReadOnlyObject) -> Mapping[str, str]:
        """Return the values of the selectable fields of the CRD."""
        return {name: _first_value(path, obj) for name, path in self._fields}

    def _with_api_version(self, obj: ReadOnlyObject) -> ReadOnlyObject:
        """Return the object in this version, as rules and errors show it."""
        return {**obj, "apiVersion": self._version.api_version}

    def _validate_kind(self, obj: ReadOnlyObject) -> list[FieldError]:
        kind = self._crd.kind
        return [] if obj["kind"] == kind else [invalid("kind", obj["kind"], f"must be {kind}")]

    def _validate_scale(self, obj: ReadOnlyObject) -> list[FieldError]:
        paths = self._version.scale_paths
        return [] if paths is None else list(validate_scale(obj, paths))

    def _validate_status(self, obj: ReadOnlyObject, correlated: CorrelatedObject | None) -> list[FieldError]:
        errors: list[FieldError] = []
        checks, paths = self._version.status_validation_schema, self._version.scale_paths
        if checks is not None and "status" in obj:
            known = correlated.get_field("status") if correlated is not None else None
            errors += validate(obj["status"], checks, known, root="status")
        return errors if paths is None else [*errors, *validate_scale(obj, paths, status_only=True)]

    def _evaluate_rules(
        self,
        errors: list[FieldError],
        new: ReadOnlyObject,
        old: ReadOnlyObject | None,
        correlated: CorrelatedObject | None,
    ) -> RuleResult:
        if self._rules is None:
            return RuleResult()
        if any(error.type in _BLOCKING_ERRORS for error in errors):
            return RuleResult([invalid(NO_FIELD, None, _RULES_SKIPPED)])
        return rule_evaluation.evaluate_rules(self._rules, new, old, correlated=correlated)


def _without_metadata(obj: ReadOnlyObject) -> Object:
    return {key: value for key, value in obj.items() if key != "metadata"}


def _prepare_status(new: Object, old: ReadOnlyObject) -> None:
    """Keep everything of the old object but status and managedFields."""
    merged = {**old, "metadata": dict(old["metadata"])}
    merged["metadata"].pop("managedFields", None)
    if "managedFields" in new["metadata"]:
        merged["metadata"]["managedFields"] = new["metadata"]["managedFields"]
    merged.pop("status", None)
    if "status" in new:
        merged["status"] = new["status"]
    new.clear()
    new.update(merged)


def _finalizer_warnings(finalizers: Any) -> Iterator[str]:
    at = "metadata.finalizers"
    for name in sorted(set(finalizers)):
        for text in names.check_qualified_name(name):
            yield f"{at}: {quote(name)}: {text}"
        if "/" not in name and name not in STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            why = f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts"
            yield f"{at}: {quote(name)}: {why} with other finalizer writers"


def _compile_path(path: str) -> CompiledJsonPath | None:
    try:
        return compile_path(path)
    except PathError:
        return None


def _first_value(path: CompiledJsonPath | None, obj: ReadOnlyObject) -> str:
    """Return the first value at a path as text; empty if there is none."""
    try:
        found = path.find(obj) if path is not None else []
    except PathError:
        return ""
    if not found or found[0] is None:
        return ""
    return str(found[0]).lower() if isinstance(found[0], bool) else str(found[0])
