"""TaintToleration plugin: filter nodes with untolerated taints, and score by untolerated PreferNoSchedule taints.

upstream 1.36: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.taints import CompiledToleration, compile_tolerations, find_untolerated, iterate_untolerated
from mockkube.proposals.evaluation import explain_near_misses
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
    PreScorePlugin,
    ScorePlugin,
)
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.scores import default_normalize_score
from mockkube.scheduler.framework.status import SUCCESS, Code, Status

Tolerations = tuple[CompiledToleration, ...]
# Effects of taints that keep pods without a toleration away.
DO_NOT_SCHEDULE_EFFECTS: Final = ("NoSchedule", "NoExecute")
_PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
# From this version on the message does not name the taint.
_NAMES_NO_TAINT_SINCE: Final = Version(1, 34)


@dataclass(frozen=True, slots=True)
class _NearMisses:
    """Reasons why tolerations do not match a taint, computed on iteration because expressions can be expensive."""

    tolerations: Tolerations
    taint: ReadOnlyObject
    caps: Capabilities

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(explain_near_misses(self.tolerations, self.taint, self.caps))


class TaintToleration(FilterPlugin, PreScorePlugin, ScorePlugin):
    """Filters nodes with an untolerated taint; prefers nodes with fewer untolerated PreferNoSchedule taints."""

    name = "TaintToleration"
    filter_scope = CacheScope.NODE
    score_scope = CacheScope.NODE

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._rules, self._caps = dependencies.taints, dependencies.caps
        self._names_taint = dependencies.caps.version < _NAMES_NO_TAINT_SINCE

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for new nodes, changed taints, and new tolerations of the pod."""
        return (
            ClusterEventWithHint(
                EventResource.NODE, ActionType.ADD | ActionType.NODE_TAINT, self._is_schedulable_after_node_change
            ),
            ClusterEventWithHint(EventResource.UNSCHEDULED_POD, ActionType.POD_TOLERATION, is_update_of),
        )

    def _is_schedulable_after_node_change(self, pod: PodInfo, event: ClusterEvent) -> bool:
        tolerations = pod.derive(self, self._tolerations)
        # A node whose taints were tolerated before did not cause the rejection.
        if event.old is not None and find_untolerated(_taints(event.old), tolerations, DO_NOT_SCHEDULE_EFFECTS) is None:
            return False
        return (
            event.new is not None and find_untolerated(_taints(event.new), tolerations, DO_NOT_SCHEDULE_EFFECTS) is None
        )

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reject a node with an untolerated NoSchedule or NoExecute taint, and report the first one."""
        if not node.taints:
            return SUCCESS
        tolerations = pod.derive(self, self._tolerations)
        taint = find_untolerated(node.taints, tolerations, DO_NOT_SCHEDULE_EFFECTS)
        return SUCCESS if taint is None else self._reject(taint, tolerations)

    def _reject(self, taint: ReadOnlyObject, tolerations: Tolerations) -> Status:
        reason = "node(s) had untolerated taint(s)"
        if self._names_taint:
            reason = f"node(s) had untolerated taint {{{taint.get('key', '')}: {taint.get('value', '')}}}"
        return Status.unresolvable(reason, taint=taint, tolerations=_NearMisses(tolerations, taint, self._caps))

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Score every pod: one without tolerations has the most taints to avoid."""
        return SUCCESS

    def find_pre_score_code(self, spec: ReadOnlyObject) -> Code | None:
        """Return SUCCESS: every pod is scored."""
        return Code.SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the number of untolerated PreferNoSchedule taints."""
        if not node.taints:
            return 0
        tolerations = pod.derive((self, _PREFER_NO_SCHEDULE), self._prefer_no_schedule_tolerations)
        return sum(1 for _ in iterate_untolerated(node.taints, tolerations, (_PREFER_NO_SCHEDULE,)))

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> None:
        """Give the highest score to the node with the fewest."""
        default_normalize_score(scores, reverse=True)

    def _tolerations(self, pod: PodInfo) -> Tolerations:
        return compile_tolerations(pod.spec.get("tolerations") or (), self._rules)

    def _prefer_no_schedule_tolerations(self, pod: PodInfo) -> Tolerations:
        # An empty effect matches every effect.
        return tuple(
            one
            for one in pod.derive(self, self._tolerations)
            if one.source.get("effect", "") in ("", _PREFER_NO_SCHEDULE)
        )


def _taints(node: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return (node.get("spec") or {}).get("taints") or ()
