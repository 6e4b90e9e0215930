"""LimitRange: least, most and usual amounts per pod, container or claim."""

from dataclasses import dataclass
from math import inf, nan
from typing import Final

from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, keyed, required
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.pod.containers.resources import allows_overcommit, validate_resource_name
from mockkube.api.quantity import Quantity, parse
from mockkube.api.resource_lists import round_up
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.formats import qualified
from mockkube.api.validation.resource_names import validate_container_name
from mockkube.features.capabilities import Capabilities


def default_limit_range(limit_range: Object, caps: Capabilities) -> None:
    """Derive container defaults from their bounds."""
    for item in limit_range.get("spec", {}).get("limits") or ():
        if item.get("type") == "Container":
            _default_container_limits(item)
        for amounts in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_up(item.get(amounts))


def _default_container_limits(item: Object) -> None:
    limits = item.get("max", {}) | item.get("default", {})
    requests = item.get("min", {}) | limits | item.get("defaultRequest", {})
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_MILLI_MAX: Final = (2**63 - 1) // 1000


class LimitRangeStrategy(Strategy):
    """Limits; a PUT may create them."""

    allow_create_on_update = True

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Name what has no name."""
        super().prepare_create(obj, judge)
        if not obj["metadata"].get("name"):
            obj["metadata"]["name"] = obj["metadata"]["uid"]

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge each limit, and that no type occurs twice."""
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

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge the new limits as on creation."""
        return self.validate_create(new, judge)


def _validate_type(kind: str, at: str) -> list[FieldError]:
    errors = qualified(kind, at)
    if not errors and "/" not in kind and kind not in _TYPES:
        return [invalid(at, kind, "must be a standard limit type or fully qualified")]
    return errors


def _validate_limit(limit: ReadOnlyObject, kind: str, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    judged = ["max", "min"]
    if kind == "Pod":
        detail = "may not be specified when `type` is 'Pod'"
        errors += [forbidden(f"{at}.{name}", detail) for name in ("default", "defaultRequest") if limit.get(name)]
    else:
        judged += ["default", "defaultRequest"]
    judged.append("maxLimitRequestRatio")
    named = {name: limit.get(name) or {} for name in judged}
    rule = validate_container_name if kind in ("Pod", "Container") else validate_resource_name
    errors += [error for name in judged for key in named[name] for error in rule(key, keyed(f"{at}.{name}", key))]
    if kind == "PersistentVolumeClaim" and "storage" not in named["min"] and "storage" not in named["max"]:
        detail = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{at}.limits", detail))
    for key in sorted({key for amounts in named.values() for key in amounts}):
        errors += _validate_amounts({name: parse(named[name][key]) for name in judged if key in named[name]}, key, at)
    return errors


def _validate_amounts(amounts: dict[str, Quantity], key: str, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for rule in _ORDER:
        low, high = amounts.get(rule.low), amounts.get(rule.high)
        if low is not None and high is not None and low > high:
            detail = f"{rule.low_text} value {low} is greater than {rule.high_text} value {high}"
            errors.append(invalid(keyed(f"{at}.{rule.blamed}", key), str(amounts[rule.shown]), detail))
    return errors + _validate_ratio(amounts, key, at) + _validate_overcommit(amounts, key, at)


@dataclass(frozen=True, slots=True)
class _Order:
    """Two amounts of which the first may not exceed the second: how they are called, which is blamed and shown."""

    low: str
    high: str
    low_text: str
    high_text: str
    blamed: str
    shown: str


_ORDER: Final = (
    _Order("min", "max", "min", "max", "min", "min"),
    _Order("min", "defaultRequest", "min", "default request", "defaultRequest", "defaultRequest"),
    _Order("defaultRequest", "max", "default request", "max", "defaultRequest", "defaultRequest"),
    _Order("defaultRequest", "default", "default request", "default limit", "defaultRequest", "defaultRequest"),
    _Order("min", "default", "min", "default", "default", "min"),
    _Order("default", "max", "default", "max", "default", "max"),
)


def _validate_ratio(amounts: dict[str, Quantity], key: str, at: str) -> list[FieldError]:
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return []
    at = keyed(f"{at}.maxLimitRequestRatio", key)
    errors = [invalid(at, str(ratio), f"ratio {ratio} is less than 1")] if ratio.amount < 1 else []
    least, most = amounts.get("min"), amounts.get("max")
    if least is None or most is None:
        return errors
    if max(ratio.value(), least.value(), most.value()) < _MILLI_MAX:
        bound, top, bottom = ratio.milli() / 1000, most.milli(), least.milli()
    else:
        bound, top, bottom = float(ratio.value()), most.value(), least.value()
    share = top / bottom if bottom else (inf if top else nan)
    if bound > share:
        shown = "+Inf" if share == inf else f"{share:f}"
        errors.append(invalid(at, str(ratio), f"ratio {ratio} is greater than max/min = {shown}"))
    return errors


def _validate_overcommit(amounts: dict[str, Quantity], key: str, at: str) -> list[FieldError]:
    usual, asked = amounts.get("default"), amounts.get("defaultRequest")
    if allows_overcommit(key) or usual is None or asked is None or usual == asked:
        return []
    detail = f"default value {usual} must equal to defaultRequest value {asked} in {key}"
    return [invalid(keyed(f"{at}.defaultRequest", key), str(asked), detail)]


KIND: Final = Kind(
    "",
    "LimitRange",
    "limitranges",
    short_names=("limits",),
    strategy=lambda _: LimitRangeStrategy(),
    defaults={"v1": default_limit_range},
)
