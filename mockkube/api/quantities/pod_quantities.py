"""Requests and limits of a pod as admission and quotas count them."""

from collections.abc import Iterable, Mapping

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_requests import is_pod_level_resource
from mockkube.api.quantities.quantity import Quantity, parse

Quantities = dict[str, Quantity]


def parse_resource_list(amounts: ReadOnlyObject | None) -> Quantities:
    """Return the quantities of a resource list."""
    return {name: parse(text) for name, text in (amounts or {}).items()}


def add_quantities(total: Quantities, more: Mapping[str, Quantity]) -> None:
    """Add quantities by name to a total."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def raise_to_at_least(total: Quantities, least: Mapping[str, Quantity]) -> None:
    """Raise each quantity of a total to at least another one."""
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def calculate_pod_quantities(spec: ReadOnlyObject, side: str, *, pod_level: bool) -> Quantities:
    """Return the `requests` or `limits` (`side`) of a pod: of its containers, or of the largest init step.

    With `pod_level`, resources that the pod sets as a whole replace the sums of its containers.
    """
    # upstream 1.36: plugin/pkg/admission/limitranger/admission.go, podRequests
    total: Quantities = {}
    for container in spec.get("containers") or ():
        add_quantities(total, parse_resource_list((container.get("resources") or {}).get(side)))
    sidecars: Quantities = {}
    peak: Quantities = {}
    for container in spec.get("initContainers") or ():
        own = parse_resource_list((container.get("resources") or {}).get(side))
        if container.get("restartPolicy") == "Always":
            add_quantities(total, own)
            add_quantities(sidecars, own)
            # A sidecar runs along with all init containers after it, so each of those needs its own plus all sidecars
            # so far.
            raise_to_at_least(peak, sidecars)
        else:
            add_quantities(own, sidecars)
            raise_to_at_least(peak, own)
    raise_to_at_least(total, peak)
    if pod_level:
        stated = parse_resource_list((spec.get("resources") or {}).get(side))
        total.update({name: amount for name, amount in stated.items() if is_pod_level_resource(name)})
    return total


def iter_containers(spec: ReadOnlyObject) -> Iterable[ReadOnlyObject]:
    """Yield the containers, then the init containers."""
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()
