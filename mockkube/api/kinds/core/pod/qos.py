"""Compute the QoS class of a pod."""

# upstream 1.36: pkg/apis/core/helper/qos/qos.go

from collections.abc import Iterable, Mapping
from typing import Final

from mockkube.api.bounded_cache import DigestCache, digest_json
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import Quantity, parse
from mockkube.features.capabilities import Capabilities

_QOS_RESOURCES: Final = ("cpu", "memory")


# Classes of specs, by capabilities.
_CLASSES: Final[DigestCache[str]] = DigestCache()


def compute_pod_qos(spec: ReadOnlyObject, caps: Capabilities) -> str:
    """Return the QoS class: Guaranteed, Burstable or BestEffort."""
    digest = digest_json(spec)
    found = _CLASSES.get(digest, caps)
    if found is None:
        found = _compute_class(spec, caps)
        _CLASSES.put(digest, caps, found)
    return found


def _compute_class(spec: ReadOnlyObject, caps: Capabilities) -> str:
    # Pod-level resources replace those of the containers altogether.
    if _uses_pod_level_resources(spec, caps):
        holders = [spec["resources"]]
        guaranteed = "limits" not in holders[0] or _limits_all_resources(holders[0])
    else:
        containers = (*(spec.get("containers") or ()), *spec.get("initContainers", ()))
        holders = [container.get("resources", {}) for container in containers]
        guaranteed = all(_limits_all_resources(resources) for resources in holders)
    requests = _sum_amounts(resources.get("requests", {}) for resources in holders)
    limits = _sum_amounts(resources.get("limits", {}) for resources in holders)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _uses_pod_level_resources(spec: ReadOnlyObject, caps: Capabilities) -> bool:
    """Return whether the resources of the pod count; with the second gate (1.37), empty ones do not."""
    if "resources" not in spec or not caps.enabled("PodLevelResources"):
        return False
    resources = spec["resources"]
    return bool(
        resources.get("requests") or resources.get("limits") or not caps.enabled("PodLevelResourcesFixKubeletQOSClass")
    )


def _limits_all_resources(resources: ReadOnlyObject) -> bool:
    limits: Mapping[str, str] = resources.get("limits", {})
    return all(name in limits and parse(limits[name]).sign > 0 for name in _QOS_RESOURCES)


def _sum_amounts(parts: Iterable[Mapping[str, str]]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for part in parts:
        for name in _QOS_RESOURCES:
            amount = parse(part.get(name, "0"))
            # A request of zero counts as none, so a pod with only zeros is BestEffort.
            if amount.sign > 0:
                total[name] = total[name] + amount if name in total else amount
    return total
