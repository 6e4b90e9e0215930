"""Strategy of custom resources: one for each version of a CRD."""

# upstream 1.36: apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy,validator}.go

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from mockkube.api import names
from mockkube.api.custom.correlation import Correlated
from mockkube.api.custom.definition import CustomVersion, Definition
from mockkube.api.custom.list_types import validate_lists
from mockkube.api.custom.metadata import validate_embedded
from mockkube.api.custom.outcomes import NOWHERE
from mockkube.api.custom.validation import validate
from mockkube.api.fields import ErrorType, FieldError, invalid, quote
from mockkube.api.printers.jsonpath import CompiledJsonPath, PathError, compile_path
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.metadata import STANDARD_FINALIZERS
from mockkube.apiserver.custom import rule_verdicts
from mockkube.apiserver.custom.rule_verdicts import Verdict
from mockkube.apiserver.custom.rules import Rules, compile_rules
from mockkube.apiserver.custom.scale_paths import validate_scale
from mockkube.runtime.heavy_work import spend

# Estimated microseconds to compile the rules of a schema, for each of its bytes; charged to the request's budget.
_COMPILE_UNITS: Final = 4
# Error types after which no rules are evaluated: rules may rely on types and limits of the schema.
_BLOCKING: Final = frozenset(
    (ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID)
)
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_RATCHETING: Final = "CRDValidationRatcheting"


class CustomStrategy(Strategy):
    """Strategy of the objects of one version."""

    allow_unconditional_update = False
    requires_qualified_finalizers = False

    def __init__(self, definition: Definition, version: CustomVersion) -> None:
        self._definition = definition
        self._version = version
        self._fields = [(path.removeprefix("."), _read(path)) for path in version.selectable]
        self.selectable_field_names = tuple(name for name, _ in self._fields)

    @cached_property
    def _rules(self) -> Rules | None:
        spend(_COMPILE_UNITS * self._version.size)
        return compile_rules(self._version.structural, whole=True)

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
        new["metadata"]["generation"] = generation if _content(new) == _content(old) else generation + 1

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a new object: kind, schema, lists, rules."""
        if errors := self._validate_kind(obj):
            return errors
        seen, version = self._seen(obj), self._version
        errors = validate(seen, version.checks)
        errors += self._validate_scale(seen)
        errors += validate_embedded(seen, version.structural)
        errors += validate_lists(seen, version.structural)
        return errors + self._judge_rules(errors, seen, None, None).errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a change; with ratcheting, errors in unchanged parts are ignored."""
        if errors := self._validate_kind(new):
            return errors
        seen, before, structural = self._seen(new), self._seen(old), self._version.structural
        correlated = Correlated(seen, before, structural) if context.caps.enabled(_RATCHETING) else None
        if context.subresource == "status":
            errors = self._validate_status(seen, correlated)
        else:
            errors = validate(seen, self._version.checks, correlated)
            errors += self._validate_scale(seen)
            errors += validate_embedded(seen, structural)
        # upstream: duplicates that exist already do not block updates.
        if not list(validate_lists(before, structural)):
            errors += validate_lists(seen, structural)
        return errors + self._judge_rules(errors, seen, before, correlated).errors

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Return warnings about finalizer names that may collide."""
        return list(_finalizer_warnings(obj["metadata"].get("finalizers") or ()))

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Return warnings about new finalizers, and about rules that unchanged parts violate."""
        warnings: list[str] = []
        if self._rules is not None and context.caps.enabled(_RATCHETING):
            seen, before = self._seen(new), self._seen(old)
            correlated = Correlated(seen, before, self._version.structural)
            warnings += self._judge_rules([], seen, before, correlated).warnings
        if context.subresource == "status":
            return warnings
        known = old["metadata"].get("finalizers") or ()
        added = [one for one in new["metadata"].get("finalizers") or () if one not in known]
        return warnings + list(_finalizer_warnings(added))

    def selectable_fields(self, obj: ReadOnlyObject) -> Mapping[str, str]:
        """Return the values of the selectable fields of the CRD."""
        return {name: _first(path, obj) for name, path in self._fields}

    def _seen(self, obj: ReadOnlyObject) -> ReadOnlyObject:
        """Return the object in this version, as rules and errors show it."""
        return {**obj, "apiVersion": self._version.api_version}

    def _validate_kind(self, obj: ReadOnlyObject) -> list[FieldError]:
        kind = self._definition.kind
        return [] if obj["kind"] == kind else [invalid("kind", obj["kind"], f"must be {kind}")]

    def _validate_scale(self, obj: ReadOnlyObject) -> list[FieldError]:
        paths = self._version.scale
        return [] if paths is None else list(validate_scale(obj, paths))

    def _validate_status(self, obj: ReadOnlyObject, correlated: Correlated | None) -> list[FieldError]:
        errors: list[FieldError] = []
        checks, paths = self._version.status_checks, self._version.scale
        if checks is not None and "status" in obj:
            known = correlated.key("status") if correlated is not None else None
            errors += validate(obj["status"], checks, known, root="status")
        return errors if paths is None else [*errors, *validate_scale(obj, paths, status_only=True)]

    def _judge_rules(
        self, errors: list[FieldError], new: ReadOnlyObject, old: ReadOnlyObject | None, correlated: Correlated | None
    ) -> Verdict:
        if self._rules is None:
            return Verdict()
        if any(error.type in _BLOCKING for error in errors):
            return Verdict([invalid(NOWHERE, None, _UNCHECKED)])
        return rule_verdicts.judge(self._rules, new, old, correlated=correlated)


def _content(obj: ReadOnlyObject) -> Object:
    return {key: value for key, value in obj.items() if key != "metadata"}


def _prepare_status(new: Object, old: ReadOnlyObject) -> None:
    """Keep everything of the old object but status and managedFields."""
    kept = {**old, "metadata": dict(old["metadata"])}
    kept["metadata"].pop("managedFields", None)
    if "managedFields" in new["metadata"]:
        kept["metadata"]["managedFields"] = new["metadata"]["managedFields"]
    kept.pop("status", None)
    if "status" in new:
        kept["status"] = new["status"]
    new.clear()
    new.update(kept)


def _finalizer_warnings(finalizers: Any) -> Iterator[str]:
    at = "metadata.finalizers"
    for name in sorted(set(finalizers)):
        for text in names.check_qualified_name(name):
            yield f"{at}: {quote(name)}: {text}"
        if "/" not in name and name not in STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            why = f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts"
            yield f"{at}: {quote(name)}: {why} with other finalizer writers"


def _read(path: str) -> CompiledJsonPath | None:
    try:
        return compile_path(path)
    except PathError:
        return None


def _first(path: CompiledJsonPath | None, obj: ReadOnlyObject) -> str:
    """Return the first value at a path as text; empty if there is none."""
    try:
        found = path.find(obj) if path is not None else []
    except PathError:
        return ""
    if not found or found[0] is None:
        return ""
    return str(found[0]).lower() if isinstance(found[0], bool) else str(found[0])
