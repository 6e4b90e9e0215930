"""How unevenly pods are spread over the domains of a hard constraint, also supposing that pods come or go.

upstream 1.36: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from operator import itemgetter

from mockkube.scheduler.framework.status import Status
from mockkube.scheduler.plugins.domain_counts import Counts
from mockkube.scheduler.plugins.pod_topology_spread_constraints import Constraint

_MISMATCH = "node(s) didn't match pod topology spread constraints"
_NO_LABEL = f"{_MISMATCH} (missing required label)"


@dataclass(slots=True)
class Skew:
    """One constraint and how many pods each domain has."""

    constraint: Constraint
    counts: Counts
    """Those that are there; shared, so only read."""
    self_counts: bool
    """Whether the pod to be placed counts for its own constraint."""
    supposed: dict[str, int] = field(default_factory=dict)
    """What pods that are supposed to come or go add to their domains."""
    _lowest: Sequence[tuple[str, int]] = ()
    _count_max: int | None = None
    _refusals: dict[int, Status] = field(default_factory=dict)

    def suppose(self, domain: str, change: int) -> None:
        """Suppose that pods have come to a domain or gone from it."""
        if not self._lowest:
            self._lowest = nsmallest(2, self.counts.items(), key=itemgetter(1))
        self.supposed[domain] = self.supposed.get(domain, 0) + change
        self._count_max = None
        self._refusals = {}

    def clone(self) -> "Skew":
        """Return a skew to suppose other things about."""
        return replace(self, supposed=dict(self.supposed), _refusals={})

    def judge(self, labels: Mapping[str, str]) -> Status | None:  # hot: per pod and node
        """Return why a node with these labels cannot take the pod; None if it can."""
        domain = labels.get(self.constraint.topology_key)
        if domain is None:
            return Status.unresolvable(_NO_LABEL, topology_key=self.constraint.topology_key)
        count = self.counts.get(domain, 0)
        if self.supposed:
            count += self.supposed.get(domain, 0)
        if self._count_max is None:
            self._count_max = self.constraint.max_skew + self._minimum() - self.self_counts
        return None if count <= self._count_max else self._refuse(count)

    def _minimum(self) -> int:
        """Return the least number of pods a domain has; 0 while there are fewer domains than asked for."""
        domains = len(self.counts) + sum(domain not in self.counts for domain in self.supposed)
        if domains < self.constraint.min_domains:
            return 0
        if not self.supposed:
            return min(self.counts.values())
        return min(
            *(self.counts.get(domain, 0) + change for domain, change in self.supposed.items()), *self._least_of_others()
        )

    def _least_of_others(self) -> Sequence[int]:
        """Return the least count among the domains about which nothing is supposed; nothing if there are none."""
        if len(self.supposed) == 1:  # victims of one preemption are on one node
            return [count for domain, count in self._lowest if domain not in self.supposed][:1]
        others = [count for domain, count in self.counts.items() if domain not in self.supposed]
        return [min(others)] if others else []

    def _refuse(self, count: int) -> Status:
        refusal = self._refusals.get(count)
        if refusal is None:
            minimum = self._minimum()
            refusal = self._refusals[count] = Status.unschedulable(
                _MISMATCH,
                topology_key=self.constraint.topology_key,
                matching=count,
                minimum=minimum,
                skew=count + self.self_counts - minimum,
                max_skew=self.constraint.max_skew,
                min_domains=self.constraint.min_domains,
                domains=len(self.counts),
            )
        return refusal
