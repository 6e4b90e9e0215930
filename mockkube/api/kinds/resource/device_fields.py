"""Validate lists, sets, maps, names and parameters that kinds of resource.k8s.io share.

upstream 1.36: pkg/apis/resource/validation/validation.go
"""

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from mockkube.api import names
from mockkube.api.fields import (
    FieldError,
    duplicate,
    find_duplicate_indexes,
    invalid,
    map_entry_path,
    not_supported,
    required,
    too_long,
    too_many,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.validation.formats import validate_csi_driver_name
from mockkube.api.validation.labels import validate_label_name

ItemCheck = Callable[[Any, str], list[FieldError]]

DOMAIN_LENGTH_MAX: Final = 63
IDENTIFIER_LENGTH_MAX: Final = 32
PARAMETERS_BYTES_MAX: Final = 10 * 1024
BINDING_CONDITIONS_MAX: Final = 4
DEVICE_TAINT_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_UUID: Final = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def validate_items(items: Sequence[Any] | None, at: str, check: ItemCheck, *, items_max: int = -1) -> list[FieldError]:
    """Validate each item; the items of a list that is too long are skipped."""
    items = items or ()
    if 0 <= items_max < len(items):
        return [too_many(at, len(items), items_max)]
    return [error for index, item in enumerate(items) for error in check(item, f"{at}[{index}]")]


def validate_set(
    items: Sequence[Any] | None,
    at: str,
    check: ItemCheck,
    *,
    key: Callable[[Any], Hashable] = lambda item: item,
    form: Callable[[Any], Any] | None = None,
    items_max: int = -1,
) -> list[FieldError]:
    """Validate each item and that keys are unique; `form` is how a duplicate is printed."""
    items = items or ()
    errors = validate_items(items, at, check, items_max=items_max)
    if 0 <= items_max < len(items):
        return errors
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        name = key(item)
        if name in seen:
            errors.append(duplicate(f"{at}[{index}]", form(item) if form else name))
        seen.add(name)
    return errors


def validate_map(
    items: Mapping[str, Any] | None,
    at: str,
    key: ItemCheck,
    check: ItemCheck,
    *,
    items_max: int = -1,
    key_length_max: int,
) -> list[FieldError]:
    """Validate each key and value; the entries of a map that is too large are skipped."""
    items = items or {}
    if 0 <= items_max < len(items):
        return [too_many(at, len(items), items_max)]
    errors: list[FieldError] = []
    for name, item in items.items():
        errors += key(name, at)
        errors += check(item, map_entry_path(at, _shorten_key(name, key_length_max)))
    return errors


def name_key(item: ReadOnlyObject) -> str:
    """Return the name of an item as its key in a set."""
    return str(item.get("name", ""))


def validate_pool_name(name: str, at: str) -> list[FieldError]:
    """Validate a pool name: DNS subdomains joined by slashes."""
    if not name:
        return [required(at)]
    errors = [too_long(at, names.SUBDOMAIN_LENGTH_MAX)] if names.byte_length(name) > names.SUBDOMAIN_LENGTH_MAX else []
    return errors + [invalid(at, part, text) for part in name.split("/") for text in names.check_dns_subdomain(part)]


def validate_uid(uid: str, at: str) -> list[FieldError]:
    """Validate a UUID: 36 characters in lower case."""
    message = _find_uid_error(uid)
    if message:
        return [invalid(at, uid, f"error validating uid: {message}")]
    if len(uid) != 36 or uid != uid.lower():
        detail = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase "
        return [invalid(at, uid, f"{detail}hexadecimal characters")]
    return []


def _find_uid_error(uid: str) -> str | None:
    uuid = uid
    # Go's UUID parser accepts these four forms, told apart by length, and each has its own error. Only the canonical
    # form passes the check that follows.
    match len(uid):
        case 36:
            pass
        case 45:
            if uid[:9].lower() != "urn:uuid:":
                return f'invalid urn prefix: "{uid[:9]}"'
            uuid = uid[9:]
        case 38:
            if uid[0] != "{" or uid[-1] != "}":
                return "invalid bracketed UUID format"
            uuid = uid[1:-1]
        case 32:
            return None if re.fullmatch("[0-9a-fA-F]{32}", uid) else "invalid UUID format"
        case length:
            return f"invalid UUID length: {length}"
    return None if _UUID.fullmatch(uuid) else "invalid UUID format"


def validate_attribute_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of an attribute or capacity: an identifier with an optional domain."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        return _validate_identifier(name, at)
    # Upstream handles names of one and two parts only, so that a name with more slashes is not validated.
    if "/" in identifier:
        return []
    errors = validate_csi_driver_name(domain, at) if domain else [invalid(at, "", "the domain must not be empty")]
    if not identifier:
        return [*errors, invalid(at, "", "the name must not be empty")]
    return errors + _validate_identifier(identifier, at)


def validate_qualified_attribute(name: str, at: str) -> list[FieldError]:
    """Validate the name of an attribute that must have a domain."""
    errors = validate_attribute_name(name, at)
    if "/" not in name:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(at, name, detail))
    return errors


