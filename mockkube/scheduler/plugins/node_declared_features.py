"""NodeDeclaredFeatures plugin: filter nodes whose kubelet does not declare a feature that the pod requires.

upstream 1.36: pkg/scheduler/framework/plugins/nodedeclaredfeatures
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.matching.node_features import known_features, needed_features
from mockkube.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    is_update_of,
)
from mockkube.scheduler.framework.interface import (
    CacheScope,
    CycleState,
    FilterPlugin,
    PluginDependencies,
    PreFilterPlugin,
    PreFilterResult,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status

_GATE: Final = "NodeDeclaredFeatures"
_REASON: Final = "node(s) didn't match Pod's required features"
# Last version whose message lists the missing features.
_LISTS_MISSING_UNTIL: Final = Version(1, 35)


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin):
    """Filters nodes that do not declare a required feature."""

    name = "NodeDeclaredFeatures"
    filter_scope = CacheScope.NODE

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        version = dependencies.caps.version
        self._known = known_features(version) if dependencies.caps.enabled(_GATE) else ()
        self._lists_missing = version <= _LISTS_MISSING_UNTIL

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for new nodes, changed declarations, and updates of the pod."""
        return (
            ClusterEventWithHint(
                EventResource.NODE, ActionType.ADD | ActionType.NODE_DECLARED_FEATURE, _is_schedulable_after_node_change
            ),
            ClusterEventWithHint(
                EventResource.UNSCHEDULED_POD, ActionType.UPDATE, self._is_schedulable_after_pod_update
            ),
        )

    def _is_schedulable_after_pod_update(self, pod: PodInfo, event: ClusterEvent) -> bool:
        if event.old is None or event.new is None or not is_update_of(pod, event):
            return False
        return self._required_features(event.old["spec"]) != self._required_features(event.new["spec"])

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Skip pods that require no feature."""
        return PreFilterResult() if self._required_by_pod(pod) else PreFilterResult(SKIP)

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether the pod requires no feature."""
        return not self._required_features(spec)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject nodes that do not declare all required features."""
        declared = node.derive_from_object(NodeDeclaredFeatures, _declared_features)
        missing = [name for name in self._required_by_pod(pod) if name not in declared]
        if not missing:
            return SUCCESS
        reason = _REASON
        if self._lists_missing:
            reason = f"node declared features check failed - unsatisfied requirements: {', '.join(missing)}"
        return Status.unresolvable(reason, missing=missing, declared=sorted(declared))

    def _required_by_pod(self, pod: PodInfo) -> tuple[str, ...]:
        return pod.derive_from_spec(self, self._required_features)

    def _required_features(self, spec: ReadOnlyObject) -> tuple[str, ...]:
        return needed_features(spec, self._known)


def _declared_features(node: NodeInfo) -> frozenset[str]:
    return frozenset(_features(node.obj))


def _features(node: ReadOnlyObject) -> Sequence[str]:
    return (node.get("status") or {}).get("declaredFeatures") or ()


def _is_schedulable_after_node_change(pod: PodInfo, event: ClusterEvent) -> bool:
    if event.new is None:
        return False
    return event.old is None or list(_features(event.old)) != list(_features(event.new))
