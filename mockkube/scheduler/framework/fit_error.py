"""FitError: no node fits a pod; which plugins rejected it, and the message for users.

upstream 1.36: pkg/scheduler/framework/types.go
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import field
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.interface import NodeToStatus, PostFilterResult
from mockkube.scheduler.framework.status import SUCCESS, Code, Status

_REJECTION_CODES: Final = (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)
NO_NODES: Final = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Plugins that rejected a pod.

    `unschedulable_plugins` are all of them, `pending_plugins` those that wait for something outside the scheduler.
    """

    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()

    @classmethod
    def from_rejections(cls, answers: Collection[tuple[str, Code]], narrowed_by: Collection[str] = ()) -> "Diagnosis":
        """Return the plugins whose codes are rejections, and those that excluded nodes in PreFilter."""
        refused = {plugin for plugin, code in answers if plugin and code in _REJECTION_CODES}
        pending = {plugin for plugin, code in answers if plugin and code is Code.PENDING}
        return cls(frozenset(refused.union(narrowed_by)), frozenset(pending))


@dataclass(frozen=True, slots=True)
class FitError:
    """No node fits the pod."""

    num_all_nodes: int
    node_to_status: NodeToStatus = field(default_factory=lambda: NodeToStatus({}))
    pre_filter_message: str = ""
    """Message of a PreFilter plugin that rejected the pod before any node was filtered."""
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    post_filter_result: PostFilterResult | None = None

    @property
    def message(self) -> str:
        """Text of the condition and the event, in upstream's words."""
        if not self.num_all_nodes:
            return NO_NODES
        text = (
            f" {self.pre_filter_message}."
            if self.pre_filter_message
            else format_reasons(self.node_to_status, self.num_all_nodes)
        )
        post_filter_message = self.post_filter_result.status.message if self.post_filter_result else ""
        after = f" {post_filter_message}" if post_filter_message else ""
        return f"0/{self.num_all_nodes} nodes are available:{text}{after}"


def format_reasons(node_to_status: NodeToStatus, nodes: int) -> str:
    """Format the reasons with the number of nodes for each, sorted as text."""
    reasons: Counter[str] = Counter()
    counts_by_reasons = node_to_status.reason_counts
    if counts_by_reasons is None:
        counts_by_reasons = Counter([status.reasons for status in node_to_status.by_node.values()])
    for reasons_of_node, count in counts_by_reasons.items():
        for reason in reasons_of_node:
            reasons[reason] += count
    absent = nodes - len(node_to_status.by_node)
    if absent > 0:
        for reason in node_to_status.absent_nodes_status.reasons:
            reasons[reason] += absent
    # upstream: sorted as strings, so that "10 ..." comes before "2 ...".
    lines = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f" {', '.join(lines)}." if lines else ""


def fit_error_on_node(node_name: str, status: Status) -> FitError:
    """Return the error of a pod that was rejected on the node chosen for it."""
    assert status is not SUCCESS, "a success is no rejection"
    return FitError(
        1, NodeToStatus({node_name: status}), diagnosis=Diagnosis.from_rejections([(status.plugin, status.code)])
    )
