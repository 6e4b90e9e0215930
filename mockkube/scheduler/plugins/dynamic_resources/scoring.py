"""Score nodes by the position of chosen alternatives in prioritized lists.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (computeScore)
"""

from typing import Final

from mockkube.scheduler.plugins.dynamic_resources.pod_claims import allocation_of
from mockkube.scheduler.plugins.dynamic_resources.state import DynamicResourcesState

_ALTERNATIVES_MAX: Final = 8


def score_alternatives(claim_state: DynamicResourcesState, node_name: str) -> int:
    """Return more points the earlier the chosen alternatives are listed."""
    allocations = iter(claim_state.node_allocations[node_name].allocations)
    score = 0
    for claim in claim_state.claims:
        allocation = allocation_of(claim)
        if allocation is None:
            allocation = next(allocations, None) or {}
        allocated_requests = {result["request"] for result in (allocation.get("devices") or {}).get("results") or ()}
        for request in (claim["spec"].get("devices") or {}).get("requests") or ():
            for index, alternative in enumerate(request.get("firstAvailable") or ()):
                if f"{request['name']}/{alternative['name']}" in allocated_requests:
                    score += _ALTERNATIVES_MAX - index
    return score
