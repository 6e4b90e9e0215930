"""Score a node's storage use by its matched volumes, or by the volumes to provision.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/scorer.go
"""

from collections.abc import Callable, Mapping
from decimal import ROUND_UP, Decimal
from math import floor
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.volumes import parse_amount
from mockkube.scheduler.plugins.volume_binding.volume_finder import PodVolumes

_UTILIZATION_MAX: Final = 100


@dataclass(slots=True)
class StorageUse:
    """Requested storage of a class, and its capacity."""

    requested: int = 0
    capacity: int = 0


def score_storage(pod_volumes: PodVolumes, line: Callable[[int], int]) -> int:
    """Return the mean score of the storage classes' utilizations."""
    # upstream: volumes to provision only count if no existing volume was matched.
    uses = _use_of_matches(pod_volumes) if pod_volumes.matches else _use_of_provisions(pod_volumes)
    if not uses:
        return 0
    total = sum(line(_utilization(use)) for use in uses.values())
    return floor(total / len(uses) + 0.5)


def _utilization(use: StorageUse) -> int:
    if use.capacity == 0 or use.requested > use.capacity:
        return _UTILIZATION_MAX
    return use.requested * _UTILIZATION_MAX // use.capacity


def _use_of_matches(pod_volumes: PodVolumes) -> Mapping[str, StorageUse]:
    uses: dict[str, StorageUse] = {}
    for match in pod_volumes.matches:
        use = uses.setdefault(match.volume.storage_class, StorageUse())
        use.requested += _round_up(match.requirements.size)
        use.capacity += _round_up(match.volume.size)
    return uses


def _use_of_provisions(pod_volumes: PodVolumes) -> Mapping[str, StorageUse]:
    uses: dict[str, StorageUse] = {}
    for provision in pod_volumes.provisions:
        if provision.capacity is not None:
            use = uses.setdefault(provision.requirements.storage_class, StorageUse())
            use.capacity = _round_up(parse_amount(provision.capacity.get("capacity")))
            use.requested += _round_up(provision.requirements.size)
    return uses


def _round_up(size: Decimal) -> int:
    return int(size.to_integral_value(ROUND_UP))
