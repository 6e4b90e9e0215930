"""Devices that must be prepared before a pod with them is bound: whether that is done, failed, or takes too long.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (isClaimReadyForBinding)
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from mockkube.api.times import parse_time
from mockkube.api.types import ReadOnlyObject


class PreparationFailed(Exception):
    """A device cannot be prepared, as one of its conditions says."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


def results_of(claim: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Return the devices of a claim, as far as it has any."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    yield from (allocation.get("devices") or {}).get("results") or ()


def needs_preparation(claim: ReadOnlyObject) -> bool:
    """Whether a device of the claim has conditions that must be true first."""
    return any(result.get("bindingConditions") for result in results_of(claim))


def is_ready(claim: ReadOnlyObject) -> bool:
    """Whether all conditions of all devices are true; PreparationFailed if one says that they will not be."""
    if not (claim.get("status") or {}).get("allocation"):
        return False
    for result in results_of(claim):
        if not result.get("bindingConditions"):
            continue
        conditions = _conditions(claim, result)
        for name in result.get("bindingFailureConditions") or ():
            if (failed := conditions.get(name, {})).get("status") == "True":
                raise PreparationFailed(failed.get("reason", ""), failed.get("message", ""))
        if any(conditions.get(name, {}).get("status") != "True" for name in result["bindingConditions"]):
            return False
    return True


def _conditions(claim: ReadOnlyObject, result: ReadOnlyObject) -> dict[str, ReadOnlyObject]:
    for device in (claim.get("status") or {}).get("devices") or ():
        if all(device.get(part) == result.get(part) for part in ("driver", "pool", "device")):
            return {condition["type"]: condition for condition in device.get("conditions") or ()}
    return {}


def is_late(claim: ReadOnlyObject, now: datetime, seconds_max: float) -> bool:
    """Whether a claim's devices have been waited for too long."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    since = allocation.get("allocationTimestamp")
    if since is None or not needs_preparation(claim):
        return False
    return parse_time(since) + timedelta(seconds=seconds_max) < now
