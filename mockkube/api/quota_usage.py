"""Resource quota usage: what an object counts for, and which scopes it is in; pure, by kind.

upstream 1.36: pkg/quota/v1/evaluator/core
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import ROUND_UP
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.resources import HUGE_PAGES_PREFIX, is_extended_resource, is_native_resource
from mockkube.api.kinds.core.pod.qos import compute_pod_qos
from mockkube.api.quantities.pod_quantities import (
    Quantities,
    add_quantities,
    calculate_pod_quantities,
    iter_containers,
    parse_resource_list,
)
from mockkube.api.quantities.pod_requests import is_pod_level_resource
from mockkube.api.quantities.quantity import Quantity, parse
from mockkube.api.times import parse_time
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass

_LEGACY_COUNTED_PLURALS: Final = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
_DEVICE_CLASSES: Final = "deviceclass.resource.kubernetes.io/"
_STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
_CLAIM_NAMES: Final = ("persistentvolumeclaims", "requests.storage")
_COMPUTE_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
# A quota on one of these requires that every container sets it; otherwise usage would be unknown.
_REQUIRED_RESOURCES: Final = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")
_POD_RESOURCES: Final = frozenset(
    (
        "pods",
        "count/pods",
        *_COMPUTE_RESOURCES,
        *(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE_RESOURCES),
    )
)
_SERVICE_RESOURCES: Final = frozenset(("count/services", "services", "services.nodeports", "services.loadbalancers"))
_ONE: Final = parse("1")
_NONE: Final = parse("0")


@dataclass(frozen=True, slots=True)
class UsageContext:
    """Capabilities and present time that counting depends on."""

    caps: Capabilities
    now: datetime


def object_count_name(group: str, plural: str) -> str:
    """Return the resource name under which a quota counts objects of a kind."""
    return f"count/{plural}.{group}" if group else f"count/{plural}"


def matching_resources(group: str, plural: str, names: Iterable[str]) -> list[str]:
    """Return those of the resource names that objects of a kind count for."""
    match (group, plural):
        case ("", "pods"):
            return [name for name in names if _is_pod_resource(name)]
        case ("", "services"):
            return [name for name in names if name in _SERVICE_RESOURCES]
        case ("", "persistentvolumeclaims"):
            return [name for name in names if _is_claim_resource(name)]
    own = (object_count_name(group, plural), *((plural,) if not group and plural in _LEGACY_COUNTED_PLURALS else ()))
    return [name for name in names if name in own]


def _is_pod_resource(name: str) -> bool:
    if name in _POD_RESOURCES or name.startswith((HUGE_PAGES_PREFIX, f"requests.{HUGE_PAGES_PREFIX}")):
        return True
    named = not is_native_resource(name) or name.startswith(f"requests.{_DEVICE_CLASSES}")
    return named and name.startswith("requests.")


def _is_claim_resource(name: str) -> bool:
    if name == "count/persistentvolumeclaims" or name in _CLAIM_NAMES:
        return True
    return any(name.endswith(_STORAGE_CLASS + one) for one in _CLAIM_NAMES)


def calculate_usage(group: str, plural: str, obj: ReadOnlyObject, context: UsageContext) -> Quantities:
    """Return the usage of an object."""
    match (group, plural):
        case ("", "pods"):
            return _pod_usage(obj, context)
        case ("", "services"):
            return _service_usage(obj)
        case ("", "persistentvolumeclaims"):
            return _claim_usage(obj)
    counted = {object_count_name(group, plural): _ONE}
    return {**counted, plural: _ONE} if not group and plural in _LEGACY_COUNTED_PLURALS else counted


def _pod_usage(pod: ReadOnlyObject, moment: UsageContext) -> Quantities:
    # upstream 1.36: pkg/quota/v1/evaluator/core/pods.go, PodUsageFunc
    # The object itself counts even when the pod has finished and uses nothing else.
    counted = {"count/pods": _ONE}
    if not _is_charged(pod, moment.now):
        return counted
    spec, pod_level = pod["spec"], moment.caps.enabled("PodLevelResources")
    requests = calculate_pod_quantities(spec, "requests", pod_level=pod_level)
    limits = calculate_pod_quantities(spec, "limits", pod_level=pod_level)
    overhead = parse_resource_list(spec.get("overhead"))
    add_quantities(requests, overhead)
    # Overhead counts against a limit only if the containers have one: without it they are unlimited anyway.
    add_quantities(limits, {name: amount for name, amount in overhead.items() if name in limits})
    return counted | _compute_usage(requests, limits)


def _is_charged(pod: ReadOnlyObject, now: datetime) -> bool:
    """Return whether the pod still uses resources: not finished, nor past its grace period."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("deletionGracePeriodSeconds") is None:
        return True
    grace = timedelta(seconds=metadata["deletionGracePeriodSeconds"])
    return now <= parse_time(metadata["deletionTimestamp"]) + grace


