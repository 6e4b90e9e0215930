"""Validation of the form of text fields."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, not_supported, required, too_long


def validate_format(value: str, at: str, rule: Callable[[str], list[str]]) -> list[FieldError]:
    """Return the errors of `rule` about a value as field errors."""
    return [invalid(at, value, message) for message in rule(value)]


def validate_label(value: str, at: str) -> list[FieldError]:
    """Validate a DNS label."""
    return validate_format(value, at, names.check_dns_label)


def validate_subdomain(value: str, at: str) -> list[FieldError]:
    """Validate a DNS subdomain."""
    return validate_format(value, at, names.check_dns_subdomain)


def validate_qualified_name(value: str, at: str) -> list[FieldError]:
    """Validate a qualified name."""
    return validate_format(value, at, names.check_qualified_name)


def validate_one_of(value: str | None, at: str, supported: Collection[str]) -> list[FieldError]:
    """Validate a value that must be one of the supported ones, which errors show in that order."""
    return [] if value in supported else [not_supported(at, value or "", supported)]


def validate_required_one_of(value: str | None, at: str, supported: Collection[str]) -> list[FieldError]:
    """Validate a required value that must be one of the supported ones."""
    return validate_one_of(value, at, supported) if value else [required(at)]


def validate_immutable_field(
    new: Mapping[str, Any], old: Mapping[str, Any], name: str, at: str = ""
) -> list[FieldError]:
    """Reject a change of a field; `at` is the path of the object that has it."""
    value = new.get(name)
    if value == old.get(name):
        return []
    return [invalid(f"{at}.{name}" if at else name, value, "field is immutable")]


def sort_labels(labels: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return a map in the order in which Go prints it; None if it is empty."""
    return dict(sorted(labels.items())) if labels else None


_DRIVER_BYTES_MAX: Final = 63
_URL_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_URL_PATH_FORM: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def validate_domain_prefixed_path(value: str, at: str) -> list[FieldError]:
    """Validate a path of the form `domain/path`."""
    if not value:
        return [required(at)]
    host, _, path = value.partition("/")
    if not host or not path:
        return [invalid(at, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(at, host, message) for message in names.check_dns_subdomain(host)]
    if not _URL_PATH.fullmatch(path):
        errors.append(invalid(at, path, names.format_regex_error("Invalid path", _URL_PATH_FORM)))
    return errors


def validate_csi_driver_name(value: str, at: str) -> list[FieldError]:
    """Validate the name of a CSI driver; uppercase letters are allowed."""
    if not value:
        return [required(at)]
    errors = [too_long(at, _DRIVER_BYTES_MAX)] if names.byte_length(value) > _DRIVER_BYTES_MAX else []
    return errors + [invalid(at, value, message) for message in names.check_dns_subdomain(value.lower())]
