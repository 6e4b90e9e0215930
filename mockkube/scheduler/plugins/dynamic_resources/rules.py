"""What of dynamic resource allocation one scheduler does, by its version and gates."""

from dataclasses import dataclass
from typing import Final

from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT, Version
from mockkube.matching.cel.devices import LISTS_GATE, SHARED_GATE

EXTENDED_GATE: Final = "DRAExtendedResource"
TIMEOUT_GATE: Final = "DRASchedulerFilterTimeout"

_BINDING_GATES: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


@dataclass(frozen=True, slots=True)
class Rules:
    """The features, read once; and what differs between versions."""

    admin_access: bool = True
    prioritized_lists: bool = True
    partitions: bool = True
    taints: bool = True
    taint_rules: bool = False
    """Whether rules put taints on devices."""
    binding_conditions: bool = True
    shared_capacity: bool = True
    fractions: bool = False
    """Whether shared capacity comes in steps of less than one."""
    list_selectors: bool = False
    """Whether selectors may read attributes that are lists."""
    list_constraints: bool = False
    """Whether constraints compare attributes that are lists."""
    extended_resources: bool = True
    limited: bool = True
    """Whether the search for one node ends after some time."""
    version: Version = DEFAULT

    @classmethod
    def of(cls, caps: Capabilities) -> "Rules":
        """Read a scheduler's capabilities."""
        lists = caps.enabled(LISTS_GATE)
        return cls(
            admin_access=caps.enabled("DRAAdminAccess"),
            prioritized_lists=caps.enabled("DRAPrioritizedList"),
            partitions=caps.enabled("DRAPartitionableDevices"),
            taints=caps.enabled("DRADeviceTaints"),
            taint_rules=caps.enabled("DRADeviceTaintRules"),
            binding_conditions=all(caps.enabled(gate) for gate in _BINDING_GATES),
            shared_capacity=caps.enabled(SHARED_GATE),
            fractions=caps.enabled("DRAFractionalCapacityRange"),
            list_selectors=lists,
            # upstream 1.36 knows such constraints, but its scheduler does not ask for them.
            list_constraints=lists and caps.version >= Version(1, 37),
            extended_resources=caps.enabled(EXTENDED_GATE),
            limited=caps.enabled(TIMEOUT_GATE),
            version=caps.version,
        )

    @property
    def invalid_pools_are_errors(self) -> bool:
        """Whether an invalid pool ends the attempt, instead of being passed over."""
        return self.version < Version(1, 35)

    @property
    def timeouts_are_errors(self) -> bool:
        """Whether a search that takes too long ends the attempt, instead of refusing the node."""
        return self.version >= Version(1, 36)

    @property
    def all_by_size(self) -> bool:
        """Whether all devices are those that are large enough, instead of those that have enough left."""
        return self.version >= Version(1, 37)

    @property
    def short_configurations(self) -> bool:
        """Whether a configuration for all requests names none of them, and is there once."""
        return self.version >= Version(1, 37)

    @property
    def silent_remedies(self) -> bool:
        """Whether a post-filter that changes nothing gives no reason."""
        return self.version >= Version(1, 37)