def _compute_usage(requests: Quantities, limits: Quantities) -> Quantities:
    result = {"pods": _ONE}
    for name in _COMPUTE_RESOURCES:
        if name in requests:
            result[name] = result[f"requests.{name}"] = requests[name]
        if name in limits:
            result[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(HUGE_PAGES_PREFIX):
            result[name] = result[f"requests.{name}"] = amount
        elif is_extended_resource(name) or name.startswith(_DEVICE_CLASSES):
            result[f"requests.{name}"] = amount
    return result


def _service_usage(service: ReadOnlyObject) -> Quantities:
    # upstream 1.36: pkg/quota/v1/evaluator/core/services.go
    spec, kind = service["spec"], service["spec"].get("type")
    ports = spec.get("ports") or []
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        # Without allocation, only ports whose node port the client has chosen use one.
        ports = [port for port in ports if port.get("nodePort")]
    exposed = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    return {
        "count/services": _ONE,
        "services": _ONE,
        "services.nodeports": parse(str(exposed)),
        "services.loadbalancers": _ONE if kind == "LoadBalancer" else _NONE,
    }


def _claim_usage(claim: ReadOnlyObject) -> Quantities:
    # upstream 1.36: pkg/quota/v1/evaluator/core/persistent_volume_claims.go
    spec = claim["spec"]
    result = {"count/persistentvolumeclaims": _ONE, "persistentvolumeclaims": _ONE}
    requested = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if requested is not None:
        amount = parse(requested)
        allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
        # While a volume shrinks back after a failed expansion, the larger allocation still counts.
        if allocated is not None and parse(allocated) > amount:
            amount = parse(allocated)
        result["requests.storage"] = _round_up(amount)
    annotations = claim["metadata"].get("annotations") or {}
    storage_class = annotations.get("volume.beta.kubernetes.io/storage-class") or spec.get("storageClassName")
    if storage_class:
        result |= {f"{storage_class}{_STORAGE_CLASS}{name}": result[name] for name in _CLAIM_NAMES if name in result}
    return result


def _round_up(amount: Quantity) -> Quantity:
    return amount if amount.is_integer else Quantity(amount.amount.to_integral_value(ROUND_UP), amount.format)


def find_missing_resources(pod: ReadOnlyObject, names: Iterable[str], caps: Capabilities) -> str:
    """Return which counted resources the containers of a pod do not set, as a reason; empty if none."""
    # upstream 1.36: pkg/quota/v1/evaluator/core/pods.go, Constraints
    spec = pod["spec"]
    pod_resources = spec.get("resources") or {}
    has_pod_level = any(
        is_pod_level_resource(name) for side in ("requests", "limits") for name in pod_resources.get(side) or ()
    )
    if has_pod_level and caps.enabled("PodLevelResources"):
        return ""
    counted = set(names)
    lacking: dict[str, set[str]] = {}
    for container in iter_containers(spec):
        resources = container.get("resources") or {}
        set_resources = _compute_usage(
            parse_resource_list(resources.get("requests")), parse_resource_list(resources.get("limits"))
        )
        for name in _REQUIRED_RESOURCES:
            if name in counted and name not in set_resources:
                lacking.setdefault(name, set()).add(container["name"])
    if not lacking:
        return ""
    texts = [f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)]
    return f"must specify {'; '.join(texts)}"


def matches_scope(
    requirement: ReadOnlyObject, group: str, plural: str, obj: ReadOnlyObject, caps: Capabilities
) -> bool:
    """Return whether the object is in one scope of a quota; only pods and claims have scopes."""
    scope: str = requirement["scopeName"]
    if (group, plural) == ("", "persistentvolumeclaims"):
        names = _volume_attributes_classes(obj)
        exists = scope == "VolumeAttributesClass" and caps.enabled("VolumeAttributesClass")
        return exists and _matches_names(requirement, names)
    if (group, plural) != ("", "pods"):
        return False
    spec = obj["spec"]
    match scope:
        case "Terminating" | "NotTerminating":
            return has_terminating_scope(obj) is (scope == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return (compute_pod_qos(spec, caps) == "BestEffort") == (scope == "BestEffort")
        case "PriorityClass":
            name = spec.get("priorityClassName")
            return _matches_names(requirement, [name] if name else [])
        case "CrossNamespacePodAffinity":
            return any(
                term.get("namespaces") or term.get("namespaceSelector") is not None for term in _affinity_terms(spec)
            )
    return False


def has_terminating_scope(pod: ReadOnlyObject) -> bool:
    """Return whether the pod has a deadline."""
    deadline: int | None = pod["spec"].get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _matches_names(requirement: ReadOnlyObject, names: list[str]) -> bool:
    """Return whether any of the names, or their absence, meets a requirement."""
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "Exists":
            return bool(names)
        case "DoesNotExist":
            return not names
        case "In":
            # differs: upstream fails where a value is no label value, which no name can be equal to either
            return any(name in values for name in names)
        case "NotIn":
            return not names or any(name not in values for name in names)
    return False


def _volume_attributes_classes(claim: ReadOnlyObject) -> list[str]:
    status = claim.get("status") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return sorted({name for name in names if name})


def _affinity_terms(spec: ReadOnlyObject) -> Iterable[ReadOnlyObject]:
    affinity = spec.get("affinity") or {}
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}
