"""Binding conditions of devices: whether their preparation is done, failed, or takes too long.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (isClaimReadyForBinding)
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time


class DevicePreparationError(Exception):
    """Raised when a binding failure condition of a device is true."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


def allocation_results(claim: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Return the allocated devices of a claim."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    yield from (allocation.get("devices") or {}).get("results") or ()


def needs_preparation(claim: ReadOnlyObject) -> bool:
    """Return whether a device of the claim has binding conditions."""
    return any(result.get("bindingConditions") for result in allocation_results(claim))


def is_ready(claim: ReadOnlyObject) -> bool:
    """Return whether all binding conditions are true; raise DevicePreparationError if one has failed."""
    if not (claim.get("status") or {}).get("allocation"):
        return False
    for result in allocation_results(claim):
        if not result.get("bindingConditions"):
            continue
        conditions = _conditions(claim, result)
        # Failure conditions win over binding conditions that are true already.
        for name in result.get("bindingFailureConditions") or ():
            if (failed := conditions.get(name, {})).get("status") == "True":
                raise DevicePreparationError(failed.get("reason", ""), failed.get("message", ""))
        if any(conditions.get(name, {}).get("status") != "True" for name in result["bindingConditions"]):
            return False
    return True


def _conditions(claim: ReadOnlyObject, result: ReadOnlyObject) -> dict[str, ReadOnlyObject]:
    for device in (claim.get("status") or {}).get("devices") or ():
        if all(device.get(part) == result.get(part) for part in ("driver", "pool", "device")):
            return {condition["type"]: condition for condition in device.get("conditions") or ()}
    return {}


def is_overdue(claim: ReadOnlyObject, now: datetime, seconds_max: float) -> bool:
    """Return whether the claim's devices have been prepared for too long."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    since = allocation.get("allocationTimestamp")
    if since is None or not needs_preparation(claim):
        return False
    return parse_time(since) + timedelta(seconds=seconds_max) < now
