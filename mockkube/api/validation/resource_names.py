"""Validation of resource names in quotas, limit ranges and autoscalers."""

from typing import Final

from mockkube.api.fields import FieldError, invalid
from mockkube.api.kinds.core.pod.containers.resources import (
    HUGE_PAGES,
    is_extended,
    is_native,
    is_standard,
    validate_resource_name,
)

_CONTAINER: Final = ("cpu", "memory", "ephemeral-storage")


def is_quota(name: str) -> bool:
    """Return whether the name is a standard resource of quotas."""
    return name != "storage" and is_standard(name)


def validate_container_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a resource that a container may request."""
    if name in _CONTAINER:
        return []
    errors = validate_resource_name(name, at)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES):
            errors.append(invalid(at, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(at, name, "doesn't follow extended resource name standard"))
    return errors


def validate_quota_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a resource that a quota may count."""
    errors = validate_resource_name(name, at)
    if "/" not in name and not is_quota(name):
        errors.append(invalid(at, name, "must be a standard resource for quota"))
    return errors
