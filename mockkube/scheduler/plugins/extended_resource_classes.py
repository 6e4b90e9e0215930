"""Extended resources backed by device classes (KEP-5004): devices replace the resource on nodes that have none of it.

upstream 1.36: dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go
"""

from typing import Final, Self

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Indexer
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.interface import PluginDependencies

_GATE: Final = "DRAExtendedResource"
_IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


def extended_resources_of_class(device_class: ReadOnlyObject) -> tuple[str, ...]:
    """Return the extended resources of a device class: one implied by its name, one if its spec names it."""
    stated = device_class["spec"].get("extendedResourceName")
    implied = _IMPLICIT_PREFIX + device_class["metadata"]["name"]
    return (implied, stated) if stated else (implied,)


@dataclass(frozen=True, slots=True)
class ExtendedResourceClasses:
    """Device classes of the cluster by extended resource."""

    classes: Indexer | None
    """None if the gate is disabled."""

    @classmethod
    def from_dependencies(cls, dependencies: PluginDependencies) -> Self:
        """Return the index for a scheduler."""
        if not dependencies.caps.enabled(_GATE):
            return cls(None)
        return cls(
            dependencies.informers.informer_for("DeviceClass").index("extended resources", extended_resources_of_class)
        )

    @property
    def is_enabled(self) -> bool:
        """True if device classes may back extended resources at all."""
        return self.classes is not None

    def has_class(self, resource: str) -> bool:
        """Return whether a device class backs the resource."""
        return self.classes is not None and bool(self.classes.get(resource))
