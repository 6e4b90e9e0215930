"""Validation of resource names in quotas, limit ranges and autoscalers."""

from typing import Final

from mockkube.api.fields import FieldError, invalid
from mockkube.api.kinds.core.pod.containers.resources import (
    HUGE_PAGES_PREFIX,
    is_extended_resource,
    is_native_resource,
    is_standard_resource,
    validate_resource_name,
)

_CONTAINER: Final = ("cpu", "memory", "ephemeral-storage")


def is_standard_quota_resource(name: str) -> bool:
    """Return whether the name is a standard resource of quotas."""
    return name != "storage" and is_standard_resource(name)


def validate_container_resource_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a resource that a container may request."""
    if name in _CONTAINER:
        return []
    errors = validate_resource_name(name, at)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES_PREFIX):
            errors.append(invalid(at, name, "must be a standard resource for containers"))
    elif not is_native_resource(name) and not is_extended_resource(name):
        errors.append(invalid(at, name, "doesn't follow extended resource name standard"))
    return errors


def validate_quota_resource_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a resource that a quota may count."""
    errors = validate_resource_name(name, at)
    if "/" not in name and not is_standard_quota_resource(name):
        errors.append(invalid(at, name, "must be a standard resource for quota"))
    return errors
