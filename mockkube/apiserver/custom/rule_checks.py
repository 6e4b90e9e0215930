"""Validate the CEL rules and defaults in the schema of a CRD: they must compile, fit the schema, and be cheap."""

# upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
# apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mockkube.api.custom.correlation import same
from mockkube.api.custom.list_types import validate_lists
from mockkube.api.custom.metadata import validate_embedded
from mockkube.api.custom.pruning import prune_value
from mockkube.api.custom.schemas import SchemaReader
from mockkube.api.custom.structural import Structural, read
from mockkube.api.custom.validation import validate
from mockkube.api.fields import FieldError, forbidden, internal, invalid, map_entry_path
from mockkube.api.strategy import StrategyContext
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.custom import rule_verdicts
from mockkube.apiserver.custom.patterns import found_in
from mockkube.apiserver.custom.rules import Rule, Rules, compile_rules

_COST_MAX: Final = 10_000_000
_TOTAL_MAX: Final = 100_000_000
_LARGEST: Final = 2**64 - 1
_ADVICE: Final = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared"
)
_RULES: Final = "x-kubernetes-validations"


def custom_schema(
    schema: ReadOnlyObject, old: ReadOnlyObject | None, at: str, context: StrategyContext
) -> list[FieldError]:
    """Validate the rules and defaults of a schema that is otherwise well-formed."""
    structural = read(schema)
    defaults = list(_validate_defaults(structural, at, SchemaReader(context.caps.version, found_in)))
    # Rules are only validated if all defaults are valid, as upstream.
    if defaults:
        return defaults
    # A stored schema may exceed limits that are newer than it; an unchanged one is not rejected for its cost.
    costs = _Costs(lenient=old is not None and same(schema, old))
    rules = compile_rules(structural, whole=True)
    errors = list(_validate(structural, rules, _Place(at), costs)) if rules is not None else []
    return errors + costs.judge(at)


def _validate_defaults(schema: Structural, at: str, reader: SchemaReader) -> Iterator[FieldError]:
    if schema.default is not None:
        yield from _validate_default(schema, f"{at}.default", reader)
    if schema.items is not None:
        yield from _validate_defaults(schema.items, f"{at}.items", reader)
    for name, each in schema.properties.items():
        yield from _validate_defaults(each, map_entry_path(f"{at}.properties", name), reader)


def _validate_default(schema: Structural, at: str, reader: SchemaReader) -> Iterator[FieldError]:
    value = schema.default
    if not same(prune_value(value, schema), value):
        yield invalid(at, value, "must not have unknown fields")
    if errors := list(validate_embedded(value, schema, at)):
        yield from errors
        return
    if errors := validate(value, reader.read(schema.raw), root=at):
        yield from errors
        return
    yield from validate_lists(value, schema, at)
    rules = compile_rules(schema, whole=schema.embedded)
    # First as an update of the value to itself, which also evaluates transition rules.
    if errors := rule_verdicts.judge(rules, value, value, at=at).errors:
        yield from errors
    else:
        yield from rule_verdicts.judge(rules, value, at=at).errors


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of a schema: its path, the maximum number of its values, and where old and new cannot be correlated."""

    at: str
    cardinality: int | None = 1
    uncorrelatable: str = ""

    def within(self, schema: Structural, at: str, *, uncorrelatable: bool = False) -> "_Place":
        """Return the position of a schema within this one."""
        most = _elements_max(schema)
        known = self.cardinality is not None and most is not None
        path = self.uncorrelatable or (self.at if uncorrelatable else "")
        return _Place(at, _times(self.cardinality, most) if known else None, path)


def _elements_max(schema: Structural) -> int | None:
    """Return the maximum number of members in a value of the schema; None if unlimited."""
    if schema.type == "array":
        most = schema.raw.get("maxItems")
    elif schema.type == "object" and schema.keeps_additional:
        most = schema.raw.get("maxProperties")
    else:
        return 1
    return None if most is None else max(most, 0)


def _times(cost: int | None, count: int | None) -> int:
    return min((cost or 0) * (count or 0), _LARGEST)


@dataclass(slots=True)
class _Costs:
    """Estimated costs of the rules of one schema: their sum, and the most expensive rules."""

    lenient: bool
    total: int = 0
    dear: list[tuple[int, str]] = field(default_factory=list)

    def observe(self, at: str, cost: int) -> None:
        """Add the cost of a rule."""
        self.total = min(self.total + cost, _LARGEST)
        # upstream names up to four rules that contribute at least one percent.
        if cost >= _TOTAL_MAX // 100:
            self.dear = sorted([*self.dear, (cost, at)], key=lambda one: -one[0])[:4]

    def judge(self, at: str) -> list[FieldError]:
        """Return errors if the total cost is too high."""
        if self.total <= _TOTAL_MAX:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        name = f"{_RULES} estimated rule cost total for entire OpenAPIv3 schema"
        return [forbidden(where, text) for _, where in self.dear] + [
            forbidden(at, _excess(name, self.total, _TOTAL_MAX))
        ]


def _excess(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} ({_ADVICE})"


def _validate(schema: Structural, rules: Rules, place: _Place, costs: _Costs) -> Iterator[FieldError]:
    """Validate the rules within a schema, then its own, in upstream's order."""
    at = place.at
    if rules.additional is not None and schema.additional is not None:
        inner = place.within(schema, f"{at}.additionalProperties")
        yield from _validate(schema.additional, rules.additional, inner, costs)
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


def _validate_rule(rule: Rule, place: _Place, costs: _Costs) -> Iterator[FieldError]:
    at, raw = place.at, rule.raw
    if raw.get("fieldPath") and not rule.field:
        yield invalid(f"{at}.fieldPath", raw["fieldPath"], "must be a valid path")
    cost = _times(rule.compiled.estimate.max, place.cardinality) if rule.compiled.estimate else 0
    if cost > _COST_MAX and not costs.lenient:
        yield forbidden(f"{at}.rule", _excess("estimated rule cost", cost, _COST_MAX))
    costs.observe(f"{at}.rule", cost)
    if rule.error:
        yield invalid(f"{at}.rule", _form(raw), rule.error)
        return
    yield from _validate_message(rule, at, costs)
    if not rule.uses_old:
        if "optionalOldSelf" in raw:
            text = "may not be set if oldSelf is not used in rule"
            yield invalid(f"{at}.optionalOldSelf", raw["optionalOldSelf"], text)
    elif place.uncorrelatable:
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelatable}"
        yield invalid(f"{at}.rule", raw["rule"], text)


def _validate_message(rule: Rule, at: str, costs: _Costs) -> Iterator[FieldError]:
    if rule.message is None:
        return
    here = f"{at}.messageExpression"
    if rule.message_error:
        yield invalid(here, _form(rule.raw), rule.message_error)
        return
    cost = rule.message.estimate.max if rule.message.estimate else 0
    if cost > _COST_MAX and not costs.lenient:
        yield forbidden(here, _excess("estimated messageExpression cost", cost, _COST_MAX))
    costs.observe(here, cost)


def _form(rule: ReadOnlyObject) -> dict[str, Any]:
    """Return a rule as Go prints it in errors."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
