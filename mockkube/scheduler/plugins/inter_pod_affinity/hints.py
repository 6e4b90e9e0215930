"""Queueing hints of InterPodAffinity.

upstream 1.36: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
"""

from collections.abc import Callable, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.scheduler.framework.events import ClusterEvent, is_update_of
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.inter_pod_affinity.terms import (
    NO_LABELS,
    Labels,
    Term,
    matches_all,
    matches_any,
    terms_of,
)

# From this version on these count, too: the pod's own labels, nominated pods, and anti-affinity of deleted pods.
_EXISTING_ANTI_AFFINITY_SINCE: Final = Version(1, 36)
# From this version on one matching anti-affinity term is enough; before, all terms had to match.
_ANY_ANTI_AFFINITY_TERM_SINCE: Final = Version(1, 37)


def is_schedulable_after_pod_change(pod: PodInfo, event: ClusterEvent, version: Version) -> bool:
    """Return whether a pod change may help a pod that was rejected.

    A pod that matches affinity was added, one that matches anti-affinity was deleted, or labels changed to that effect.
    """
    both_ways = version >= _EXISTING_ANTI_AFFINITY_SINCE
    matches = matches_any if version >= _ANY_ANTI_AFFINITY_TERM_SINCE else matches_all
    if both_ways and event.old is not None and is_update_of(pod, event):
        return True
    old, new = _pod_on_node(event.old, nominated=both_ways), _pod_on_node(event.new, nominated=both_ways)
    if (event.old is not None and old is None) or (event.new is not None and new is None):
        return False
    wanted, unwanted = terms_of(pod).affinity, terms_of(pod).anti_affinity
    if old is None:
        return new is not None and _matches(matches_all, wanted, new)
    if new is None:
        return _matches(matches, unwanted, old) or (both_ways and _matches(matches, terms_of(old).anti_affinity, pod))
    starts_to_match = not _matches(matches_all, wanted, old) and _matches(matches_all, wanted, new)
    return starts_to_match or (_matches(matches, unwanted, old) and not _matches(matches, unwanted, new))


def is_schedulable_after_node_change(pod: PodInfo, event: ClusterEvent) -> bool:
    """Return whether a node joined a domain of an affinity term, or left one of an anti-affinity term."""
    if event.new is None:
        return False
    now, terms = _labels(event.new), terms_of(pod)
    if event.old is None:
        return bool(terms.anti_affinity) or any(term.topology_key in now for term in terms.affinity)
    was = _labels(event.old)
    reaches = any(_joins_domain(term.topology_key, was, now) for term in terms.affinity)
    return reaches or any(_joins_domain(term.topology_key, now, was) for term in terms.anti_affinity)


def _joins_domain(key: str, was: Labels, now: Labels) -> bool:
    """Return whether the label is set to another value than before."""
    return key in now and was.get(key) != now[key]


def _pod_on_node(obj: ReadOnlyObject | None, *, nominated: bool) -> PodInfo | None:
    """Return a pod that has a node, or a nominated one if that counts."""
    pod = None if obj is None else PodInfo(obj)
    return pod if pod is not None and (pod.node_name or (nominated and pod.nominated_node)) else None


def _matches(means: Callable[[Sequence[Term], str, Labels], bool], terms: Sequence[Term], pod: PodInfo) -> bool:
    return means(terms, pod.namespace, pod.labels)


def _labels(obj: ReadOnlyObject) -> Labels:
    return obj["metadata"].get("labels") or NO_LABELS
