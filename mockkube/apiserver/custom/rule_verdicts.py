"""Evaluate the CEL rules of a schema on an object, within a cost budget."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mockkube_cel.program import Evaluation
from mockkube_cel.values import NONE, CelError, Optional

from mockkube.api.custom.correlation import Correlated, Items
from mockkube.api.custom.outcomes import NOWHERE
from mockkube.api.fields import OMITTED, ErrorType, FieldError, duplicate, forbidden, invalid, map_entry_path, required
from mockkube.apiserver.custom.cel_values import to_cel
from mockkube.apiserver.custom.rules import OLD_SELF, SELF, Rule, Rules
from mockkube.matching.cel.metered import evaluate_metered

CALL_COST_MAX: Final = 1_000_000
# Cost limit of all rules for one object, in units of CEL's cost model.
BUDGET: Final = 10_000_000
_MESSAGE_BYTES_MAX: Final = 5 * 1024
_CANCELLED: Final = "operation cancelled: actual cost limit exceeded"


class _Exhausted(Exception):
    """Signal that the budget is exceeded: no further rule is evaluated."""


@dataclass(slots=True)
class Verdict:
    """Errors, and warnings about rules that an unchanged value already violated."""

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Spared:
    """Correlation of a value, or of the closest parent that has one, with its old state."""

    current: Correlated | None = None
    nearest: Correlated | None = None

    @property
    def unchanged(self) -> bool:
        decisive = self.current or self.nearest
        return decisive is not None and decisive.unchanged

    def key(self, name: str) -> "_Spared":
        if self.current is None:
            return self
        # upstream: kind and apiVersion are never ratcheted.
        if self.nearest is None and name in ("apiVersion", "kind"):
            return _Spared()
        return _Spared(self.current.key(name), self.current)

    def index(self, index: int) -> "_Spared":
        return self if self.current is None else _Spared(self.current.index(index), self.current)


@dataclass(frozen=True, slots=True)
class _Case:
    """Value with its old state (None if there was none) and its path."""

    new: Any
    old: Any
    at: str
    spared: _Spared


def judge(
    rules: Rules | None, new: Any, old: Any = None, *, correlated: Correlated | None = None, at: str = ""
) -> Verdict:
    """Evaluate all rules on a value."""
    verdict = Verdict()
    if rules is not None:
        with suppress(_Exhausted):  # the verdict says so
            _Judge(verdict, BUDGET).visit(rules, _Case(new, old, at, _Spared(correlated)))
    return verdict


class _Judge:
    def __init__(self, verdict: Verdict, budget: int) -> None:
        self._verdict = verdict
        self._budget = budget

    def visit(self, rules: Rules, case: _Case) -> None:
        """Evaluate the rules of a schema, and those within it."""
        if case.new is None:
            return
        if rules.own:
            self._evaluate_all(rules, case)
        for each in rules.all_of:
            # Inside allOf a value is only compared with the closest parent, as upstream.
            self.visit(each, replace(case, spared=_Spared(None, case.spared.nearest)))
        match case.new:
            case list() if rules.items is not None:
                former = Items(case.old, rules.schema)
                for index, item in enumerate(case.new):
                    at, spared = f"{case.at}[{index}]", case.spared.index(index)
                    self.visit(rules.items, _Case(item, former.get(item), at, spared))
            case dict():
                self._visit_entries(rules, case)

    def _visit_entries(self, rules: Rules, case: _Case) -> None:
        old = case.old if isinstance(case.old, dict) else {}
        for name, item in case.new.items():
            spared = case.spared.key(name)
            if name in rules.properties:
                at = f"{case.at}.{name}" if case.at else name
                self.visit(rules.properties[name], _Case(item, old.get(name), at, spared))
            elif rules.additional is not None:
                self.visit(rules.additional, _Case(item, old.get(name), map_entry_path(case.at, name), spared))

    def _evaluate_all(self, rules: Rules, case: _Case) -> None:
        kind = rules.schema.type
        if self._budget <= 0:
            self._out_of_budget(case, kind)
        schema = rules.schema.whole() if rules.whole else rules.schema
        bound = {SELF: to_cel(case.new, schema)}
        former = to_cel(case.old, schema) if case.old is not None else None
        for rule in rules.own:
            if rule.error:
                self._verdict.errors.append(invalid(case.at or NOWHERE, kind, f"rule compile error: {rule.error}"))
            elif not rule.uses_old or case.old is not None or rule.optional_old:
                self._evaluate(rule, case, kind, {**bound, **_former(rule, case, former)})

    def _evaluate(self, rule: Rule, case: _Case, kind: str, bound: dict[str, Any]) -> None:
        assert rule.compiled.program is not None, "a rule without an error has a program"
        found = evaluate_metered(rule.compiled.program, bound, CALL_COST_MAX)
        # A call that was cancelled at its own limit is reported as such rather than as an exceeded budget.
        if min(found.cost, CALL_COST_MAX + 1) > self._budget:
            self._out_of_budget(case, kind)
        self._budget -= found.cost
        if isinstance(found.value, CelError):
            self._failed(rule, case, kind, found.value.message)
        elif found.value is not True:
            at = _joined(case.at, rule.field)
            detail = self._message(rule, case, kind, bound)
            value = OMITTED if kind in ("object", "array") else case.new
            error = _error(at or NOWHERE, value, detail, rule)
            if not rule.uses_old and case.spared.unchanged:
                self._verdict.warnings.append(str(error))
            else:
                self._verdict.errors.append(error)

    def _failed(self, rule: Rule, case: _Case, kind: str, why: str) -> None:
        at = case.at or NOWHERE
        if why.startswith("no such overload"):
            wrong = "call arguments did not match a supported operator, function or macro signature for rule"
            self._verdict.errors.append(invalid(at, kind, f"'{why}': {wrong}: {rule.shown}"))
        elif why.startswith(_CANCELLED):
            end = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._verdict.errors.append(invalid(at, kind, f"'{why}': {end}: {rule.shown}"))
            raise _Exhausted
        else:
            self._verdict.errors.append(invalid(at, kind, f"{why} evaluating rule: {rule.shown}"))

    def _message(self, rule: Rule, case: _Case, kind: str, bound: dict[str, Any]) -> str:
        default = str(rule.raw.get("message") or "").strip() or f"failed rule: {rule.shown}"
        if rule.message is None or rule.message.program is None or rule.message_error:
            return default
        found = evaluate_metered(rule.message.program, bound, CALL_COST_MAX)
        self._check_message(rule, case, kind, found)
        self._budget -= found.cost
        if not isinstance(found.value, str):
            return default
        text = found.value.strip()
        return text if text and "\n" not in text and len(text.encode()) <= _MESSAGE_BYTES_MAX else default

    def _check_message(self, rule: Rule, case: _Case, kind: str, found: Evaluation) -> None:
        at, end = _joined(case.at, rule.field) or NOWHERE, "no further validation rules will be run"
        if min(found.cost, CALL_COST_MAX + 1) > self._budget:
            self._verdict.errors.append(
                invalid(at, kind, f"messageExpression evaluation failed due to running out of cost budget, {end}")
            )
            raise _Exhausted
        if isinstance(found.value, CelError) and found.value.message.startswith(_CANCELLED):
            expression = rule.raw["messageExpression"]
            self._verdict.errors.append(
                invalid(at, kind, f'{end} due to call cost exceeds limit for messageExpression: "{expression}"')
            )
            raise _Exhausted

    def _out_of_budget(self, case: _Case, kind: str) -> None:
        end = "validation failed due to running out of cost budget, no further validation rules will be run"
        self._verdict.errors.append(invalid(case.at or NOWHERE, kind, end))
        raise _Exhausted


def _former(rule: Rule, case: _Case, former: Any) -> dict[str, Any]:
    """Return the binding of `oldSelf` for a rule."""
    if rule.optional_old:
        return {OLD_SELF: NONE if case.old is None else Optional(former)}
    return {OLD_SELF: former} if case.old is not None else {}


def _joined(at: str, path: str) -> str:
    if not path:
        return at
    return f"{at}.{path}" if at else path


def _error(at: str, value: Any, detail: str, rule: Rule) -> FieldError:
    match rule.raw.get("reason"):
        case "FieldValueForbidden":
            return forbidden(at, detail)
        case "FieldValueRequired":
            return required(at, detail)
        case "FieldValueDuplicate":
            return duplicate(at, value)
    return FieldError(at, detail, ErrorType.INVALID, value)
