"""Evaluate the CEL rules of a schema on an object, within a cost budget."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go

from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Final

from mockkube_cel.program import Evaluation
from mockkube_cel.values import NONE, CelError, Optional

from mockkube.api.custom.correlation import CorrelatedObject, ItemsByKey
from mockkube.api.custom.validation_result import NO_FIELD
from mockkube.api.fields import OMITTED, ErrorType, FieldError, duplicate, forbidden, invalid, map_entry_path, required
from mockkube.apiserver.custom.cel_values import to_cel
from mockkube.apiserver.custom.validation_rules import OLD_SELF, SELF, SchemaRules, ValidationRule
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.metered_evaluation import evaluate_metered

EXPRESSION_COST_MAX: Final = 1_000_000
# Cost limit of all rules for one object, in units of CEL's cost model.
TOTAL_COST_MAX: Final = 10_000_000
_MESSAGE_BYTES_MAX: Final = 5 * 1024
_CANCELLED: Final = "operation cancelled: actual cost limit exceeded"


class _RuleBudgetExceeded(Exception):
    """Signal that the budget is exceeded: no further rule is evaluated."""


@dataclass(slots=True)
class RuleResult:
    """Errors, and warnings about rules that an unchanged value already violated."""

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Correlation:
    """Correlation of a value, or of the closest parent that has one, with its old state."""

    current: CorrelatedObject | None = None
    nearest: CorrelatedObject | None = None

    @property
    def is_unchanged(self) -> bool:
        decisive = self.current or self.nearest
        return decisive is not None and decisive.is_unchanged

    def for_key(self, name: str) -> "_Correlation":
        if self.current is None:
            return self
        # upstream: kind and apiVersion are never ratcheted.
        if self.nearest is None and name in ("apiVersion", "kind"):
            return _Correlation()
        return _Correlation(self.current.get_field(name), self.current)

    def for_index(self, index: int) -> "_Correlation":
        return self if self.current is None else _Correlation(self.current.get_item(index), self.current)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """Value with its old state (None if there was none) and its path."""

    new: Any
    old: Any
    at: str
    correlation: _Correlation


def evaluate_rules(
    rules: SchemaRules | None, new: Any, old: Any = None, *, correlated: CorrelatedObject | None = None, at: str = ""
) -> RuleResult:
    """Evaluate all rules on a value."""
    verdict = RuleResult()
    if rules is not None:
        with suppress(_RuleBudgetExceeded):  # the verdict says so
            _RuleEvaluator(verdict, TOTAL_COST_MAX).visit(rules, _Evaluation(new, old, at, _Correlation(correlated)))
    return verdict


class _RuleEvaluator:
    def __init__(self, verdict: RuleResult, budget: int) -> None:
        self._result = verdict
        self._budget = budget

    def visit(self, rules: SchemaRules, case: _Evaluation) -> None:
        """Evaluate the rules of a schema, and those within it."""
        if case.new is None:
            return
        if rules.own:
            self._evaluate_all(rules, case)
        for each in rules.all_of:
            # Inside allOf a value is only compared with the closest parent, as upstream.
            self.visit(each, replace(case, correlation=_Correlation(None, case.correlation.nearest)))
        match case.new:
            case list() if rules.items is not None:
                former = ItemsByKey(case.old, rules.schema)
                for index, item in enumerate(case.new):
                    at, spared = f"{case.at}[{index}]", case.correlation.for_index(index)
                    self.visit(rules.items, _Evaluation(item, former.get(item), at, spared))
            case dict():
                self._visit_entries(rules, case)

    def _visit_entries(self, rules: SchemaRules, case: _Evaluation) -> None:
        old = case.old if isinstance(case.old, dict) else {}
        for name, item in case.new.items():
            spared = case.correlation.for_key(name)
            if name in rules.properties:
                at = f"{case.at}.{name}" if case.at else name
                self.visit(rules.properties[name], _Evaluation(item, old.get(name), at, spared))
            elif rules.additional is not None:
                self.visit(rules.additional, _Evaluation(item, old.get(name), map_entry_path(case.at, name), spared))

    def _evaluate_all(self, rules: SchemaRules, case: _Evaluation) -> None:
        kind = rules.schema.type
        if self._budget <= 0:
            self._stop(case, kind)
        schema = rules.schema.with_object_fields() if rules.is_resource_root else rules.schema
        bound = {SELF: to_cel(case.new, schema)}
        former = to_cel(case.old, schema) if case.old is not None else None
        for rule in rules.own:
            if rule.error:
                self._result.errors.append(invalid(case.at or NO_FIELD, kind, f"rule compile error: {rule.error}"))
            elif not rule.uses_old_self or case.old is not None or rule.has_optional_old_self:
                self._evaluate(rule, case, kind, {**bound, **_bind_old_self(rule, case, former)})

    def _evaluate(self, rule: ValidationRule, case: _Evaluation, kind: str, bound: dict[str, Any]) -> None:
        assert rule.compiled.program is not None, "a rule without an error has a program"
        found = evaluate_metered(rule.compiled.program, bound, EXPRESSION_COST_MAX)
        # A call that was cancelled at its own limit is reported as such rather than as an exceeded budget.
        if min(found.cost, EXPRESSION_COST_MAX + 1) > self._budget:
            self._stop(case, kind)
        self._budget -= found.cost
        if isinstance(found.value, CelError):
            self._add_failure(rule, case, kind, found.value.message)
        elif found.value is not True:
            at = _join_paths(case.at, rule.field)
            detail = self._make_message(rule, case, kind, bound)
            value = OMITTED if kind in ("object", "array") else case.new
            error = _make_error(at or NO_FIELD, value, detail, rule)
            if not rule.uses_old_self and case.correlation.is_unchanged:
                self._result.warnings.append(str(error))
            else:
                self._result.errors.append(error)

    def _add_failure(self, rule: ValidationRule, case: _Evaluation, kind: str, why: str) -> None:
        at = case.at or NO_FIELD
        if why.startswith("no such overload"):
            wrong = "call arguments did not match a supported operator, function or macro signature for rule"
            self._result.errors.append(invalid(at, kind, f"'{why}': {wrong}: {rule.display_text}"))
        elif why.startswith(_CANCELLED):
            end = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._result.errors.append(invalid(at, kind, f"'{why}': {end}: {rule.display_text}"))
            raise _RuleBudgetExceeded
        else:
            self._result.errors.append(invalid(at, kind, f"{why} evaluating rule: {rule.display_text}"))

    def _make_message(self, rule: ValidationRule, case: _Evaluation, kind: str, bound: dict[str, Any]) -> str:
        default = str(rule.raw.get("message") or "").strip() or f"failed rule: {rule.display_text}"
        if rule.message is None or rule.message.program is None or rule.message_error:
            return default
        found = evaluate_metered(rule.message.program, bound, EXPRESSION_COST_MAX)
        self._check_message(rule, case, kind, found)
        self._budget -= found.cost
        if not isinstance(found.value, str):
            return default
        text = found.value.strip()
        return text if text and "\n" not in text and len(text.encode()) <= _MESSAGE_BYTES_MAX else default

    def _check_message(self, rule: ValidationRule, case: _Evaluation, kind: str, found: Evaluation) -> None:
        at, end = _join_paths(case.at, rule.field) or NO_FIELD, "no further validation rules will be run"
        if min(found.cost, EXPRESSION_COST_MAX + 1) > self._budget:
            self._result.errors.append(
                invalid(at, kind, f"messageExpression evaluation failed due to running out of cost budget, {end}")
            )
            raise _RuleBudgetExceeded
        if isinstance(found.value, CelError) and found.value.message.startswith(_CANCELLED):
            expression = rule.raw["messageExpression"]
            self._result.errors.append(
                invalid(at, kind, f'{end} due to call cost exceeds limit for messageExpression: "{expression}"')
            )
            raise _RuleBudgetExceeded

    def _stop(self, case: _Evaluation, kind: str) -> None:
        end = "validation failed due to running out of cost budget, no further validation rules will be run"
        self._result.errors.append(invalid(case.at or NO_FIELD, kind, end))
        raise _RuleBudgetExceeded


def _bind_old_self(rule: ValidationRule, case: _Evaluation, former: Any) -> dict[str, Any]:
    """Return the binding of `oldSelf` for a rule."""
    if rule.has_optional_old_self:
        return {OLD_SELF: NONE if case.old is None else Optional(former)}
    return {OLD_SELF: former} if case.old is not None else {}


def _join_paths(at: str, path: str) -> str:
    if not path:
        return at
    return f"{at}.{path}" if at else path


def _make_error(at: str, value: Any, detail: str, rule: ValidationRule) -> FieldError:
    match rule.raw.get("reason"):
        case "FieldValueForbidden":
            return forbidden(at, detail)
        case "FieldValueRequired":
            return required(at, detail)
        case "FieldValueDuplicate":
            return duplicate(at, value)
    return FieldError(at, detail, ErrorType.INVALID, value)
