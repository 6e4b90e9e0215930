"""Validate the CEL rules and defaults in the schema of a CRD: they must compile, fit the schema, and be cheap."""

# upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
# apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any, Final

from mockkube.api.custom.correlation import equal_json
from mockkube.api.custom.list_types import validate_lists
from mockkube.api.custom.metadata import validate_embedded
from mockkube.api.custom.pruning import prune_value
from mockkube.api.custom.structural import Structural, parse_structural
from mockkube.api.custom.validation import validate
from mockkube.api.custom.validation_schema import ValidationSchemaParser
from mockkube.api.fields import FieldError, forbidden, internal, invalid, map_entry_path, with_sorted_keys
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.strategy import StrategyContext
from mockkube.apiserver.custom import rule_evaluation
from mockkube.apiserver.custom.patterns import matches_pattern
from mockkube.apiserver.custom.validation_rules import SchemaRules, ValidationRule, compile_rules
from mockkube.lazy_dataclasses import dataclass

_RULE_COST_MAX: Final = 10_000_000
_TOTAL_COST_MAX: Final = 100_000_000
_UINT64_MAX: Final = 2**64 - 1
_ADVICE: Final = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared"
)
_RULES: Final = "x-kubernetes-validations"


def validate_crd_schema(
    schema: ReadOnlyObject, old: ReadOnlyObject | None, at: str, context: StrategyContext
) -> list[FieldError]:
    """Validate the rules and defaults of a schema that is otherwise well-formed."""
    structural = parse_structural(schema)
    defaults = list(_validate_defaults(structural, at, ValidationSchemaParser(context.caps.version, matches_pattern)))
    # Rules are only validated if all defaults are valid, as upstream.
    if defaults:
        return defaults
    # A stored schema may exceed limits that are newer than it; an unchanged one is not rejected for its cost.
    costs = _CostTotals(is_lenient=old is not None and equal_json(schema, old))
    rules = compile_rules(structural, is_resource_root=True)
    errors = list(_validate(structural, rules, _RulePosition(at), costs)) if rules is not None else []
    return errors + costs.validate(at)


def _validate_defaults(schema: Structural, at: str, parser: ValidationSchemaParser) -> Iterator[FieldError]:
    if schema.default is not None:
        yield from _validate_default(schema, f"{at}.default", parser)
    if schema.items is not None:
        yield from _validate_defaults(schema.items, f"{at}.items", parser)
    for name, each in schema.properties.items():
        yield from _validate_defaults(each, map_entry_path(f"{at}.properties", name), parser)


def _validate_default(schema: Structural, at: str, parser: ValidationSchemaParser) -> Iterator[FieldError]:
    value = schema.default
    if not equal_json(prune_value(value, schema), value):
        yield invalid(at, with_sorted_keys(value), "must not have unknown fields")
    if errors := list(validate_embedded(value, schema, at)):
        yield from errors
        return
    if errors := validate(value, parser.parse(schema.raw), root=at):
        yield from errors
        return
    yield from validate_lists(value, schema, at)
    rules = compile_rules(schema, is_resource_root=schema.is_embedded_resource)
    # First as an update of the value to itself, which also evaluates transition rules.
    if errors := rule_evaluation.evaluate_rules(rules, value, value, at=at).errors:
        yield from errors
    else:
        yield from rule_evaluation.evaluate_rules(rules, value, at=at).errors


@dataclass(frozen=True, slots=True)
class _RulePosition:
    """Position of a schema: its path, the maximum number of its values, and where old and new cannot be correlated."""

    at: str
    cardinality: int | None = 1
    uncorrelatable_path: str = ""

    def within(self, schema: Structural, at: str, *, uncorrelatable: bool = False) -> "_RulePosition":
        """Return the position of a schema within this one."""
        most = _elements_max(schema)
        known = self.cardinality is not None and most is not None
        path = self.uncorrelatable_path or (self.at if uncorrelatable else "")
        return _RulePosition(at, _multiply(self.cardinality, most) if known else None, path)


def _elements_max(schema: Structural) -> int | None:
    """Return the maximum number of members in a value of the schema; None if unlimited."""
    if schema.type == "array":
        most = schema.raw.get("maxItems")
    elif schema.type == "object" and schema.has_additional_properties:
        most = schema.raw.get("maxProperties")
    else:
        return 1
    return None if most is None else max(most, 0)


def _multiply(cost: int | None, count: int | None) -> int:
    return min((cost or 0) * (count or 0), _UINT64_MAX)


