"""Queueing hints of PodTopologySpread.

upstream 1.36: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go
"""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.scheduler.framework.events import ClusterEvent, is_update_of
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint

Constraints = Sequence[SpreadConstraint]


# From this version on events of nominated pods count.
_NOMINATED_COUNT_SINCE: Final = Version(1, 36)


def is_schedulable_after_pod_change(
    constraints: Constraints, pod: PodInfo, event: ClusterEvent, version: Version
) -> bool:
    """Return whether a counted pod was added or deleted, or started or stopped being counted."""
    nominated = version >= _NOMINATED_COUNT_SINCE
    if any(obj is not None and not _is_relevant_pod(obj, pod, nominated=nominated) for obj in (event.old, event.new)):
        return False
    if event.old is None or event.new is None:
        changed = event.new if event.old is None else event.old
        return changed is not None and any(one.selects(_labels(changed)) for one in constraints)
    old, new = event.old, event.new
    if (
        is_update_of(pod, event)
        and _tolerations(old) != _tolerations(new)
        and any(one.policies.honors_taints for one in constraints)
    ):
        return True
    return _labels(old) != _labels(new) and any(
        one.selects(_labels(old)) != one.selects(_labels(new)) for one in constraints
    )


def is_schedulable_after_node_change(constraints: Constraints, event: ClusterEvent) -> bool:
    """Return whether a domain may have been added or removed, or a node changed its domain or taints."""
    # A node that lacks one of the keys is in no domain of any constraint.
    was_in_domains = event.old is not None and _has_all_keys(event.old, constraints)
    is_in_domains = event.new is not None and _has_all_keys(event.new, constraints)
    if event.old is None or event.new is None or was_in_domains != is_in_domains:
        return was_in_domains or is_in_domains
    old, new = event.old, event.new
    if not is_in_domains:
        return False
    moved = any(_labels(old).get(one.topology_key) != _labels(new).get(one.topology_key) for one in constraints)
    return moved or _taints(old) != _taints(new)


def _is_relevant_pod(obj: ReadOnlyObject, pod: PodInfo, *, nominated: bool) -> bool:
    if obj["metadata"].get("uid") == pod.uid:
        return True
    placed = obj["spec"].get("nodeName") or (nominated and (obj.get("status") or {}).get("nominatedNodeName"))
    return bool(placed) and obj["metadata"].get("namespace") == pod.namespace


def _labels(obj: ReadOnlyObject) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _tolerations(obj: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return obj["spec"].get("tolerations") or ()


def _taints(node: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return (node.get("spec") or {}).get("taints") or ()


def _has_all_keys(node: ReadOnlyObject, constraints: Constraints) -> bool:
    labels = _labels(node)
    return all(one.topology_key in labels for one in constraints)
