"""Features of dynamic resource allocation that one scheduler supports, by version and gates."""

from typing import Final

from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.devices import CONSUMABLE_CAPACITY_GATE, LIST_ATTRIBUTES_GATE

EXTENDED_GATE: Final = "DRAExtendedResource"
TIMEOUT_GATE: Final = "DRASchedulerFilterTimeout"

_BINDING_GATES: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


@dataclass(frozen=True, slots=True)
class DynamicResourcesFeatures:
    """Features, read once, and differences between versions."""

    admin_access: bool = True
    prioritized_lists: bool = True
    partitionable_devices: bool = True
    compatibility_groups: bool = False
    """Whether devices that consume counters of one set must have a compatibility group in common."""
    device_taints: bool = True
    device_taint_rules: bool = False
    """Whether DeviceTaintRules add taints to devices."""
    binding_conditions: bool = True
    consumable_capacity: bool = True
    fractional_capacity: bool = False
    """Whether steps of consumable capacity may be fractions."""
    list_selectors: bool = False
    """Whether selectors may read attributes that are lists."""
    list_constraints: bool = False
    """Whether constraints compare attributes that are lists."""
    extended_resources: bool = True
    has_filter_timeout: bool = True
    """Whether the search on one node has a timeout."""
    version: Version = DEFAULT

    @classmethod
    def from_capabilities(cls, caps: Capabilities) -> "DynamicResourcesFeatures":
        """Return the features of a scheduler."""
        lists = caps.enabled(LIST_ATTRIBUTES_GATE)
        return cls(
            admin_access=caps.enabled("DRAAdminAccess"),
            prioritized_lists=caps.enabled("DRAPrioritizedList"),
            partitionable_devices=caps.enabled("DRAPartitionableDevices"),
            compatibility_groups=caps.enabled("DRADeviceCompatibilityGroups"),
            device_taints=caps.enabled("DRADeviceTaints"),
            device_taint_rules=caps.enabled("DRADeviceTaintRules"),
            binding_conditions=all(caps.enabled(gate) for gate in _BINDING_GATES),
            consumable_capacity=caps.enabled(CONSUMABLE_CAPACITY_GATE),
            fractional_capacity=caps.enabled("DRAFractionalCapacityRange"),
            list_selectors=lists,
            # upstream 1.36 implements such constraints, but its scheduler does not enable them.
            list_constraints=lists and caps.version >= Version(1, 37),
            extended_resources=caps.enabled(EXTENDED_GATE),
            has_filter_timeout=caps.enabled(TIMEOUT_GATE),
            version=caps.version,
        )

    @property
    def invalid_pools_are_errors(self) -> bool:
        """True if an invalid pool ends the attempt, false if it is ignored."""
        return self.version < Version(1, 35)

    @property
    def timeouts_are_errors(self) -> bool:
        """True if a timeout of the search ends the attempt, false if it rejects the node."""
        return self.version >= Version(1, 36)

    @property
    def all_devices_by_total_capacity(self) -> bool:
        """True if "all devices" are those of sufficient capacity, false if those with sufficient capacity left."""
        return self.version >= Version(1, 37)

    @property
    def short_configurations(self) -> bool:
        """True if a configuration for all requests appears once and lists no requests."""
        return self.version >= Version(1, 37)

    @property
    def post_filter_omits_reason(self) -> bool:
        """True if a PostFilter that changes nothing gives no reason."""
        return self.version >= Version(1, 37)
