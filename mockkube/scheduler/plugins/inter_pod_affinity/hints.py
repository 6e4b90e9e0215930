"""What helps a pod that was refused for affinity or anti-affinity, its own or that of pods that are there.

upstream 1.36: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
"""

from collections.abc import Callable, Sequence
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.scheduler.framework.events import ClusterEvent, is_about
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.inter_pod_affinity.terms import NO_LABELS, Labels, Term, all_mean, any_means, terms_of

_LOOKS_BOTH_WAYS_SINCE: Final = Version(1, 36)
"""From this version on the pod's own labels help, pods that room is kept for, and pods that did not want it near."""
_ONE_TERM_IS_ENOUGH_SINCE: Final = Version(1, 37)
"""From this version on terms of anti-affinity count as met if any means a pod, before if all do."""


def pod_change_helps(pod: PodInfo, event: ClusterEvent, version: Version) -> bool:
    """Whether a pod has come that is wanted near, one has gone that was in the way, or labels changed so."""
    both_ways = version >= _LOOKS_BOTH_WAYS_SINCE
    means = any_means if version >= _ONE_TERM_IS_ENOUGH_SINCE else all_mean
    if both_ways and event.old is not None and is_about(pod, event):
        return True
    old, new = _placed(event.old, nominated=both_ways), _placed(event.new, nominated=both_ways)
    if (event.old is not None and old is None) or (event.new is not None and new is None):
        return False
    wanted, unwanted = terms_of(pod).affinity, terms_of(pod).anti_affinity
    if old is None:
        return new is not None and _meant(all_mean, wanted, new)
    if new is None:
        return _meant(means, unwanted, old) or (both_ways and _meant(means, terms_of(old).anti_affinity, pod))
    comes_near = not _meant(all_mean, wanted, old) and _meant(all_mean, wanted, new)
    return comes_near or (_meant(means, unwanted, old) and not _meant(means, unwanted, new))


def node_change_helps(pod: PodInfo, event: ClusterEvent) -> bool:
    """Whether a node has come to, or moved between, domains of the pod's terms, or left one it may not share."""
    if event.new is None:
        return False
    now, terms = _labels(event.new), terms_of(pod)
    if event.old is None:
        return bool(terms.anti_affinity) or any(term.topology_key in now for term in terms.affinity)
    was = _labels(event.old)
    reaches = any(_reaches(term.topology_key, was, now) for term in terms.affinity)
    return reaches or any(_reaches(term.topology_key, now, was) for term in terms.anti_affinity)


def _reaches(key: str, was: Labels, now: Labels) -> bool:
    """Whether there is a domain now that there was not before."""
    return key in now and was.get(key) != now[key]


def _placed(obj: ReadOnlyObject | None, *, nominated: bool) -> PodInfo | None:
    """Return a pod that is on a node, or that one is kept for, if that counts."""
    pod = None if obj is None else PodInfo(obj)
    return pod if pod is not None and (pod.node_name or (nominated and pod.nominated_node)) else None


def _meant(means: Callable[[Sequence[Term], str, Labels], bool], terms: Sequence[Term], pod: PodInfo) -> bool:
    return means(terms, pod.namespace, pod.labels)


def _labels(obj: ReadOnlyObject) -> Labels:
    return obj["metadata"].get("labels") or NO_LABELS
