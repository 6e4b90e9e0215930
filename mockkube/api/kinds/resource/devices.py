"""Validate devices of ResourceSlices."""

import re
from typing import Any, Final

from mockkube.api.fields import FieldError, invalid, not_found, required, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.resources import is_native_resource
from mockkube.api.kinds.resource.device_capacity import validate_exclusive_capacity, validate_shared_capacity
from mockkube.api.kinds.resource.device_fields import (
    DOMAIN_LENGTH_MAX,
    IDENTIFIER_LENGTH_MAX,
    validate_attribute_name,
    validate_binding_conditions,
    validate_items,
    validate_map,
    validate_set,
    validate_taint,
)
from mockkube.api.kinds.resource.device_forms import ATTRIBUTE
from mockkube.api.quantities.quantity import parse
from mockkube.api.validation.formats import validate_label, validate_subdomain
from mockkube.api.validation.internal_form import to_internal
from mockkube.api.validation.node_selector import NodeSelectorOptions, validate_node_selector

ATTRIBUTES_AND_CAPACITIES_MAX: Final = 32
ATTRIBUTE_VALUES_MAX: Final = 48
TAINTS_MAX: Final = 16
ATTRIBUTE_VALUE_BYTES_MAX: Final = 64
CONSUMED_COUNTER_SETS_MAX: Final = 2
COUNTERS_MAX: Final = 32
COMPATIBILITY_GROUPS_MAX: Final = 2
LABEL_LENGTH_MAX: Final = 63
LIST_ATTRIBUTES: Final = ("bools", "ints", "strings", "versions")
_KEY_LENGTH_MAX: Final = DOMAIN_LENGTH_MAX + 1 + IDENTIFIER_LENGTH_MAX
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRERELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)
_PER_DEVICE_DETAIL: Final = "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
_ONE_OF_DETAIL: Final = (
    f"exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when {_PER_DEVICE_DETAIL}"
)


def validate_device(
    device: ReadOnlyObject, old: ReadOnlyObject | None, at: str, *, per_device: bool
) -> list[FieldError]:
    """Validate a device; stored taints stay valid."""
    # upstream 1.36: pkg/apis/resource/validation/validation.go, validateDevice
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    errors = validate_label(device.get("name", ""), f"{at}.name")
    if len(attributes) + len(capacity) > ATTRIBUTES_AND_CAPACITIES_MAX:
        detail = f"the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}"
        errors.append(invalid(at, len(attributes) + len(capacity), detail))
    # Lists of attributes make the number of entries a poor measure of a device's size, so values are limited, too.
    values = sum(map(_count_values, attributes.values()))
    if values > ATTRIBUTE_VALUES_MAX:
        detail = f"the total number of attribute values must not exceed {ATTRIBUTE_VALUES_MAX}"
        errors.append(invalid(at, values, detail))
    keys: dict[str, Any] = {"key": validate_attribute_name, "key_length_max": _KEY_LENGTH_MAX}
    errors += validate_map(attributes, f"{at}.attributes", check=_validate_attribute, **keys)
    shared = device.get("allowMultipleAllocations")
    check = validate_shared_capacity if shared else validate_exclusive_capacity
    errors += validate_map(capacity, f"{at}.capacity", check=check, **keys)
    # Drivers write slices in the version they know: effects of a later version must survive updates of an older server.
    if old is None or old.get("taints") != device.get("taints"):
        errors += validate_items(device.get("taints"), f"{at}.taints", validate_taint, items_max=TAINTS_MAX)
    errors += validate_set(
        device.get("consumesCounters"),
        f"{at}.consumesCounters",
        _validate_consumed_counters,
        key=lambda each: each.get("counterSet", ""),
        items_max=CONSUMED_COUNTER_SETS_MAX,
    )
    errors += _validate_node_selection(device, at, per_device=per_device)
    errors += validate_binding_conditions(device, at)
    return errors + _validate_resource_mappings(device, at)


