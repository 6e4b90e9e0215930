"""NodeResourcesBalancedAllocation plugin: prefer nodes on which the pod balances the use of resources.

upstream 1.36: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go
"""

import math
from collections.abc import Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.scheduler.framework.interface import (
    SCORE_MAX,
    CacheScope,
    CycleState,
    PluginDependencies,
    PreScorePlugin,
    ScorePlugin,
)
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status
from mockkube.scheduler.plugins.node_resources.allocation import ResourceAllocation

# Before this version only the balance with the pod counted, not the change that it makes.
_SCORES_CHANGE_SINCE: Final = Version(1, 36)


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Scores nodes by how the pod changes the balance of their resources."""

    name = "NodeResourcesBalancedAllocation"
    score_scope = CacheScope.LOAD

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._reader = PodRequestCalculator(dependencies.caps)
        self._allocation = ResourceAllocation.from_resources(args["resources"], nonzero=False)
        self._scores_change = dependencies.caps.version >= _SCORES_CHANGE_SINCE

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Skip pods without requests: all of them would get the same node."""
        return SUCCESS if any(self._pod_requests(pod)) else SKIP

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the score for the change of the balance; 75 means no change."""
        shares = self._allocation.shares_with_pod(self._pod_requests(pod), node)
        after = _balance([min(share.requested / share.capacity, 1.0) for share in shares])
        if not self._scores_change:
            return after
        before = _balance([min(share.allocated / share.capacity, 1.0) for share in shares])
        return SCORE_MAX // 2 + (SCORE_MAX // 2 + after - before) // 2

    def _pod_requests(self, pod: PodInfo) -> tuple[int, ...]:
        return self._reader.derive(pod, self, self._allocation.pod_requests)


def _balance(fractions: Sequence[float]) -> int:
    """Return 100 minus the standard deviation in percent."""
    deviation = 0.0
    # upstream has this shortcut; the result may differ from the general formula in the last digit.
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = sum(fractions) / len(fractions)
        deviation = math.sqrt(sum((one - mean) * (one - mean) for one in fractions) / len(fractions))
    return int((1 - deviation) * SCORE_MAX)
