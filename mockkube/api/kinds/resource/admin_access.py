"""Access to devices as an administrator: only in namespaces that are labelled for it."""

# upstream 1.36: pkg/registry/resource/utils.go
from mockkube.api.fields import FieldError, forbidden, internal
from mockkube.api.strategy import Judge
from mockkube.api.types import ReadOnlyObject

_LABEL = "resource.kubernetes.io/admin-access"


def judge_requests(devices: ReadOnlyObject, namespace: str, judge: Judge) -> list[FieldError]:
    """Validate what a new claim, or the claims of a new template, ask for."""
    for index, request in enumerate(devices.get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            # as upstream: without `exactly`, and in a template without the spec around the claim's
            return _judge(f"spec.devices.requests[{index}].adminAccess", namespace, judge)
    return []


def judge_results(new: ReadOnlyObject, old: ReadOnlyObject, namespace: str, judge: Judge) -> list[FieldError]:
    """Validate what a changed status of a claim allocates; what was granted before stays granted."""
    if _granted(old) is not None or (at := _granted(new)) is None:
        return []
    return _judge(at, namespace, judge)


def _granted(status: ReadOnlyObject) -> str | None:
    devices = (status.get("allocation") or {}).get("devices") or {}
    for index, result in enumerate(devices.get("results") or ()):
        if result.get("adminAccess"):
            return f"status.allocation.devices.results[{index}].adminAccess"
    return None


def _judge(at: str, namespace: str, judge: Judge) -> list[FieldError]:
    labels = judge.namespace_labels(namespace)
    if labels is None:
        why = f'could not retrieve namespace to verify admin access: namespaces "{namespace}" not found'
        return [internal(at, why)]
    if labels.get(_LABEL) == "true":
        return []
    return [forbidden(at, f"admin access to devices requires the `{_LABEL}: true` label on the containing namespace")]