def validate_counters(holder: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate named counters; at least one is required."""
    counters = holder.get("counters")
    if not counters:
        return [required(f"{at}.counters")]
    return validate_map(
        counters,
        f"{at}.counters",
        validate_label,
        lambda counter, here: [],
        items_max=COUNTERS_MAX,
        key_length_max=LABEL_LENGTH_MAX,
    )


def _validate_consumed_counters(consumption: ReadOnlyObject, at: str) -> list[FieldError]:
    name = consumption.get("counterSet", "")
    errors = validate_label(name, f"{at}.counterSet") if name else [required(f"{at}.counterSet")]
    errors += validate_counters(consumption, at)
    groups = consumption.get("compatibilityGroups")
    return errors + validate_set(
        groups, f"{at}.compatibilityGroups", validate_label, items_max=COMPATIBILITY_GROUPS_MAX
    )


def _count_values(attribute: ReadOnlyObject) -> int:
    return sum(len(attribute.get(name) or ()) for name in LIST_ATTRIBUTES) or 1


def _validate_attribute(attribute: ReadOnlyObject, at: str) -> list[FieldError]:
    given = [name for name in ("bool", "int", "string", "version", *LIST_ATTRIBUTES) if attribute.get(name) is not None]
    errors: list[FieldError] = []
    for name in given:
        value = attribute[name]
        match name:
            case "string":
                errors += _validate_text_length(value, f"{at}.string")
            case "version":
                errors += _validate_version(value, f"{at}.version")
            case "strings":
                errors += validate_items(value, f"{at}.strings", _validate_text_length)
            case "versions":
                errors += validate_items(value, f"{at}.versions", _validate_version)
    if len(given) == 1:
        return errors
    shown = to_internal(attribute, ATTRIBUTE) if given else ""
    return [*errors, invalid(at, shown, "exactly one value must be specified")]


def _validate_text_length(text: str, at: str) -> list[FieldError]:
    return [too_long(at, ATTRIBUTE_VALUE_BYTES_MAX)] if len(text.encode()) > ATTRIBUTE_VALUE_BYTES_MAX else []


def _validate_version(text: str, at: str) -> list[FieldError]:
    detail = "must be a string compatible with semver.org spec 2.0.0"
    errors = [] if _SEMVER.fullmatch(text) else [invalid(at, text, detail)]
    return errors + _validate_text_length(text, at)


def _validate_node_selection(device: ReadOnlyObject, at: str, *, per_device: bool) -> list[FieldError]:
    node, selector, all_nodes = device.get("nodeName"), device.get("nodeSelector"), device.get("allNodes")
    # Node selection is made once, for the whole slice, unless the slice leaves it to each device.
    if not per_device:
        if node is None and selector is None and all_nodes is None:
            return []
        detail = f"`nodeName`, `nodeSelector` and `allNodes` can only be set if {_PER_DEVICE_DETAIL}"
        return [invalid(at, None, detail)]
    errors: list[FieldError] = []
    if node is not None:
        errors += (
            validate_subdomain(node, f"{at}.nodeName")
            if node
            else [invalid(f"{at}.nodeName", node, "must not be empty")]
        )
    if selector is not None:
        errors += validate_node_selector(selector, f"{at}.nodeSelector", NodeSelectorOptions())
    if all_nodes is False:
        errors.append(invalid(f"{at}.allNodes", False, "must be either unset or set to true"))
    is_set = {"nodeName": bool(node), "nodeSelector": selector is not None, "allNodes": bool(all_nodes)}
    given = [f"`{name}`" for name, value in is_set.items() if value]
    if not given:
        errors.append(required(at, _ONE_OF_DETAIL))
    elif len(given) > 1:
        errors.append(invalid(at, f"{{{', '.join(given)}}}", _ONE_OF_DETAIL))
    return errors


def _validate_resource_mappings(device: ReadOnlyObject, at: str) -> list[FieldError]:
    capacity = device.get("capacity") or {}
    errors: list[FieldError] = []
    for resource, mapping in (device.get("nodeAllocatableResourceMappings") or {}).items():
        here = f"{at}.nodeAllocatableResourceMappings[{resource}]"
        factor, key = mapping.get("allocationMultiplier"), mapping.get("capacityKey")
        if not is_native_resource(resource):
            errors.append(invalid(here, resource, "must be a node allocatable resource name"))
        if factor is None and key is None:
            errors.append(invalid(here, "", "at least one of allocationMultiplier or capacityKey must be set"))
        if factor is not None and parse(factor).sign <= 0:
            errors.append(invalid(f"{here}.allocationMultiplier", factor, "must be positive"))
        if key == "":
            errors.append(invalid(f"{here}.capacityKey", "", "capacityKey must not be an empty string"))
        elif key is not None and key not in capacity:
            errors.append(not_found(f"{here}.capacityKey", key))
    return errors
