"""Requests and limits of a pod as admission and quotas count them."""

from collections.abc import Iterable, Mapping

from mockkube.api.quantity import Quantity, parse
from mockkube.api.requests import is_pod_level_resource
from mockkube.api.types import ReadOnlyObject

Amounts = dict[str, Quantity]


def read(amounts: ReadOnlyObject | None) -> Amounts:
    """Return the quantities of a resource list."""
    return {name: parse(text) for name, text in (amounts or {}).items()}


def add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    """Add quantities by name to a total."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def raise_to(total: Amounts, least: Mapping[str, Quantity]) -> None:
    """Raise each quantity of a total to at least another one."""
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def calculate_pod_quantities(spec: ReadOnlyObject, side: str, *, pod_level: bool) -> Amounts:
    """Return the `requests` or `limits` (`side`) of a pod: of its containers, or of the largest init step.

    With `pod_level`, resources that the pod sets as a whole replace the sums of its containers.
    """
    # upstream 1.36: plugin/pkg/admission/limitranger/admission.go, podRequests
    total: Amounts = {}
    for container in spec.get("containers") or ():
        add(total, read((container.get("resources") or {}).get(side)))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = read((container.get("resources") or {}).get(side))
        if container.get("restartPolicy") == "Always":
            add(total, own)
            add(sidecars, own)
            # A sidecar runs along with all init containers after it, so each of those needs its own plus all sidecars
            # so far.
            raise_to(peak, sidecars)
        else:
            add(own, sidecars)
            raise_to(peak, own)
    raise_to(total, peak)
    if pod_level:
        stated = read((spec.get("resources") or {}).get(side))
        total.update({name: amount for name, amount in stated.items() if is_pod_level_resource(name)})
    return total


def iter_containers(spec: ReadOnlyObject) -> Iterable[ReadOnlyObject]:
    """Yield the containers, then the init containers."""
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()
