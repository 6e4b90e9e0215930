"""Results of a what-if: each variant with its states, samples, workloads and disruptions."""

from collections.abc import Sequence
from typing import Any

from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """Nodes of one zone and group, and what is on them."""

    zone: str
    group: str
    nodes: int
    pods: int
    # Requested part of the allocatable cpu and memory, in percent.
    cpu_percent: int
    memory_percent: int


@dataclass(frozen=True, slots=True)
class Sample:
    """State at one moment, in seconds after the change."""

    at: float
    nodes: int
    ready_nodes: int
    running: int
    # Pods without a node.
    pending: int
    # Replicas that workloads lack.
    unavailable: int
    cost_per_hour: float


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """A workload that lacked replicas or lost pods after the change."""

    name: str
    replicas: int
    # Most replicas that it lacked at a time, and the time in which it lacked any.
    unavailable_max: int
    unavailable_seconds: float
    unavailable_at_end: int
    # Number of its pods that ended, by cause.
    disruptions: dict[str, int]

    @property
    def is_pod(self) -> bool:
        """True for a pod without a controller."""
        return self.name.startswith("Pod ")


@dataclass(frozen=True, slots=True)
class PendingPods:
    """Pods of one workload without a node at the end, and the scheduler's reason."""

    workload: str
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class VariantResult:
    """Result of a variant."""

    name: str
    changes: tuple[str, ...]
    samples: tuple[Sample, ...]
    before: tuple[PlacementRow, ...]
    after: tuple[PlacementRow, ...]
    workloads: tuple[WorkloadResult, ...]
    pending: tuple[PendingPods, ...]
    # Seconds after the change at which no workload lacks more replicas than before it; None if that never happens.
    recovered_after: float | None
    # Number of pods that ended, by cause.
    disruptions: dict[str, int]
    cost: float
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> Sample:
        """State before the change."""
        return self.samples[0]

    @property
    def last(self) -> Sample:
        """State at the end."""
        return self.samples[-1]

    @property
    def is_good(self) -> bool:
        """Return whether every workload recovers, no more pods wait than before, and no pod is lost for good."""
        return self.recovered_after is not None and self.last.pending <= self.first.pending and not self.lost_pods

    @property
    def lost_pods(self) -> int:
        """Number of pods without a controller that ended: nothing creates them again."""
        return sum(sum(one.disruptions.values()) for one in self.workloads if one.is_pod)

    @property
    def unavailable_max(self) -> int:
        """Most replicas that workloads lacked together."""
        return max(sample.unavailable for sample in self.samples)


@dataclass(frozen=True, slots=True)
class WhatIfResult:
    """A cluster without and with changes; the baseline is the first of the variants."""

    base: str
    version: str
    seconds: float
    variants: tuple[VariantResult, ...]

    @property
    def baseline(self) -> VariantResult:
        """The cluster without a change."""
        return self.variants[0]

    @property
    def is_good(self) -> bool:
        """Return whether every variant recovers."""
        return all(one.is_good for one in self.variants[1:])


def to_json(result: WhatIfResult) -> dict[str, Any]:
    """Return a result as JSON."""
    return {
        "base": result.base,
        "version": result.version,
        "seconds": result.seconds,
        "variants": [_variant_to_json(one) for one in result.variants],
    }


def _variant_to_json(variant: VariantResult) -> dict[str, Any]:
    return {
        "name": variant.name,
        "changes": list(variant.changes),
        "good": variant.is_good,
        "recoveredAfterSeconds": variant.recovered_after,
        "disruptions": variant.disruptions,
        "lostPods": variant.lost_pods,
        "unavailableMax": variant.unavailable_max,
        "cost": round(variant.cost, 4),
        "costPerHour": round(variant.last.cost_per_hour, 4),
        "nodes": {"before": variant.first.nodes, "after": variant.last.nodes},
        "pending": [{"workload": one.workload, "count": one.count, "reason": one.reason} for one in variant.pending],
        "workloads": [
            {
                "name": one.name,
                "replicas": one.replicas,
                "unavailableMax": one.unavailable_max,
                "unavailableSeconds": one.unavailable_seconds,
                "unavailableAtEnd": one.unavailable_at_end,
                "disruptions": one.disruptions,
            }
            for one in variant.workloads
        ],
        "placement": {"before": _rows_to_json(variant.before), "after": _rows_to_json(variant.after)},
        "samples": [
            {
                "at": one.at,
                "nodes": one.nodes,
                "readyNodes": one.ready_nodes,
                "running": one.running,
                "pending": one.pending,
                "unavailable": one.unavailable,
                "costPerHour": round(one.cost_per_hour, 4),
            }
            for one in variant.samples
        ],
        "notes": list(variant.notes),
    }


def _rows_to_json(rows: Sequence[PlacementRow]) -> list[dict[str, Any]]:
    return [
        {
            "zone": row.zone,
            "group": row.group,
            "nodes": row.nodes,
            "pods": row.pods,
            "cpuPercent": row.cpu_percent,
            "memoryPercent": row.memory_percent,
        }
        for row in rows
    ]
