"""Find pods to preempt for a critical pod: lowest QoS class first, as few pods as possible.

upstream 1.36: pkg/kubelet/preemption/preemption.go
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from mockkube.kubelet.admission.admitted_pod import AdmittedPod

REASON: Final = "Preempting"
MESSAGE: Final = "Preempted in order to admit critical pod"
CONDITION_MESSAGE: Final = "Pod was preempted by Kubelet to accommodate a critical pod."
_CLASSES: Final = ("BestEffort", "Burstable", "Guaranteed")

# Missing amount by resource.
AdmissionRequirements = Mapping[str, int]


class NoVictimsError(Exception):
    """Error: no set of pods frees enough; the text lists the missing amounts."""


def find_victims(
    preemptor: AdmittedPod, admitted_pods: Iterable[AdmittedPod], needs: AdmissionRequirements
) -> list[AdmittedPod]:
    """Return pods to preempt so that the missing amounts become free; NoVictims if that is impossible."""
    by_class: dict[str, list[AdmittedPod]] = {name: [] for name in _CLASSES}
    for admitted in admitted_pods:
        if _is_preemptable(preemptor, admitted) and admitted.qos in by_class:
            by_class[admitted.qos].append(admitted)
    cheap, fair, dear = (by_class[name] for name in _CLASSES)
    if short := _subtract(needs, [*cheap, *fair, *dear]):
        raise NoVictimsError(_format_requirements(short))
    # As upstream: evict from a higher class only what the lower classes cannot free, then recompute downwards, because
    # a large Guaranteed victim may spare some of the cheaper ones.
    from_dear = _choose_by_distance(dear, _subtract(needs, [*cheap, *fair]))
    from_fair = _choose_by_distance(fair, _subtract(needs, [*cheap, *from_dear]))
    from_cheap = _choose_by_distance(cheap, _subtract(needs, [*from_fair, *from_dear]))
    return [*from_cheap, *from_fair, *from_dear]


def _is_preemptable(preemptor: AdmittedPod, candidate: AdmittedPod) -> bool:
    if preemptor.critical and not candidate.critical:
        return True
    return preemptor.priority is not None and candidate.priority is not None and preemptor.priority > candidate.priority


def _choose_by_distance(candidates: Sequence[AdmittedPod], needs: AdmissionRequirements) -> list[AdmittedPod]:
    """Choose candidates until nothing is missing: the one closest to the missing amounts, the smallest of equals."""
    left, chosen = list(candidates), []
    while needs:
        if not left:
            raise NoVictimsError(_format_requirements(needs))
        best = min(left, key=lambda pod: (_distance(pod, needs), pod.requests.memory, pod.requests.cpu_milli))
        left.remove(best)
        chosen.append(best)
        needs = _subtract(needs, [best])
    return chosen


def _distance(guest: AdmittedPod, needs: AdmissionRequirements) -> float:
    """Return how far a pod's requests are from the missing amounts; each resource counts at most one."""
    differences = ((amount, amount - _get_request(guest, name)) for name, amount in needs.items())
    return sum((gap / amount) ** 2 for amount, gap in differences if gap > 0)


def _subtract(needs: AdmissionRequirements, gone: Iterable[AdmittedPod]) -> dict[str, int]:
    """Return the amounts still missing after these pods are gone."""
    gone = list(gone)
    left = {name: amount - sum(_get_request(pod, name) for pod in gone) for name, amount in needs.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _get_request(guest: AdmittedPod, name: str) -> int:
    return 1 if name == "pods" else guest.requests.get_amount(name)


def _format_requirements(needs: AdmissionRequirements) -> str:
    """Return the missing amounts as upstream prints them."""
    return "[" + "".join(f"(res: {name}, q: {amount}), " for name, amount in needs.items()) + "]"
