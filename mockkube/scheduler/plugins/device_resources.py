"""Extended resources that device classes stand for: where a node has none of its own, devices are looked for instead.

upstream 1.36: dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go
"""

from dataclasses import dataclass
from typing import Final, Self

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Index
from mockkube.scheduler.framework.interface import Context

_GATE: Final = "DRAExtendedResource"
_IMPLIED: Final = "deviceclass.resource.kubernetes.io/"


def class_resources(device_class: ReadOnlyObject) -> tuple[str, ...]:
    """Return the extended resources that a device class stands for: one by its name, one if it says so."""
    stated = device_class["spec"].get("extendedResourceName")
    implied = _IMPLIED + device_class["metadata"]["name"]
    return (implied, stated) if stated else (implied,)


@dataclass(frozen=True, slots=True)
class DeviceResources:
    """The device classes of a cluster, by the extended resources they stand for."""

    classes: Index | None
    """None where the scheduler does not know of such classes."""

    @classmethod
    def of(cls, context: Context) -> Self:
        """Return what a scheduler knows."""
        if not context.caps.enabled(_GATE):
            return cls(None)
        return cls(context.caches.of("DeviceClass").index("extended resources", class_resources))

    @property
    def known(self) -> bool:
        """Whether device classes may stand for resources at all."""
        return self.classes is not None

    def stand_for(self, resource: str) -> bool:
        """Whether a device class stands for the resource."""
        return self.classes is not None and bool(self.classes.get(resource))
