"""Validate the status of ResourceClaims: allocation, consumers, device status."""

from collections.abc import Iterable
from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required, too_long, too_many
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.resource.device_fields import (
    drop_fields,
    validate_binding_conditions,
    validate_configuration,
    validate_items,
    validate_pool_name,
    validate_raw_object,
    validate_set,
    validate_uid,
)
from mockkube.api.kinds.resource.device_forms import ALLOCATION
from mockkube.api.kinds.resource.device_requests import (
    RequestNames,
    request_names,
    uses_consumable_capacity,
    validate_request_reference,
    validate_request_references,
)
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.addresses import validate_interface_address
from mockkube.api.validation.conditions import validate_conditions
from mockkube.api.validation.formats import validate_csi_driver_name, validate_label
from mockkube.api.validation.internal_form import to_internal
from mockkube.api.validation.node_selector import NodeSelectorOptions, validate_node_selector

RESERVED_FOR_MAX: Final = 256
RESULTS_MAX: Final = 32
CONFIG_MAX: Final = 64
CONDITIONS_MAX: Final = 8
IPS_MAX: Final = 16
INTERFACE_NAME_BYTES_MAX: Final = 256
HARDWARE_ADDRESS_BYTES_MAX: Final = 128
_CONFIG_SOURCES: Final = ("FromClaim", "FromClass")
_IMMUTABLE: Final = "field is immutable"