def _validate_identifier(name: str, at: str) -> list[FieldError]:
    errors = [too_long(at, IDENTIFIER_LENGTH_MAX)] if names.byte_length(name) > IDENTIFIER_LENGTH_MAX else []
    return errors + [invalid(at, name, text) for text in names.check_c_identifier(name)]


def validate_raw_object(value: Any, at: str, *, stored: bool = False) -> list[FieldError]:
    """Validate opaque parameters: a JSON object, limited in size unless it is stored already."""
    if value is None:
        return [required(at)]
    if not stored and len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()) > PARAMETERS_BYTES_MAX:
        return [too_long(at, PARAMETERS_BYTES_MAX)]
    return [] if isinstance(value, dict) else [invalid(at, "<value omitted>", "must be a valid JSON object")]


def validate_configuration(config: ReadOnlyObject, at: str, *, stored: bool = False) -> list[FieldError]:
    """Validate a device configuration: opaque parameters for a driver."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{at}.opaque")]
    errors = validate_csi_driver_name(opaque.get("driver", ""), f"{at}.opaque.driver")
    return errors + validate_raw_object(opaque.get("parameters"), f"{at}.opaque.parameters", stored=stored)


def validate_taint(taint: ReadOnlyObject, at: str, *, old_effect: str | None = None) -> list[FieldError]:
    """Validate a device taint; a stored effect stays valid."""
    errors = validate_label_name(taint.get("key", ""), f"{at}.key")
    errors += [invalid(f"{at}.value", taint["value"], text) for text in names.check_label_value(taint.get("value", ""))]
    effect = taint.get("effect", "")
    if effect != old_effect:
        if not effect:
            errors.append(required(f"{at}.effect"))
        elif effect not in DEVICE_TAINT_EFFECTS:
            errors.append(not_supported(f"{at}.effect", effect, DEVICE_TAINT_EFFECTS))
    return errors


def validate_binding_conditions(holder: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate binding conditions and binding failure conditions."""
    # upstream 1.36: pkg/apis/resource/validation/validation.go, validateDeviceBindingParameters
    success, failure = holder.get("bindingConditions") or [], holder.get("bindingFailureConditions") or []
    success_at, failure_at = f"{at}.bindingConditions", f"{at}.bindingFailureConditions"
    errors = validate_items(success, success_at, validate_label_name, items_max=BINDING_CONDITIONS_MAX)
    errors += validate_items(failure, failure_at, validate_label_name, items_max=BINDING_CONDITIONS_MAX)
    errors += [duplicate(f"{success_at}[{index}]", success[index]) for index in sorted(find_duplicate_indexes(success))]
    repeated, known = find_duplicate_indexes(failure), set(success)
    for index, each in enumerate(failure):
        if index in repeated:
            errors.append(duplicate(f"{failure_at}[{index}]", each))
        if each in known:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            errors.append(invalid(f"{failure_at}[{index}]", each, detail))
    if failure and not success:
        errors.append(invalid(success_at, None, "bindingConditions are required to use bindingFailureConditions"))
    if success and not failure:
        errors.append(invalid(failure_at, None, "bindingFailureConditions are required to use bindingConditions"))
    return errors


def drop_fields(items: Sequence[Object] | None, *fields: str) -> None:
    """Remove fields from each item."""
    for item in items or ():
        for name in fields:
            item.pop(name, None)


def _shorten_key(key: str, length_max: int) -> str:
    if len(key) <= length_max:
        return key
    rest = length_max - len("...")
    return f"{key[: (rest + 1) // 2]}...{key[len(key) - rest // 2 :]}"
