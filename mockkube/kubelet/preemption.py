"""Which pods must go so that a critical one has room: the cheapest in quality of service, the fewest of these.

upstream 1.36: pkg/kubelet/preemption/preemption.go
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from mockkube.kubelet.admitted_pod import Guest

REASON: Final = "Preempting"
MESSAGE: Final = "Preempted in order to admit critical pod"
CONDITION_MESSAGE: Final = "Pod was preempted by Kubelet to accommodate a critical pod."
_CLASSES: Final = ("BestEffort", "Burstable", "Guaranteed")

Needs = Mapping[str, int]
"""How much is missing, by resource."""


class NoVictims(Exception):
    """Whatever goes, it is not enough; the text says of what."""


def victims(preemptor: Guest, guests: Iterable[Guest], needs: Needs) -> list[Guest]:
    """Return who goes for what is missing; NoVictims if that cannot be had."""
    by_class: dict[str, list[Guest]] = {name: [] for name in _CLASSES}
    for guest in guests:
        if _preemptable(preemptor, guest) and guest.qos in by_class:
            by_class[guest.qos].append(guest)
    cheap, fair, dear = (by_class[name] for name in _CLASSES)
    if short := _less(needs, [*cheap, *fair, *dear]):
        raise NoVictims(_said(short))
    from_dear = _nearest(dear, _less(needs, [*cheap, *fair]))
    from_fair = _nearest(fair, _less(needs, [*cheap, *from_dear]))
    from_cheap = _nearest(cheap, _less(needs, [*from_fair, *from_dear]))
    return [*from_cheap, *from_fair, *from_dear]


def _preemptable(preemptor: Guest, guest: Guest) -> bool:
    if preemptor.critical and not guest.critical:
        return True
    return preemptor.priority is not None and guest.priority is not None and preemptor.priority > guest.priority


def _nearest(candidates: Sequence[Guest], needs: Needs) -> list[Guest]:
    """Return candidates until nothing is missing, each time the one that covers most of it; of equals the smaller."""
    left, chosen = list(candidates), []
    while needs:
        if not left:
            raise NoVictims(_said(needs))
        best = min(left, key=lambda guest: (_distance(guest, needs), guest.requests.memory, guest.requests.cpu_milli))
        left.remove(best)
        chosen.append(best)
        needs = _less(needs, [best])
    return chosen


def _distance(guest: Guest, needs: Needs) -> float:
    """Return how far a pod is from covering what is missing: each resource counts for one at most."""
    gaps = ((amount, amount - _request(guest, name)) for name, amount in needs.items())
    return sum((gap / amount) ** 2 for amount, gap in gaps if gap > 0)


def _less(needs: Needs, gone: Iterable[Guest]) -> dict[str, int]:
    """Return what is still missing when some pods are gone."""
    gone = list(gone)
    left = {name: amount - sum(_request(guest, name) for guest in gone) for name, amount in needs.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _request(guest: Guest, name: str) -> int:
    return 1 if name == "pods" else guest.requests.amount(name)


def _said(needs: Needs) -> str:
    return "[" + "".join(f"(res: {name}, q: {amount}), " for name, amount in needs.items()) + "]"
