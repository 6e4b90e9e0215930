"""LimitRange: strategy, defaults and validation.

upstream 1.36: pkg/apis/core/validation/validation.go, ValidateLimitRange
"""

from math import inf, nan
from typing import Final

from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, map_entry_path, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.pod.containers.resources import is_overcommit_allowed, validate_resource_name
from mockkube.api.kinds.core.resource_names import validate_container_resource_name
from mockkube.api.quantities.quantity import Quantity, parse
from mockkube.api.quantities.rounding import round_up_resource_list
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_qualified_name
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass


def default_limit_range(limit_range: Object, caps: Capabilities) -> None:
    """Default the limits and requests of containers from max and min."""
    for item in limit_range.get("spec", {}).get("limits") or ():
        if item.get("type") == "Container":
            _default_container_limits(item)
        for amounts in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_up_resource_list(item.get(amounts))


def _default_container_limits(item: Object) -> None:
    limits = item.get("max", {}) | item.get("default", {})
    requests = item.get("min", {}) | limits | item.get("defaultRequest", {})
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_MILLI_SAFE_MAX: Final = (2**63 - 1) // 1000


class LimitRangeStrategy(Strategy):
    """Strategy of LimitRange; a PUT may create it."""

    allow_create_on_update = True

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Name a LimitRange without a name after its uid."""
        super().prepare_for_create(obj, context)
        if not obj["metadata"].get("name"):
            obj["metadata"]["name"] = obj["metadata"]["uid"]

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate each limit, and that no type occurs twice."""
        errors: list[FieldError] = []
        seen: set[str] = set()
        for index, limit in enumerate((obj.get("spec") or {}).get("limits") or []):
            at, kind = f"spec.limits[{index}]", limit.get("type", "")
            errors += _validate_type(kind, f"{at}.type")
            if kind in seen:
                errors.append(duplicate(f"{at}.type", kind))
            seen.add(kind)
            errors += _validate_limit(limit, kind, at)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation."""
        return self.validate(new, context)


def _validate_type(kind: str, at: str) -> list[FieldError]:
    errors = validate_qualified_name(kind, at)
    if not errors and "/" not in kind and kind not in _TYPES:
        return [invalid(at, kind, "must be a standard limit type or fully qualified")]
    return errors


def _validate_limit(limit: ReadOnlyObject, kind: str, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    fields = ["max", "min"]
    if kind == "Pod":
        detail = "may not be specified when `type` is 'Pod'"
        errors += [forbidden(f"{at}.{name}", detail) for name in ("default", "defaultRequest") if limit.get(name)]
    else:
        fields += ["default", "defaultRequest"]
    fields.append("maxLimitRequestRatio")
    amounts_by_field = {name: limit.get(name) or {} for name in fields}
    rule = validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name
    errors += [
        error
        for name in fields
        for key in amounts_by_field[name]
        for error in rule(key, map_entry_path(f"{at}.{name}", key))
    ]
    if (
        kind == "PersistentVolumeClaim"
        and "storage" not in amounts_by_field["min"]
        and "storage" not in amounts_by_field["max"]
    ):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{at}.limits", detail))
    for key in sorted({key for amounts in amounts_by_field.values() for key in amounts}):
        errors += _validate_amounts(
            {name: parse(amounts_by_field[name][key]) for name in fields if key in amounts_by_field[name]}, key, at
        )
    return errors


def _validate_amounts(amounts: dict[str, Quantity], key: str, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for rule in _AMOUNT_ORDER:
        low, high = amounts.get(rule.low), amounts.get(rule.high)
        if low is not None and high is not None and low > high:
            detail = f"{rule.low_text} value {low} is greater than {rule.high_text} value {high}"
            errors.append(
                invalid(map_entry_path(f"{at}.{rule.error_field}", key), str(amounts[rule.error_value]), detail)
            )
    return errors + _validate_ratio(amounts, key, at) + _validate_overcommit(amounts, key, at)


@dataclass(frozen=True, slots=True)
class _AmountOrder:
    """Two amounts in ascending order, their names in the message, and the field and value it reports."""

    low: str
    high: str
    low_text: str
    high_text: str
    error_field: str
    error_value: str


# `min` above `default` is reported at `default` but with the value of `min`, as upstream does.
_AMOUNT_ORDER: Final = (
    _AmountOrder("min", "max", "min", "max", "min", "min"),
    _AmountOrder("min", "defaultRequest", "min", "default request", "defaultRequest", "defaultRequest"),
    _AmountOrder("defaultRequest", "max", "default request", "max", "defaultRequest", "defaultRequest"),
    _AmountOrder("defaultRequest", "default", "default request", "default limit", "defaultRequest", "defaultRequest"),
    _AmountOrder("min", "default", "min", "default", "default", "min"),
    _AmountOrder("default", "max", "default", "max", "default", "max"),
)


def _validate_ratio(amounts: dict[str, Quantity], key: str, at: str) -> list[FieldError]:
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return []
    at = map_entry_path(f"{at}.maxLimitRequestRatio", key)
    errors = [invalid(at, str(ratio), f"ratio {ratio} is less than 1")] if ratio.amount < 1 else []
    minimum, maximum = amounts.get("min"), amounts.get("max")
    if minimum is None or maximum is None:
        return errors
    # Upstream computes with milli-values where they fit in 64 bits, else with rounded values; the printed ratio depends
    # on that.
    if max(ratio.value(), minimum.value(), maximum.value()) < _MILLI_SAFE_MAX:
        bound, top, bottom = ratio.milli() / 1000, maximum.milli(), minimum.milli()
    else:
        bound, top, bottom = float(ratio.value()), maximum.value(), minimum.value()
    # Go's floats divide by zero: x/0 is +Inf, 0/0 is NaN, which compares false with everything.
    share = top / bottom if bottom else (inf if top else nan)
    if bound > share:
        shown = "+Inf" if share == inf else f"{share:f}"
        errors.append(invalid(at, str(ratio), f"ratio {ratio} is greater than max/min = {shown}"))
    return errors


def _validate_overcommit(amounts: dict[str, Quantity], key: str, at: str) -> list[FieldError]:
    limit, request = amounts.get("default"), amounts.get("defaultRequest")
    if is_overcommit_allowed(key) or limit is None or request is None or limit == request:
        return []
    detail = f"default value {limit} must equal to defaultRequest value {request} in {key}"
    return [invalid(map_entry_path(f"{at}.defaultRequest", key), str(request), detail)]


KIND: Final = Kind(
    "",
    "LimitRange",
    "limitranges",
    short_names=("limits",),
    strategy=lambda _: LimitRangeStrategy(),
    defaults={"v1": default_limit_range},
)
