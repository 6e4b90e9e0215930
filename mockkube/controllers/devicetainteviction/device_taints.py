"""Device taints of slices and rules, and the time at which they evict users of a device.

upstream 1.36: pkg/controller/devicetainteviction/device_taint_eviction.go
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import add_seconds, parse_time
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.taints import TaintRules, compile_tolerations

NO_EXECUTE: Final = "NoExecute"


class PendingEviction(NamedTuple):
    """Time at which users of a device must be evicted, and the uids of the rules that cause it."""

    when: datetime
    rules: frozenset[str]


@dataclass(frozen=True, slots=True)
class DeviceTaints:
    """ResourceSlices and DeviceTaintRules at one moment."""

    slices: Sequence[ReadOnlyObject]
    rules: Sequence[ReadOnlyObject]

    def current_slices(self, driver: str, pool: str) -> list[ReadOnlyObject]:
        """Return the slices of a pool's latest generation."""
        slices = [one for one in self.slices if is_in_pool(one, driver, pool)]
        # Slices of older generations are outdated, and the driver deletes them.
        latest = max((one["spec"]["pool"].get("generation", 0) for one in slices), default=0)
        return [one for one in slices if one["spec"]["pool"].get("generation", 0) == latest]

    def evicting_taints(self, result: ReadOnlyObject) -> Iterator[tuple[ReadOnlyObject, str]]:
        """Yield the NoExecute taints of an allocated device, with the uid of the rule (empty for slices)."""
        for one in self.current_slices(result["driver"], result["pool"]):
            for device in one["spec"].get("devices", ()):
                if device["name"] == result["device"]:
                    yield from ((taint, "") for taint in device.get("taints", ()) if taint["effect"] == NO_EXECUTE)
        for rule in self.rules:
            if rule["spec"]["taint"]["effect"] == NO_EXECUTE and selects_device(rule, result):
                yield rule["spec"]["taint"], rule["metadata"]["uid"]


def is_in_pool(resource_slice: ReadOnlyObject, driver: str, pool: str) -> bool:
    """Return whether a slice belongs to a pool."""
    spec = resource_slice["spec"]
    return bool(spec["driver"] == driver and spec["pool"]["name"] == pool)


def selects_device(rule: ReadOnlyObject, result: ReadOnlyObject) -> bool:
    """Return whether a rule selects a device, given as `driver`, `pool` and `device`."""
    selector = rule["spec"].get("deviceSelector")
    # As upstream, a rule without a selector matches nothing; an empty selector matches every device.
    if selector is None:
        return False
    return all(selector.get(name) in (None, result[name]) for name in ("driver", "pool", "device"))


def find_claim_eviction(claim: ReadOnlyObject, taints: DeviceTaints, operators: TaintRules) -> PendingEviction | None:
    """Return the eviction for an allocated claim; None if its users may stay."""
    found = [
        PendingEviction(when, frozenset({rule} - {""}))
        for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
        for taint, rule in taints.evicting_taints(result)
        if (when := _eviction_time(taint, result.get("tolerations", ()), operators)) is not None
    ]
    return merge_evictions(found)


def merge_evictions(evictions: Iterable[PendingEviction]) -> PendingEviction | None:
    """Return the earliest time, with the rules of all evictions; None without evictions."""
    found = list(evictions)
    if not found:
        return None
    return PendingEviction(min(one.when for one in found), frozenset().union(*(one.rules for one in found)))


def _eviction_time(
    taint: ReadOnlyObject, tolerations: Iterable[ReadOnlyObject], operators: TaintRules
) -> datetime | None:
    """Return when a taint evicts; None if it is tolerated for ever. The shortest toleration counts."""
    applicable = (one for one in tolerations if one.get("effect") == NO_EXECUTE)
    matching = [one.source for one in compile_tolerations(applicable, operators) if one.tolerates(taint)]
    if any("tolerationSeconds" not in one for one in matching):
        return None
    seconds: list[int] = [one["tolerationSeconds"] for one in matching]
    return add_seconds(parse_time(taint["timeAdded"]), max(min(seconds, default=0), 0))