@dataclass(slots=True)
class _CostTotals:
    """Estimated costs of the rules of one schema: their sum, and the most expensive rules."""

    is_lenient: bool
    total: int = 0
    most_expensive: list[tuple[int, str]] = field(default_factory=list)

    def add(self, at: str, cost: int) -> None:
        """Add the cost of a rule."""
        self.total = min(self.total + cost, _UINT64_MAX)
        # upstream names up to four rules that contribute at least one percent.
        if cost >= _TOTAL_COST_MAX // 100:
            self.most_expensive = sorted([*self.most_expensive, (cost, at)], key=lambda one: -one[0])[:4]

    def validate(self, at: str) -> list[FieldError]:
        """Return errors if the total cost is too high."""
        if self.total <= _TOTAL_COST_MAX:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        name = f"{_RULES} estimated rule cost total for entire OpenAPIv3 schema"
        return [forbidden(where, text) for _, where in self.most_expensive] + [
            forbidden(at, _budget_exceeded_text(name, self.total, _TOTAL_COST_MAX))
        ]


def _budget_exceeded_text(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} ({_ADVICE})"


def _validate(schema: Structural, rules: SchemaRules, place: _RulePosition, costs: _CostTotals) -> Iterator[FieldError]:
    """Validate the rules within a schema, then its own, in upstream's order."""
    at = place.at
    if rules.additional is not None and schema.additional_properties is not None:
        inner = place.within(schema, f"{at}.additionalProperties")
        yield from _validate(schema.additional_properties, rules.additional, inner, costs)
    for name, each in rules.properties.items():
        inner = place.within(schema, map_entry_path(f"{at}.properties", name))
        yield from _validate(schema.properties[name], each, inner, costs)
    if rules.items is not None and schema.items is not None:
        # Items of lists other than maps have no key by which old and new items could be matched.
        inner = place.within(schema, f"{at}.items", uncorrelatable=schema.list_type != "map")
        yield from _validate(schema.items, rules.items, inner, costs)
    if schema.rules and rules.declared is None:
        why = "unable to convert structural schema to CEL declarations"
        text = f"internal error: failed to construct type information for {_RULES} rules: {why}"
        yield internal(f"{at}.{_RULES}", text)
    for index, rule in enumerate(rules.own):
        cardinality = place.cardinality if place.cardinality is not None else rules.cardinality_max
        yield from _validate_rule(rule, replace(place, at=f"{at}.{_RULES}[{index}]", cardinality=cardinality), costs)


def _validate_rule(rule: ValidationRule, place: _RulePosition, costs: _CostTotals) -> Iterator[FieldError]:
    at, raw = place.at, rule.raw
    if raw.get("fieldPath") and not rule.field:
        yield invalid(f"{at}.fieldPath", raw["fieldPath"], "must be a valid path")
    cost = _multiply(rule.compiled.estimate.max, place.cardinality) if rule.compiled.estimate else 0
    if cost > _RULE_COST_MAX and not costs.is_lenient:
        yield forbidden(f"{at}.rule", _budget_exceeded_text("estimated rule cost", cost, _RULE_COST_MAX))
    costs.add(f"{at}.rule", cost)
    if rule.error:
        yield invalid(f"{at}.rule", _to_internal(raw), rule.error)
        return
    yield from _validate_message(rule, at, costs)
    if not rule.uses_old_self:
        if "optionalOldSelf" in raw:
            text = "may not be set if oldSelf is not used in rule"
            yield invalid(f"{at}.optionalOldSelf", raw["optionalOldSelf"], text)
    elif place.uncorrelatable_path:
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelatable_path}"
        yield invalid(f"{at}.rule", raw["rule"], text)


def _validate_message(rule: ValidationRule, at: str, costs: _CostTotals) -> Iterator[FieldError]:
    if rule.message is None:
        return
    here = f"{at}.messageExpression"
    if rule.message_error:
        yield invalid(here, _to_internal(rule.raw), rule.message_error)
        return
    cost = rule.message.estimate.max if rule.message.estimate else 0
    if cost > _RULE_COST_MAX and not costs.is_lenient:
        yield forbidden(here, _budget_exceeded_text("estimated messageExpression cost", cost, _RULE_COST_MAX))
    costs.add(here, cost)


def _to_internal(rule: ReadOnlyObject) -> dict[str, Any]:
    """Return a rule as Go prints it in errors."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
