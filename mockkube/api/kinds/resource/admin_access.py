"""Authorize admin access to devices, which needs a label on the namespace."""

# upstream 1.36: pkg/registry/resource/utils.go
from mockkube.api.fields import FieldError, forbidden, internal
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.strategy import StrategyContext

_ADMIN_ACCESS_LABEL = "resource.kubernetes.io/admin-access"


def authorize_requests(devices: ReadOnlyObject, namespace: str, context: StrategyContext) -> list[FieldError]:
    """Authorize the device requests of a new claim or claim template."""
    for index, request in enumerate(devices.get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            # Upstream's path has no `exactly`, and for templates not the outer `spec`.
            return _authorize(f"spec.devices.requests[{index}].adminAccess", namespace, context)
    return []


def authorize_allocation(
    new: ReadOnlyObject, old: ReadOnlyObject, namespace: str, context: StrategyContext
) -> list[FieldError]:
    """Authorize the allocation of a changed claim status; what was granted before stays."""
    if _find_granted_path(old) is not None or (at := _find_granted_path(new)) is None:
        return []
    return _authorize(at, namespace, context)


def _find_granted_path(status: ReadOnlyObject) -> str | None:
    devices = (status.get("allocation") or {}).get("devices") or {}
    for index, result in enumerate(devices.get("results") or ()):
        if result.get("adminAccess"):
            return f"status.allocation.devices.results[{index}].adminAccess"
    return None


def _authorize(at: str, namespace: str, context: StrategyContext) -> list[FieldError]:
    labels = context.namespace_labels(namespace)
    if labels is None:
        why = f'could not retrieve namespace to verify admin access: namespaces "{namespace}" not found'
        return [internal(at, why)]
    if labels.get(_ADMIN_ACCESS_LABEL) == "true":
        return []
    return [
        forbidden(
            at, f"admin access to devices requires the `{_ADMIN_ACCESS_LABEL}: true` label on the containing namespace"
        )
    ]
