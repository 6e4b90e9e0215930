"""Select the device class that serves an extended resource.

upstream 1.36: dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go
"""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.plugins.extended_resource_classes import ExtendedResourceClasses


@dataclass(frozen=True, slots=True)
class DeviceClassSelection:
    """Selects among device classes that back the same extended resource."""

    resources: ExtendedResourceClasses

    def select_class(self, resource: str) -> str:
        """Return the newest class, the first by name of equally old ones; empty if there is none."""
        classes = self.resources.classes.get(resource) if self.resources.classes is not None else []
        newest = max((_created_at(one) for one in classes), default="")
        return min((one["metadata"]["name"] for one in classes if _created_at(one) == newest), default="")


def _created_at(device_class: ReadOnlyObject) -> str:
    created: str = device_class["metadata"].get("creationTimestamp", "")
    return created
