"""ResourceSlice: strategy, defaults, validation and printer columns."""

from collections.abc import Iterable
from datetime import datetime
from types import MappingProxyType
from typing import Final

from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.resource.device_fields import drop_fields, name_key, validate_pool_name, validate_set
from mockkube.api.kinds.resource.device_forms import TERMS
from mockkube.api.kinds.resource.devices import LIST_ATTRIBUTES, validate_counters, validate_device
from mockkube.api.kinds.resource.taint_times import set_slice_taint_times
from mockkube.api.printers.accessors import name_of, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_csi_driver_name, validate_label, validate_subdomain
from mockkube.api.validation.internal_form import to_internal
from mockkube.api.validation.node_selector import NodeSelectorOptions, validate_node_selector
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

# upstream 1.36: pkg/apis/resource/v1/defaults.go and zz_generated.defaults.go
_NO_MULTIPLIER_DEFAULT: Final = Version(1, 37)


def default_slice(resource_slice: Object, caps: Capabilities) -> None:
    """Default the allocation multiplier of resource mappings to one."""
    if caps.version < _NO_MULTIPLIER_DEFAULT:
        _default_multipliers(resource_slice.get("spec", {}).get("devices") or ())


def default_slice_v1beta1(resource_slice: Object, caps: Capabilities) -> None:
    """Default the allocation multiplier of resource mappings to one."""
    if caps.version < _NO_MULTIPLIER_DEFAULT:
        # v1beta1 nests the fields of a device under `basic`.
        devices = resource_slice.get("spec", {}).get("devices") or ()
        _default_multipliers(device["basic"] for device in devices if "basic" in device)


def _default_multipliers(devices: Iterable[Object]) -> None:
    for device in devices:
        for mapping in device.get("nodeAllocatableResourceMappings", {}).values():
            mapping.setdefault("allocationMultiplier", "1")


DEVICES_MAX: Final = 128
DEVICES_WITH_ADVANCED_FEATURES_MAX: Final = 64
COUNTER_SETS_MAX: Final = 8
_NODE_SELECTION_FIELDS: Final = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
_ONE_OF_DETAIL: Final = f"exactly one of {_NODE_SELECTION_FIELDS} is required"
_DEVICE_NODE_FIELDS: Final = ("nodeName", "nodeSelector", "allNodes")
_BINDING_FIELDS: Final = ("bindingConditions", "bindingFailureConditions", "bindsToNode")


