"""DefaultPreemption plugin: find pods of lower priority whose eviction makes a node fit.

It only decides; the scheduling cycle nominates the pod and hands the victims to the preemption executor.

upstream 1.36: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
"""

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.fit_error import format_reasons
from mockkube.scheduler.framework.interface import (
    CycleState,
    Handle,
    NodeToStatus,
    PluginDependencies,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
)
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.preemption.candidates import Candidate, is_being_preempted, pick_one_node_for_preemption
from mockkube.scheduler.preemption.dry_run import DryRun, DryRunResults
from mockkube.scheduler.preemption.pod_disruption_budgets import PodDisruptionBudgets

_POLICY_NEVER: Final = "not eligible due to preemptionPolicy=Never."
_TERMINATING_VICTIM: Final = "not eligible due to a terminating pod on the nominated node."
_NOT_HELPFUL: Final = Status.unresolvable("Preemption is not helpful for scheduling")
# From this version on the status of a success has a message.
_REPORTS_SUCCESS_SINCE: Final = Version(1, 37)


class DefaultPreemption(PostFilterPlugin, PreEnqueuePlugin):
    """Finds the node with the cheapest victims, and keeps the preemptor waiting while they are evicted."""

    name = "DefaultPreemption"

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._nodes, self._random = dependencies.nodes, dependencies.random
        self._optional_handle = dependencies.handle
        self._budget_informer, self._budgets = (
            dependencies.informers.informer_for("PodDisruptionBudget"),
            PodDisruptionBudgets(),
        )
        self._candidates_percentage, self._candidates_absolute = (
            args["minCandidateNodesPercentage"],
            args["minCandidateNodesAbsolute"],
        )
        self._dry_run = DryRun(dependencies.nodes, self._budgets)
        self._reports_success = dependencies.caps.version >= _REPORTS_SUCCESS_SINCE

    @property
    def _handle(self) -> Handle:
        assert self._optional_handle is not None, "the scheduler sets the handle"
        return self._optional_handle

    # PreEnqueue

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for deleted pods, so that the queue rechecks the gate; the hint itself requeues no pod."""
        return (ClusterEventWithHint(EventResource.ASSIGNED_POD, ActionType.DELETE, _never_helps),)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Reject a pod for which others are being evicted."""
        # Before the victims are gone an attempt would fail, or preempt on yet another node.
        if self._handle.is_running_preemption(pod.uid):
            return Status.unresolvable("waiting for the preemption for this pod to be finished")
        return SUCCESS

    def is_certain_to_reject(self, pod: PodInfo) -> bool:
        """Return whether more than one victim is left."""
        return self._handle.has_pending_victims(pod.uid)

    # PostFilter

    def post_filter(self, state: CycleState, pod: PodInfo, node_to_status: NodeToStatus) -> PostFilterResult:
        """Return the node and the victims, or why preemption does not help."""
        if reason := self._ineligibility_reason(pod, node_to_status):
            return PostFilterResult(Status.unschedulable(f"preemption: {reason}"))
        self._budgets.replace(self._budget_informer.list())
        names, results = self._potential_nodes(node_to_status), self._dry_run.start(self._handle, state, pod)
        candidates = self._find_candidates(names, results)
        if not candidates:
            return self._explain_failure(
                {name: one for name in names if isinstance(one := results.cached[name], Status)}
            )
        best = pick_one_node_for_preemption(candidates)
        status = SUCCESS
        if self._reports_success:
            count, node = len(best.victims), best.node_name
            text = f"found a potential placement for pod on node {node}, preempting {count} victims"
            status = Status(Code.SUCCESS, (f"preemption: {text}",))
        return PostFilterResult(status, best.node_name, self._current_victims(best))

    def _current_victims(self, best: Candidate) -> tuple[PodInfo, ...]:
        """Return the present revisions of the victims: the candidate may come from a cached dry run."""
        node = self._nodes.get(best.node_name)
        pods = node.pods if node else {}
        return tuple(pods.get(victim.uid, victim) for victim in best.victims)

    def _explain_failure(self, refused: Mapping[str, Status]) -> PostFilterResult:
        errors = [status.message for status in refused.values() if status.code is Code.ERROR]
        if errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
            return PostFilterResult(Status.error(f"preemption: {text}"))
        # An empty node clears the nomination: no node fits even after evictions.
        total = len(self._nodes.all)
        text = f"0/{total} nodes are available:{format_reasons(NodeToStatus(refused, _NOT_HELPFUL), total)}"
        return PostFilterResult(Status.unschedulable(f"preemption: {text}"), node_name="")

    def _ineligibility_reason(self, pod: PodInfo, node_to_status: NodeToStatus) -> str:
        if pod.spec.get("preemptionPolicy") == "Never":
            return _POLICY_NEVER
        nominated = pod.nominated_node
        if not nominated or node_to_status.get(nominated).code is Code.UNRESOLVABLE:
            return ""
        node = self._nodes.get(nominated)
        others = node.pods.values() if node else ()
        waits_for_victims = any(other.priority < pod.priority and is_being_preempted(other) for other in others)
        return _TERMINATING_VICTIM if waits_for_victims else ""

    def _potential_nodes(self, node_to_status: NodeToStatus) -> list[str]:
        """Return the nodes on which evictions may help, going by the status codes."""
        if node_to_status.absent_nodes_status.code is Code.UNSCHEDULABLE:
            return [node.name for node in self._nodes.all if node_to_status.get(node.name).code is Code.UNSCHEDULABLE]
        # Saves a look at each of 5,000 statuses in the common case.
        if node_to_status.all_resolvable:
            return list(node_to_status.by_node)
        return [name for name, status in node_to_status.by_node.items() if status.code is Code.UNSCHEDULABLE]

    def _find_candidates(self, names: Sequence[str], results: DryRunResults) -> list[Candidate]:
        """Dry-run nodes until there are enough candidates, one of them without a violated budget.

        If there is no candidate at all, every node has been evaluated.
        """
        if not names:
            return []
        enough = min(max(len(names) * self._candidates_percentage // 100, self._candidates_absolute), len(names))
        # upstream: a random start spreads preemption over the cluster.
        offset = self._random.generator.randrange(len(names))
        remaining = chain(names[offset:], names[:offset])
        candidates: list[Candidate] = []
        cached, has_non_violating = results.cached, False
        while batch := list(islice(remaining, max(enough - len(candidates), 1))):  # hot: per candidate, per pod
            for name in [name for name in batch if name not in cached]:
                cached[name] = results.evaluate(name)
            batch_candidates = [outcome for name in batch if isinstance(outcome := cached[name], Candidate)]
            candidates += batch_candidates
            has_non_violating = has_non_violating or not all(candidate.violations for candidate in batch_candidates)
            if has_non_violating and len(candidates) >= enough:
                break
        return candidates


def _never_helps(pod: PodInfo, event: ClusterEvent) -> bool:
    return False