def validate_claim_status(new: ReadOnlyObject, old: ReadOnlyObject) -> list[FieldError]:
    """Validate a change of a claim's status."""
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation, users = status.get("allocation"), status.get("reservedFor") or []
    errors = validate_set(
        users,
        "status.reservedFor",
        _validate_consumer,
        key=lambda user: user.get("uid", ""),
        items_max=RESERVED_FOR_MAX,
    )
    allocated = set(_allocated_device_ids(status))
    errors += validate_set(
        status.get("devices"),
        "status.devices",
        lambda device, at: _validate_device_status(device, at, allocated),
        key=_device_id,
        form=_to_internal_device_id,
    )
    if users and allocation is None:
        errors.append(forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    elif new["metadata"].get("deletionTimestamp") and any(
        user not in (before.get("reservedFor") or []) for user in users
    ):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(forbidden("status.reservedFor", detail))
    if allocation is None:
        return errors
    # An allocation is validated when it is made; after that it is immutable until it is removed.
    if before.get("allocation") is None:
        return errors + _validate_allocation(allocation, request_names(new["spec"].get("devices") or {}))
    if allocation != before["allocation"]:
        errors.append(invalid("status.allocation", to_internal(allocation, ALLOCATION), _IMMUTABLE))
    return errors


def _validate_consumer(user: ReadOnlyObject, at: str) -> list[FieldError]:
    return [required(f"{at}.{name}") for name in ("resource", "name", "uid") if not user.get(name)]


def _validate_allocation(allocation: ReadOnlyObject, known: RequestNames) -> list[FieldError]:
    at, devices = "status.allocation.devices", allocation.get("devices") or {}
    errors = validate_items(
        devices.get("results"),
        f"{at}.results",
        lambda result, here: _validate_result(result, here, known),
        items_max=RESULTS_MAX,
    )
    errors += validate_items(
        devices.get("config"),
        f"{at}.config",
        lambda config, here: _validate_config(config, here, known),
        items_max=CONFIG_MAX,
    )
    selector = allocation.get("nodeSelector")
    if selector is not None:
        errors += validate_node_selector(selector, "status.allocation.nodeSelector", NodeSelectorOptions())
    return errors


def _validate_device_identity(device: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_csi_driver_name(device.get("driver", ""), f"{at}.driver")
    errors += validate_pool_name(device.get("pool", ""), f"{at}.pool")
    return errors + validate_label(device.get("device", ""), f"{at}.device")


def _validate_share_id(device: ReadOnlyObject, at: str) -> list[FieldError]:
    return validate_uid(device["shareID"], f"{at}.shareID") if device.get("shareID") is not None else []


def _validate_result(result: ReadOnlyObject, at: str, known: RequestNames) -> list[FieldError]:
    errors = validate_request_reference(result.get("request", ""), f"{at}.request", known)
    return (
        errors
        + _validate_device_identity(result, at)
        + validate_binding_conditions(result, at)
        + _validate_share_id(result, at)
    )


def _validate_config(config: ReadOnlyObject, at: str, known: RequestNames) -> list[FieldError]:
    source = config.get("source", "")
    errors = [] if source else [required(f"{at}.source")]
    if source and source not in _CONFIG_SOURCES:
        errors.append(not_supported(f"{at}.source", source, _CONFIG_SOURCES))
    errors += validate_request_references(config.get("requests"), f"{at}.requests", known)
    return errors + validate_configuration(config, at)


def _validate_device_status(device: ReadOnlyObject, at: str, allocated: set[str]) -> list[FieldError]:
    errors = _validate_device_identity(device, at) + _validate_share_id(device, at)
    # A driver reports on allocated devices only; the status of others is dropped before, when they are deallocated.
    if _device_id(device) not in allocated:
        errors.append(invalid(at, _to_internal_device_id(device), "must be an allocated device in the claim"))
    conditions = device.get("conditions") or []
    if len(conditions) > CONDITIONS_MAX:
        errors.append(too_many(f"{at}.conditions", len(conditions), CONDITIONS_MAX))
    errors += validate_conditions(conditions, f"{at}.conditions")
    if device.get("data") is not None:
        errors += validate_raw_object(device["data"], f"{at}.data")
    if device.get("networkData") is not None:
        errors += _validate_network_data(device["networkData"], f"{at}.networkData")
    return errors


def _validate_network_data(network: ReadOnlyObject, at: str) -> list[FieldError]:
    bounds = (("interfaceName", INTERFACE_NAME_BYTES_MAX), ("hardwareAddress", HARDWARE_ADDRESS_BYTES_MAX))
    errors = [
        too_long(f"{at}.{name}", bytes_max)
        for name, bytes_max in bounds
        if len(network.get(name, "").encode()) > bytes_max
    ]
    return errors + validate_set(network.get("ips"), f"{at}.ips", validate_interface_address, items_max=IPS_MAX)


def _device_id(device: ReadOnlyObject) -> str:
    """Return the id of a device, or of a share of one."""
    name = "/".join(device.get(part, "") for part in ("driver", "pool", "device"))
    return f"{name}/{device['shareID']}" if device.get("shareID") else name


def _to_internal_device_id(device: ReadOnlyObject) -> Object:
    """Return the id of a device as error messages print it."""
    parts = {name.capitalize(): device.get(name, "") for name in ("driver", "pool", "device")}
    return {**parts, "ShareID": device.get("shareID") or ""}


def _allocation_results(status: ReadOnlyObject) -> list[Object]:
    return ((status.get("allocation") or {}).get("devices") or {}).get("results") or []


def _allocated_device_ids(status: ReadOnlyObject) -> Iterable[str]:
    return map(_device_id, _allocation_results(status))


def drop_deallocated_device_status(new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
    """Drop the status of devices that the update deallocates."""
    status, before = new.get("status") or {}, old.get("status") or {}
    # drop_disabled_status_fields has removed the field already in this case.
    if not context.caps.enabled("DRAResourceClaimDeviceStatus") and not before.get("devices"):
        return
    deallocated = set(_allocated_device_ids(before)).difference(_allocated_device_ids(status))
    remaining = [device for device in status.get("devices") or [] if _device_id(device) not in deallocated]
    if remaining:
        status["devices"] = remaining
    else:
        status.pop("devices", None)


def drop_disabled_status_fields(new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
    """Drop status fields of disabled gates that are not in use."""
    # upstream 1.36: pkg/registry/resource/resourceclaim/strategy.go
    status, before = new.get("status") or {}, old.get("status") or {}
    results, stored = _allocation_results(status), _allocation_results(before)
    requested = old["spec"].get("devices") or {}
    enabled = context.caps.enabled
    if not enabled("DRAResourceClaimDeviceStatus") and not before.get("devices"):
        status.pop("devices", None)
    # A claim that was admitted with a gated request must get the matching result, although the gate is off by now.
    exact = [each.get("exactly") or {} for each in requested.get("requests") or ()]
    if not enabled("DRAAdminAccess") and not any("adminAccess" in each for each in (*exact, *stored)):
        drop_fields(results, "adminAccess")
    shared = (*stored, *(before.get("devices") or ()))
    shares = any("shareID" in each or "consumedCapacity" in each for each in shared)
    if not enabled("DRAConsumableCapacity") and not uses_consumable_capacity(requested) and not shares:
        drop_fields(results, "shareID", "consumedCapacity")
        drop_fields(status.get("devices"), "shareID")
    bound = any("bindingConditions" in each or "bindingFailureConditions" in each for each in stored)
    if not enabled("DRADeviceBindingConditions") and not bound:
        drop_fields(results, "bindingConditions", "bindingFailureConditions")