class ResourceSliceStrategy(Strategy):
    """Strategy of ResourceSlice."""

    tracks_generation = True
    selectable_field_names = ("spec.nodeName", "spec.driver", "spec.pool.name")
    selectable_since = MappingProxyType({"spec.pool.name": Version(1, 37)})

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return node name, driver and pool."""
        spec = obj["spec"]
        return {
            "spec.nodeName": spec.get("nodeName") or "",
            "spec.driver": spec.get("driver", ""),
            "spec.pool.name": (spec.get("pool") or {}).get("name", ""),
        }

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop fields of disabled gates."""
        super().prepare_for_create(obj, context)
        _drop_disabled_fields(obj["spec"], {}, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Raise the generation for changes; drop fields of disabled gates that are not in use."""
        super().prepare_for_update(new, old, context)
        _drop_disabled_fields(new["spec"], old["spec"], context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate pool, node selection and every device."""
        return _validate_spec(obj["spec"], None)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject another pool, driver or node."""
        return _validate_spec(new["spec"], old["spec"])

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about capitals in the driver name."""
        driver = obj["spec"].get("driver", "")
        if driver == driver.lower():
            return []
        return [f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters']

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation."""
        return self.warnings_on_create(new, context)


def _validate_spec(spec: ReadOnlyObject, before: ReadOnlyObject | None) -> list[FieldError]:
    errors = validate_csi_driver_name(spec.get("driver", ""), "spec.driver") + _validate_pool(spec.get("pool") or {})
    if before is not None:
        errors += _validate_immutable_fields(spec, before)
    errors += _validate_node_selection(spec)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counters is not None:
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    stored = {device.get("name"): device for device in (before or {}).get("devices") or ()}
    per_device = bool(spec.get("perDeviceNodeSelection"))
    errors += validate_set(
        devices,
        "spec.devices",
        lambda device, at: validate_device(device, stored.get(device.get("name")), at, per_device=per_device),
        key=name_key,
        # Devices with taints, counters or lists are larger: the lower limit keeps a slice below etcd's limit for
        # objects.
        items_max=DEVICES_WITH_ADVANCED_FEATURES_MAX if _uses_advanced_features(devices or ()) else DEVICES_MAX,
    )
    return errors + validate_set(
        counters, "spec.sharedCounters", _validate_counter_set, key=name_key, items_max=COUNTER_SETS_MAX
    )


def _validate_pool(pool: ReadOnlyObject) -> list[FieldError]:
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    errors = validate_pool_name(pool.get("name", ""), "spec.pool.name")
    if count <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        errors.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return errors


def _validate_immutable_fields(spec: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    name, driver, node = (spec.get("pool") or {}).get("name", ""), spec.get("driver", ""), spec.get("nodeName")
    immutable_fields = (
        ("spec.pool.name", name, (before.get("pool") or {}).get("name", "")),
        ("spec.driver", driver, before.get("driver", "")),
        ("spec.nodeName", node, before.get("nodeName")),
    )
    return [invalid(at, value, "field is immutable") for at, value, was in immutable_fields if value != was]


def _validate_node_selection(spec: ReadOnlyObject) -> list[FieldError]:
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    errors: list[FieldError] = []
    if node is not None:
        detail = "must be either unset or set to a non-empty string"
        errors += validate_subdomain(node, "spec.nodeName") if node else [invalid("spec.nodeName", node, detail)]
    if selector is not None:
        errors += validate_node_selector(selector, "spec.nodeSelector", NodeSelectorOptions())
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            shown = [to_internal(term, TERMS) for term in terms] or None
            at = "spec.nodeSelector.nodeSelectorTerms"
            errors.append(invalid(at, shown, "must have exactly one node selector term"))
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name) is False:
            errors.append(invalid(f"spec.{name}", False, "must be either unset or set to true"))
    given = [f"`{name}`" for name in ("nodeName", "allNodes", "perDeviceNodeSelection") if spec.get(name)]
    if selector is not None:
        # Upstream lists the fields in the order of its checks: nodeName, nodeSelector, allNodes,
        # perDeviceNodeSelection.
        given.insert(1 if node else 0, "`nodeSelector`")
    if not given:
        errors.append(required("spec", _ONE_OF_DETAIL))
    elif len(given) > 1:
        shown_fields = f"{{{', '.join(given)}}}"
        errors.append(invalid("spec", shown_fields, f"{_ONE_OF_DETAIL}, but multiple fields are set"))
    return errors


def _validate_counter_set(counters: ReadOnlyObject, at: str) -> list[FieldError]:
    name = counters.get("name", "")
    errors = validate_label(name, f"{at}.name") if name else [required(f"{at}.name")]
    return errors + validate_counters(counters, at)


def _uses_advanced_features(devices: Iterable[ReadOnlyObject]) -> bool:
    return any(
        device.get("taints") or device.get("consumesCounters") or _uses_list_attributes(device) for device in devices
    )


def _uses_list_attributes(device: ReadOnlyObject) -> bool:
    return any(name in each for each in (device.get("attributes") or {}).values() for name in LIST_ATTRIBUTES)


def _uses_request_policies(device: ReadOnlyObject) -> bool:
    policies = any("requestPolicy" in each for each in (device.get("capacity") or {}).values())
    return policies or "allowMultipleAllocations" in device


def _drop_disabled_fields(spec: Object, before: ReadOnlyObject, context: StrategyContext) -> None:
    devices, stored, enabled = spec.get("devices") or (), before.get("devices") or (), context.caps.enabled
    if not enabled("DRADeviceTaints") and not any(each.get("taints") for each in stored):
        drop_fields(devices, "taints")
    if not enabled("DRAPartitionableDevices") and not _uses_partitionable_devices(before, stored):
        drop_fields((spec,), "sharedCounters", "perDeviceNodeSelection")
        drop_fields(devices, "consumesCounters", *_DEVICE_NODE_FIELDS)
    if not enabled("DRADeviceCompatibilityGroups") and not any(
        each.get("compatibilityGroups") for each in _list_consumptions(stored)
    ):
        drop_fields(_list_consumptions(devices), "compatibilityGroups")
    binds = enabled("DRADeviceBindingConditions") and enabled("DRAResourceClaimDeviceStatus")
    if not binds and not any(name in each for each in stored for name in _BINDING_FIELDS):
        drop_fields(devices, *_BINDING_FIELDS)
    if not enabled("DRAConsumableCapacity") and not any(map(_uses_request_policies, stored)):
        drop_fields(devices, "allowMultipleAllocations")
        drop_fields([each for device in devices for each in (device.get("capacity") or {}).values()], "requestPolicy")
    mapped = any(each.get("nodeAllocatableResourceMappings") for each in stored)
    if not enabled("DRANodeAllocatableResources") and not mapped:
        drop_fields(devices, "nodeAllocatableResourceMappings")
    if not enabled("DRAListTypeAttributes") and not any(map(_uses_list_attributes, stored)):
        attributes = [each for device in devices for each in (device.get("attributes") or {}).values()]
        drop_fields(attributes, *LIST_ATTRIBUTES)


def _list_consumptions(devices: Iterable[Object]) -> list[Object]:
    return [each for device in devices for each in device.get("consumesCounters") or ()]


def _uses_partitionable_devices(before: ReadOnlyObject, stored: Iterable[ReadOnlyObject]) -> bool:
    if before.get("sharedCounters") or "perDeviceNodeSelection" in before:
        return True
    return any(each.get("consumesCounters") or any(name in each for name in _DEVICE_NODE_FIELDS) for each in stored)


def slice_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ResourceSlice."""
    return [
        name_of(obj),
        string(obj, "spec", "nodeName"),
        string(obj, "spec", "driver"),
        string(obj, "spec", "pool", "name"),
        format_age(obj, now),
    ]


RESOURCE_SLICE = Printer(
    (
        NAME_COLUMN,
        text_column("Node", "The node the devices are on."),
        text_column("Driver", "The driver of the devices."),
        text_column("Pool", "The pool they belong to."),
        AGE_COLUMN,
    ),
    slice_cells,
)

KIND: Final = Kind(
    "resource.k8s.io",
    "ResourceSlice",
    "resourceslices",
    namespaced=False,
    versions=("v1", "v1beta2", "v1beta1", "v1alpha3"),
    strategy=lambda _: ResourceSliceStrategy(),
    defaults={
        "v1": default_slice,
        "v1beta2": default_slice,
        "v1beta1": default_slice_v1beta1,
        "v1alpha3": default_slice_v1beta1,
    },
    time_defaults=dict.fromkeys(("v1", "v1beta2", "v1beta1", "v1alpha3"), set_slice_taint_times),
    printer=RESOURCE_SLICE,
)
