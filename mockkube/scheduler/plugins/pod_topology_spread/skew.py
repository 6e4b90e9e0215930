"""Skew of a hard spread constraint over its domains, with pods added or removed in dry runs.

upstream 1.36: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
"""

from collections.abc import Sequence
from heapq import nsmallest
from operator import itemgetter
from typing import Final

from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.status import SUCCESS, Status
from mockkube.scheduler.plugins.domain_counts import Counts
from mockkube.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint

NAME: Final = "PodTopologySpread"
_MISMATCH: Final = "node(s) didn't match pod topology spread constraints"
_NO_LABEL: Final = f"{_MISMATCH} (missing required label)"


class ConstraintSkew:
    """Constraint with its domains and the number of pods in each."""

    __slots__ = (
        "_changes",
        "_count_max",
        "_counts",
        "_domains",
        "_minimum_count",
        "_rejections",
        "_self_match",
        "_two_lowest",
        "constraint",
        "key",
    )

    def __init__(self, constraint: SpreadConstraint, domains: Counts, counts: Counts, *, self_match: bool) -> None:
        """Take domains (with their number of nodes) and counts; both are shared, so they are only read."""
        self.constraint, self.key = constraint, constraint.topology_key
        self._domains, self._counts, self._self_match = domains, counts, self_match
        # Changes per domain that a dry run makes.
        self._changes: dict[str, int] = {}
        # The two domains with the fewest pods, computed on the first change and shared by all clones: counts do not
        # change.
        self._two_lowest: list[tuple[str, int]] = []
        self._minimum_count = self._compute_minimum()
        self._count_max = self._minimum_count + constraint.max_skew - self_match
        self._rejections: dict[int, Status] = {}

    def clone(self) -> "ConstraintSkew":
        """Return a copy for another dry run."""
        clone = ConstraintSkew.__new__(ConstraintSkew)
        clone.constraint, clone.key = self.constraint, self.key
        clone._domains, clone._counts, clone._self_match = self._domains, self._counts, self._self_match
        clone._changes = dict(self._changes)
        clone._two_lowest, clone._minimum_count, clone._count_max = (
            self._two_lowest,
            self._minimum_count,
            self._count_max,
        )
        clone._rejections = {}
        return clone

    def update(self, domain: str, change: int) -> None:
        """Add pods to a domain, or remove them."""
        if not self._two_lowest:
            counts = ((one, self._counts.get(one, 0)) for one in self._domains)
            self._two_lowest += nsmallest(2, counts, key=itemgetter(1))
        self._changes[domain] = self._changes.get(domain, 0) + change
        self._minimum_count = self._compute_minimum()
        self._count_max = self._minimum_count + self.constraint.max_skew - self._self_match
        self._rejections = {}

    def filter(self, node: NodeInfo) -> Status:  # hot: per pod and node
        """Return SUCCESS if the pod fits the constraint on a node, or the rejection."""
        domain = node.labels.get(self.key)
        if domain is None:
            return Status.unresolvable(_NO_LABEL, topology_key=self.key)
        count = self._counts.get(domain, 0)
        if self._changes:
            count += self._changes.get(domain, 0)
        if count <= self._count_max:
            return SUCCESS
        # Nodes of one domain share a status, so it is built once per count.
        return self._rejections.get(count) or self._reject(count)

    def _compute_minimum(self) -> int:
        """Return the lowest number of pods in a domain; 0 while there are fewer domains than minDomains."""
        domains = len(self._domains) + sum(domain not in self._domains for domain in self._changes)
        if domains < self.constraint.min_domains:
            return 0
        if not self._changes:
            # Counts have no zeros: a domain that is missing there has no pods.
            return min(self._counts.values()) if len(self._counts) == len(self._domains) else 0
        changed_counts = [self._counts.get(domain, 0) + change for domain, change in self._changes.items()]
        return min([*changed_counts, *self._minimum_of_unchanged()])

    def _minimum_of_unchanged(self) -> Sequence[int]:
        """Return the lowest count of the domains that no change affects; empty if there are none."""
        # With two lowest domains known, one of them is not the changed one.
        if len(self._changes) == 1:  # usual: the victims of one preemption share a domain
            return [count for domain, count in self._two_lowest if domain not in self._changes][:1]
        others = [self._counts.get(domain, 0) for domain in self._domains if domain not in self._changes]
        return [min(others)] if others else []

    def _reject(self, count: int) -> Status:
        status = Status.unschedulable(
            _MISMATCH,
            topology_key=self.key,
            matching=count,
            minimum=self._minimum_count,
            skew=count + self._self_match - self._minimum_count,
            max_skew=self.constraint.max_skew,
            min_domains=self.constraint.min_domains,
            domains=len(self._domains),
        )
        self._rejections[count] = status = status.with_plugin(NAME)
        return status
