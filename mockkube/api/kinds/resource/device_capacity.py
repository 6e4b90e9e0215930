"""Validate request policies of consumable device capacity."""

from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.resource.device_fields import validate_set
from mockkube.api.quantities.quantity import Quantity, parse

VALID_VALUES_MAX: Final = 10


def validate_exclusive_capacity(capacity: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject a request policy for a device that cannot be shared."""
    if capacity.get("requestPolicy") is None:
        return []
    return [forbidden(f"{at}.requestPolicy", "allowMultipleAllocations must be true")]


def validate_shared_capacity(capacity: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the request policy for the capacity of a shareable device."""
    policy, at = capacity.get("requestPolicy") or {}, f"{at}.requestPolicy"
    values, bounds = policy.get("validValues"), policy.get("validRange")
    if values and bounds is not None:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(at, detail)]
    if not values and bounds is None:
        return []
    if policy.get("default") is None:
        return [required(f"{at}.default", f"required when {'validValues' if values else 'validRange'} is defined")]
    default, capacity_value = parse(policy["default"]), parse(capacity.get("value", "0"))
    if values:
        return _validate_values([parse(value) for value in values], default, capacity_value, f"{at}.validValues")
    return _validate_range(bounds or {}, default, capacity_value, f"{at}.validRange")


def _validate_values(values: list[Quantity], usual: Quantity, most: Quantity, at: str) -> list[FieldError]:
    unsorted = [index for index in range(1, len(values)) if values[index - 1] > values[index]]
    detail = "values must be sorted in ascending order"
    errors = [invalid(f"{at}[{index}]", str(values[index]), detail) for index in unsorted]

    def validate_value(value: Quantity, here: str) -> list[FieldError]:
        too_large = f"option is larger than capacity value: {most}"
        return [invalid(here, str(value), too_large)] if value > most else []

    errors += validate_set(values, at, validate_value, key=lambda value: str(value.value()), items_max=VALID_VALUES_MAX)
    if len(values) > VALID_VALUES_MAX or usual not in values:
        errors.append(invalid(at, str(usual), "default value is not valid according to the requestPolicy"))
    return errors


def _validate_range(bounds: ReadOnlyObject, usual: Quantity, most: Quantity, at: str) -> list[FieldError]:
    if bounds.get("min") is None:
        return [required(f"{at}.min", "required when validRange is defined")]
    low = parse(bounds["min"])
    high, step = (parse(bounds[name]) if bounds.get(name) is not None else None for name in ("max", "step"))
    errors = []
    if low > most:
        errors.append(invalid(f"{at}.min", str(low), f"min is larger than capacity value: {most}"))
    if usual < low:
        errors.append(invalid(f"{at}.min", str(usual), f"default is less than min: {low}"))
    if high is not None:
        if low > high:
            # Upstream prints the lower amount at the path of the upper bound.
            errors.append(invalid(f"{at}.max", str(low), f"min is larger than max: {high}"))
        if high > most:
            errors.append(invalid(f"{at}.max", str(high), f"max is larger than capacity value: {most}"))
        if usual > high:
            errors.append(invalid(f"{at}.max", str(usual), f"default is more than max: {high}"))
    if step is not None:
        first = low + step
        if first > most:
            detail = f"one step {first} is larger than capacity value: {most}"
            errors.append(invalid(f"{at}.step", str(step), detail))
        stepped = [usual] if high is None else [usual, high]
        detail = f"value is not a multiple of a given step ({step}) from ({low})"
        errors += [invalid(f"{at}.step", str(value), detail) for value in stepped if _is_off_step(value, low, step)]
    return errors


def _is_off_step(value: Quantity, low: Quantity, step: Quantity) -> bool:
    # Upstream computes with rounded integers here, and Python would raise for a step of zero.
    return bool(step.value()) and (value.value() - low.value()) % step.value() != 0
