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
from mockkube.scheduler.plugins.pod_topology_spread.constraints import Constraint

NAME: Final = "PodTopologySpread"
_MISMATCH: Final = "node(s) didn't match pod topology spread constraints"
_NO_LABEL: Final = f"{_MISMATCH} (missing required label)"


class Skew:
    """Constraint with its domains and the number of pods in each."""

    __slots__ = (
        "_count_max",
        "_counts",
        "_domains",
        "_least",
        "_lowest",
        "_refusals",
        "_self_counts",
        "_supposed",
        "constraint",
        "key",
    )

    def __init__(self, constraint: Constraint, domains: Counts, counts: Counts, *, self_counts: bool) -> None:
        """Take domains (with their number of nodes) and counts; both are shared, so they are only read."""
        self.constraint, self.key = constraint, constraint.topology_key
        self._domains, self._counts, self._self_counts = domains, counts, self_counts
        # Changes per domain that a dry run makes.
        self._supposed: dict[str, int] = {}
        # The two domains with the fewest pods, computed on the first change and shared by all clones: counts do not
        # change.
        self._lowest: list[tuple[str, int]] = []
        self._least = self._compute_minimum()
        self._count_max = self._least + constraint.max_skew - self_counts
        self._refusals: dict[int, Status] = {}

    def clone(self) -> "Skew":
        """Return a copy for another dry run."""
        clone = Skew.__new__(Skew)
        clone.constraint, clone.key = self.constraint, self.key
        clone._domains, clone._counts, clone._self_counts = self._domains, self._counts, self._self_counts
        clone._supposed = dict(self._supposed)
        clone._lowest, clone._least, clone._count_max = self._lowest, self._least, self._count_max
        clone._refusals = {}
        return clone

    def suppose(self, domain: str, change: int) -> None:
        """Add pods to a domain, or remove them."""
        if not self._lowest:
            counts = ((one, self._counts.get(one, 0)) for one in self._domains)
            self._lowest += nsmallest(2, counts, key=itemgetter(1))
        self._supposed[domain] = self._supposed.get(domain, 0) + change
        self._least = self._compute_minimum()
        self._count_max = self._least + self.constraint.max_skew - self._self_counts
        self._refusals = {}

    def judge(self, node: NodeInfo) -> Status:  # hot: per pod and node
        """Return SUCCESS if the pod fits the constraint on a node, or the rejection."""
        domain = node.labels.get(self.key)
        if domain is None:
            return Status.unresolvable(_NO_LABEL, topology_key=self.key)
        count = self._counts.get(domain, 0)
        if self._supposed:
            count += self._supposed.get(domain, 0)
        if count <= self._count_max:
            return SUCCESS
        # Nodes of one domain share a status, so it is built once per count.
        return self._refusals.get(count) or self._reject(count)

    def _compute_minimum(self) -> int:
        """Return the lowest number of pods in a domain; 0 while there are fewer domains than minDomains."""
        domains = len(self._domains) + sum(domain not in self._domains for domain in self._supposed)
        if domains < self.constraint.min_domains:
            return 0
        if not self._supposed:
            # Counts have no zeros: a domain that is missing there has no pods.
            return min(self._counts.values()) if len(self._counts) == len(self._domains) else 0
        changed_counts = [self._counts.get(domain, 0) + change for domain, change in self._supposed.items()]
        return min([*changed_counts, *self._minimum_of_unchanged()])

    def _minimum_of_unchanged(self) -> Sequence[int]:
        """Return the lowest count of the domains that no change affects; empty if there are none."""
        # With two lowest domains known, one of them is not the changed one.
        if len(self._supposed) == 1:  # usual: the victims of one preemption share a domain
            return [count for domain, count in self._lowest if domain not in self._supposed][:1]
        others = [self._counts.get(domain, 0) for domain in self._domains if domain not in self._supposed]
        return [min(others)] if others else []

    def _reject(self, count: int) -> Status:
        status = Status.unschedulable(
            _MISMATCH,
            topology_key=self.key,
            matching=count,
            minimum=self._least,
            skew=count + self._self_counts - self._least,
            max_skew=self.constraint.max_skew,
            min_domains=self.constraint.min_domains,
            domains=len(self._domains),
        )
        self._refusals[count] = status = status.of(NAME)
        return status
