"""Defaults of pod-level resources, derived from those of the containers."""

from collections.abc import Mapping

from mockkube.api.quantity import Quantity, parse
from mockkube.api.types import Object, ReadOnlyObject

Amounts = dict[str, Quantity]


def default_pod_level_resources(spec: Object) -> None:
    """Fill in limits for huge pages, then requests, for pods with pod-level resources."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, defaultHugePagePodLimits and defaultPodRequests
    resources = spec.get("resources")
    if not resources:
        return
    if resources.get("limits") or resources.get("requests"):
        _default_huge_page_limits(resources, spec)
    if resources.get("limits"):
        _default_requests(resources, spec)


def _default_huge_page_limits(resources: Object, spec: ReadOnlyObject) -> None:
    requested = resources.get("requests", {})
    found = {
        name: amount.text
        for name, amount in aggregate(spec, "limits").items()
        if _is_huge_page(name) and name not in requested
    }
    if found:
        resources["limits"] = found | resources.get("limits", {})


def _default_requests(resources: Object, spec: ReadOnlyObject) -> None:
    """Default requests to the sum of the containers', or to the limit where no container has one."""
    found = {name: limit for name, limit in resources["limits"].items() if _is_plain(name) or _is_huge_page(name)}
    for name, amount in aggregate(spec, "requests").items():
        if _is_plain(name):
            found[name] = amount.text
    found |= resources.get("requests", {})
    if found:
        resources["requests"] = found


def aggregate(spec: ReadOnlyObject, which: str) -> Amounts:
    """Return the sum over running containers, or the largest init container if that is more."""
    # upstream 1.36: component-helpers/resource/helpers.go, AggregateContainerRequests
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, which))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, which)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(peak, sidecars)
        else:
            _add(amounts, sidecars)
            _raise(peak, amounts)
    _raise(total, peak)
    return total


def _amounts(container: ReadOnlyObject, which: str) -> Amounts:
    return {name: parse(text) for name, text in container.get("resources", {}).get(which, {}).items()}


def _add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: Amounts, least: Mapping[str, Quantity]) -> None:
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def _is_plain(name: str) -> bool:
    return name in ("cpu", "memory")


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")
