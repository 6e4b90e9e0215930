"""Find pods to preempt for a critical pod: lowest QoS class first, as few pods as possible.

upstream 1.36: pkg/kubelet/preemption/preemption.go
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from mockkube.kubelet.admitted_pod import Guest

REASON: Final = "Preempting"
MESSAGE: Final = "Preempted in order to admit critical pod"
CONDITION_MESSAGE: Final = "Pod was preempted by Kubelet to accommodate a critical pod."
_CLASSES: Final = ("BestEffort", "Burstable", "Guaranteed")

# Missing amount by resource.
Needs = Mapping[str, int]


class NoVictims(Exception):
    """Error: no set of pods frees enough; the text lists the missing amounts."""


def victims(preemptor: Guest, guests: Iterable[Guest], needs: Needs) -> list[Guest]:
    """Return pods to preempt so that the missing amounts become free; NoVictims if that is impossible."""
    by_class: dict[str, list[Guest]] = {name: [] for name in _CLASSES}
    for guest in guests:
        if _preemptable(preemptor, guest) and guest.qos in by_class:
            by_class[guest.qos].append(guest)
    cheap, fair, dear = (by_class[name] for name in _CLASSES)
    if short := _less(needs, [*cheap, *fair, *dear]):
        raise NoVictims(_said(short))
    # As upstream: evict from a higher class only what the lower classes cannot free, then recompute downwards, because
    # a large Guaranteed victim may spare some of the cheaper ones.
    from_dear = _nearest(dear, _less(needs, [*cheap, *fair]))
    from_fair = _nearest(fair, _less(needs, [*cheap, *from_dear]))
    from_cheap = _nearest(cheap, _less(needs, [*from_fair, *from_dear]))
    return [*from_cheap, *from_fair, *from_dear]


def _preemptable(preemptor: Guest, guest: Guest) -> bool:
    if preemptor.critical and not guest.critical:
        return True
    return preemptor.priority is not None and guest.priority is not None and preemptor.priority > guest.priority


def _nearest(candidates: Sequence[Guest], needs: Needs) -> list[Guest]:
    """Choose candidates until nothing is missing: the one closest to the missing amounts, the smallest of equals."""
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
    """Return how far a pod's requests are from the missing amounts; each resource counts at most one."""
    differences = ((amount, amount - _request(guest, name)) for name, amount in needs.items())
    return sum((gap / amount) ** 2 for amount, gap in differences if gap > 0)


def _less(needs: Needs, gone: Iterable[Guest]) -> dict[str, int]:
    """Return the amounts still missing after these pods are gone."""
    gone = list(gone)
    left = {name: amount - sum(_request(guest, name) for guest in gone) for name, amount in needs.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _request(guest: Guest, name: str) -> int:
    return 1 if name == "pods" else guest.requests.get_amount(name)


def _said(needs: Needs) -> str:
    """Return the missing amounts as upstream prints them."""
    return "[" + "".join(f"(res: {name}, q: {amount}), " for name, amount in needs.items()) + "]"
