"""What a pod asks for altogether, and the limits it sets, as admission counts them."""

from collections.abc import Iterable, Mapping

from mockkube.api.quantity import Quantity, parse
from mockkube.api.requests import at_pod_level
from mockkube.api.types import ReadOnlyObject

Amounts = dict[str, Quantity]


def read(amounts: ReadOnlyObject | None) -> Amounts:
    """The quantities of a resource list."""
    return {name: parse(text) for name, text in (amounts or {}).items()}


def add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    """Add name by name."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def raise_to(total: Amounts, least: Mapping[str, Quantity]) -> None:
    """Raise each name to at least this much."""
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def pod_amounts(spec: ReadOnlyObject, side: str, *, pod_level: bool) -> Amounts:
    """The `requests` or `limits` (`side`) of a pod: of its containers, or of its greediest initialization.

    With `pod_level`, what the pod states as a whole counts before what its containers add up to.
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
            raise_to(peak, sidecars)
        else:
            add(own, sidecars)
            raise_to(peak, own)
    raise_to(total, peak)
    if pod_level:
        stated = read((spec.get("resources") or {}).get(side))
        total.update({name: amount for name, amount in stated.items() if at_pod_level(name)})
    return total


def containers_of(spec: ReadOnlyObject) -> Iterable[ReadOnlyObject]:
    """The containers, then the init containers."""
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()
