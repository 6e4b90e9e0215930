"""Scoring by soft spread constraints.

upstream 1.36: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
"""

import math
from collections.abc import Sequence

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.interface import SCORE_MAX
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.plugins.domain_counts import Counts


@dataclass(frozen=True, slots=True)
class SoftConstraint:
    """Soft constraint prepared for scoring."""

    topology_key: str
    counts: Counts
    """Pods by domain, or by node where each node is a domain."""
    by_node: bool
    # upstream: log(domains + 2), or constraints with many small domains would count less than those with few.
    weight: float
    """Score per pod; more domains make it greater."""
    slack: int
    """Constant per domain (maxSkew - 1), so that differences weigh less where more skew is allowed."""

    def add_scores(
        self, scores: Sequence[float], nodes: Sequence[NodeInfo]
    ) -> list[float]:  # hot: per pod, for all nodes
        """Return scores plus this constraint's score of each node; nodes without the key keep theirs."""
        key, counts, weight, slack = self.topology_key, self.counts, self.weight, self.slack
        pairs = zip(scores, nodes, strict=True)
        if self.by_node:
            return [
                score + (counts.get(node.name, 0) * weight + slack) if key in node.labels else score
                for score, node in pairs
            ]
        return [
            score + (counts.get(node.labels[key], 0) * weight + slack) if key in node.labels else score
            for score, node in pairs
        ]


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """All soft constraints of a pod."""

    parts: Sequence[SoftConstraint]
    ignored_nodes: frozenset[str]
    """Nodes without one of the topology keys; they score 0."""

    def score_nodes(self, nodes: Sequence[NodeInfo]) -> list[int]:
        """Return the weighted number of pods in the domains of each node."""
        scores = [0.0] * len(nodes)
        for part in self.parts:
            scores = part.add_scores(scores, nodes)
        if self.ignored_nodes:
            scores = [
                0.0 if node.name in self.ignored_nodes else score for node, score in zip(nodes, scores, strict=True)
            ]
        # Go rounds half away from zero, Python to even.
        return [math.floor(score + 0.5) for score in scores]

    def normalize(self, nodes: Sequence[NodeInfo], scores: list[int]) -> None:
        """Invert and scale scores in place, so that the fewest pods give the highest score."""
        left_out = self.ignored_nodes
        counted = [score for node, score in zip(nodes, scores, strict=True) if node.name not in left_out]
        greatest = max(counted, default=0)
        span = greatest + min(counted, default=0)
        for at, score in enumerate(scores):
            if left_out and nodes[at].name in left_out:
                scores[at] = 0
            else:
                scores[at] = SCORE_MAX * (span - score) // greatest if greatest else SCORE_MAX
