"""DefaultPreemption plugin: find pods of lower priority whose eviction makes a node fit.

It only decides; the scheduling cycle nominates the pod and hands the victims to the preemption executor.

upstream 1.36: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
"""

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.scheduler.fit_error import told
from mockkube.scheduler.framework.events import Action, ClusterEvent, ClusterEventWithHint, Subject
from mockkube.scheduler.framework.interface import (
    Context,
    CycleState,
    Handle,
    PostFilterPlugin,
    PreEnqueuePlugin,
    Remedy,
    Verdicts,
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

    def __init__(self, context: Context, args: ReadOnlyObject) -> None:
        self._nodes, self._random = context.nodes, context.chance
        self._optional_handle = context.handle
        self._budget_informer, self._budgets = context.caches.of("PodDisruptionBudget"), PodDisruptionBudgets()
        self._candidates_percentage, self._candidates_absolute = (
            args["minCandidateNodesPercentage"],
            args["minCandidateNodesAbsolute"],
        )
        self._dry_run = DryRun(context.nodes, self._budgets)
        self._reports_success = context.caps.version >= _REPORTS_SUCCESS_SINCE

    @property
    def _handle(self) -> Handle:
        assert self._optional_handle is not None, "the scheduler sets the handle"
        return self._optional_handle

    # PreEnqueue

    def interests(self) -> Sequence[ClusterEventWithHint]:
        """Register for deleted pods, so that the queue rechecks the gate; the hint itself requeues no pod."""
        return (ClusterEventWithHint(Subject.ASSIGNED_POD, Action.DELETE, _never_helps),)

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

    def post_filter(self, state: CycleState, pod: PodInfo, verdicts: Verdicts) -> Remedy:
        """Return the node and the victims, or why preemption does not help."""
        if reason := self._ineligibility_reason(pod, verdicts):
            return Remedy(Status.unschedulable(f"preemption: {reason}"))
        self._budgets.take(self._budget_informer.list())
        names, results = self._potential_nodes(verdicts), self._dry_run.begin(self._handle, state, pod)
        candidates = self._find_candidates(names, results)
        if not candidates:
            return self._explain_failure(
                {name: one for name in names if isinstance(one := results.known[name], Status)}
            )
        best = pick_one_node_for_preemption(candidates)
        status = SUCCESS
        if self._reports_success:
            count, node = len(best.victims), best.node_name
            text = f"found a potential placement for pod on node {node}, preempting {count} victims"
            status = Status(Code.SUCCESS, (f"preemption: {text}",))
        return Remedy(status, best.node_name, self._current_victims(best))

    def _current_victims(self, best: Candidate) -> tuple[PodInfo, ...]:
        """Return the present revisions of the victims: the candidate may come from a cached dry run."""
        node = self._nodes.get(best.node_name)
        pods = node.pods if node else {}
        return tuple(pods.get(victim.uid, victim) for victim in best.victims)

    def _explain_failure(self, refused: Mapping[str, Status]) -> Remedy:
        errors = [status.message for status in refused.values() if status.code is Code.ERROR]
        if errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
            return Remedy(Status.error(f"preemption: {text}"))
        # An empty node clears the nomination: no node fits even after evictions.
        total = len(self._nodes.all)
        text = f"0/{total} nodes are available:{told(Verdicts(refused, _NOT_HELPFUL), total)}"
        return Remedy(Status.unschedulable(f"preemption: {text}"), node_name="")

    def _ineligibility_reason(self, pod: PodInfo, verdicts: Verdicts) -> str:
        if pod.spec.get("preemptionPolicy") == "Never":
            return _POLICY_NEVER
        nominated = pod.nominated_node
        if not nominated or verdicts.get(nominated).code is Code.UNRESOLVABLE:
            return ""
        node = self._nodes.get(nominated)
        others = node.pods.values() if node else ()
        waits_for_victims = any(other.priority < pod.priority and is_being_preempted(other) for other in others)
        return _TERMINATING_VICTIM if waits_for_victims else ""

    def _potential_nodes(self, verdicts: Verdicts) -> list[str]:
        """Return the nodes on which evictions may help, going by the status codes."""
        if verdicts.absent.code is Code.UNSCHEDULABLE:
            return [node.name for node in self._nodes.all if verdicts.get(node.name).code is Code.UNSCHEDULABLE]
        # Saves a look at each of 5,000 statuses in the common case.
        if verdicts.all_resolvable:
            return list(verdicts.by_node)
        return [name for name, status in verdicts.by_node.items() if status.code is Code.UNSCHEDULABLE]

    def _find_candidates(self, names: Sequence[str], supposed: DryRunResults) -> list[Candidate]:
        """Dry-run nodes until there are enough candidates, one of them without a violated budget.

        If there is no candidate at all, every node has been evaluated.
        """
        if not names:
            return []
        enough = min(max(len(names) * self._candidates_percentage // 100, self._candidates_absolute), len(names))
        # upstream: a random start spreads preemption over the cluster.
        offset = self._random.random.randrange(len(names))
        remaining = chain(names[offset:], names[:offset])
        candidates: list[Candidate] = []
        cached, has_non_violating = supposed.known, False
        while batch := list(islice(remaining, max(enough - len(candidates), 1))):  # hot: per candidate, per pod
            for name in [name for name in batch if name not in cached]:
                cached[name] = supposed.suppose(name)
            batch_candidates = [outcome for name in batch if isinstance(outcome := cached[name], Candidate)]
            candidates += batch_candidates
            has_non_violating = has_non_violating or not all(candidate.violations for candidate in batch_candidates)
            if has_non_violating and len(candidates) >= enough:
                break
        return candidates


def _never_helps(pod: PodInfo, event: ClusterEvent) -> bool:
    return False
