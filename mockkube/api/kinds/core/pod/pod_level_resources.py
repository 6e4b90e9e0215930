"""Validate pod-level resources against the sum of the containers' resources."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validatePodResources

from collections.abc import Collection, Mapping

from mockkube.api.fields import FieldError, forbidden, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.containers import is_sidecar
from mockkube.api.kinds.core.pod.containers.resources import HUGE_PAGES_PREFIX, validate_pod_resources
from mockkube.api.quantities.quantity import Quantity, parse


def validate_pod_level_resources(
    spec: ReadOnlyObject, spec_at: str, claim_names: Collection[str], *, allow_indivisible: bool
) -> list[FieldError]:
    """Validate pod-level resources by themselves and against those of the containers."""
    at = f"{spec_at}.resources"
    if spec.get("os", {}).get("name") == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    resources = spec["resources"]
    errors: list[FieldError] = []
    if "claims" in resources:
        errors.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    errors += validate_pod_resources(resources, at, claim_names, allow_indivisible=allow_indivisible)
    errors += _validate_aggregates(spec, at, "requests")
    errors += _validate_aggregates(spec, at, "limits")
    limits = resources.get("limits", {})
    for i, container in enumerate(spec.get("containers") or ()):
        for name, amount in container.get("resources", {}).get("limits", {}).items():
            if name in limits and parse(amount) > parse(limits[name]):
                here = f"{at}.containers[{i}][{name}].limits"
                errors.append(invalid(here, amount, f"must be less than or equal to pod limits of {limits[name]}"))
    return errors


def _validate_aggregates(spec: ReadOnlyObject, at: str, kind: str) -> list[FieldError]:
    given = spec["resources"].get(kind, {})
    errors = []
    for name, total in aggregate_container_resources(spec, kind).items():
        # CPU and memory limits of containers may add up to more than the pod's: the pod's cgroup caps them.
        if kind == "limits" and not name.startswith(HUGE_PAGES_PREFIX):
            continue
        if name in given and total > parse(given[name]):
            text = f"must be greater than or equal to aggregate container {kind} of {total}"
            errors.append(invalid(f"{at}.{kind}[{name}]", given[name], text))
    return errors


def aggregate_container_resources(spec: ReadOnlyObject, kind: str) -> dict[str, Quantity]:
    """Return the sum over regular containers and sidecars, or an init container's need if more."""
    # upstream 1.36: component-helpers/resource/helpers.go, AggregateContainerRequests
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, kind))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers", ()):
        needed = _amounts(container, kind)
        if is_sidecar(container):
            _add(total, needed)
            _add(sidecars, needed)
            needed = dict(sidecars)
        else:
            _add(needed, sidecars)
        for name, amount in needed.items():
            peak[name] = max(peak.get(name, amount), amount)
    for name, amount in peak.items():
        total[name] = max(total.get(name, amount), amount)
    return total


def _amounts(container: ReadOnlyObject, kind: str) -> dict[str, Quantity]:
    amounts: Mapping[str, str] = container.get("resources", {}).get(kind, {})
    return {name: parse(amount) for name, amount in amounts.items()}


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
