"""Constraints of a claim: attributes that its devices must have in common, or must not.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/{allocator_experimental,constraint}.go
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import Device, DeviceId

AttributeValues = tuple[str, frozenset[Any]]
"""Type of an attribute and its values: one value, or several if lists are supported."""

_SCALAR_TYPES: Final = ("string", "int", "bool", "version")
_LIST_TYPES: Final = ("ints", "bools", "strings", "versions")


@dataclass(frozen=True, slots=True)
class AttributeReading:
    """Attribute of a device: missing, of an unknown type (None), or with values."""

    exists: bool
    value: AttributeValues | None = None


class DeviceConstraint(ABC):
    """Constraint of a claim, with the devices chosen so far for its requests."""

    def __init__(self, attribute: str, requests: frozenset[str], *, lists: bool) -> None:
        self._attribute, self._requests, self._lists = attribute, requests, lists
        self._read: dict[DeviceId, AttributeReading] = {}

    def add(self, request: str, sub_request: str, device: Device) -> bool:
        """Add a device if the constraint permits it; devices of other requests are always permitted."""
        if not self._applies_to(request, sub_request):
            return True
        attribute = self._read.get(device.id)
        if attribute is None:
            attribute = self._read[device.id] = self._read_attribute(device)
        return attribute.exists and self._accept(request, attribute.value)

    def remove(self, request: str, sub_request: str) -> None:
        """Remove the device that was added last for a request."""
        if self._applies_to(request, sub_request):
            self._remove(request)

    @property
    @abstractmethod
    def state(self) -> Hashable:
        """Everything that decides which devices may still be added."""

    @abstractmethod
    def _accept(self, request: str, value: AttributeValues | None) -> bool:
        """Add a device with this value, None for an unknown type; return whether it is permitted."""

    @abstractmethod
    def _remove(self, request: str) -> None:
        """Remove a device of a request."""

    def _applies_to(self, request: str, sub_request: str) -> bool:
        if not self._requests or request in self._requests:
            return True
        return bool(sub_request) and f"{request}/{sub_request}" in self._requests

    def _read_attribute(self, device: Device) -> AttributeReading:
        attribute = find_attribute(device, self._attribute)
        return AttributeReading(False) if attribute is None else AttributeReading(True, self._parse_values(attribute))

    def _parse_values(self, attribute: ReadOnlyObject) -> AttributeValues | None:
        for kind in _LIST_TYPES if self._lists else ():
            if attribute.get(kind):
                return kind.removesuffix("s"), frozenset(attribute[kind])
        return next(((kind, frozenset((attribute[kind],))) for kind in _SCALAR_TYPES if kind in attribute), None)


class MatchAttributeConstraint(DeviceConstraint):
    """Requires the same value of all devices."""

    def __init__(self, attribute: str, requests: frozenset[str], *, lists: bool) -> None:
        super().__init__(attribute, requests, lists=lists)
        # Values that all devices have in common, after each device.
        self._common_values: list[AttributeValues | None] = []

    @property
    def state(self) -> Hashable:
        """Values that all devices have in common, if there are devices."""
        return tuple(self._common_values[-1:])

    def _accept(self, request: str, value: AttributeValues | None) -> bool:
        if not self._common_values:
            if value is None and self._lists:
                return False
            self._common_values.append(value)
            return True
        common = _common_values(self._common_values[-1], value)
        if common is not None:
            self._common_values.append(common)
        return common is not None

    def _remove(self, request: str) -> None:
        self._common_values.pop()


class DistinctAttributeConstraint(DeviceConstraint):
    """Requires different values of all devices, as far as upstream remembers them: the last one of each request."""

    def __init__(self, attribute: str, requests: frozenset[str], *, lists: bool) -> None:
        super().__init__(attribute, requests, lists=lists)
        self._values: dict[str, AttributeValues | None] = {}
        self._count = 0

    @property
    def state(self) -> Hashable:
        """Remembered values."""
        return self._count > 0, frozenset(self._values.items())

    def _accept(self, request: str, value: AttributeValues | None) -> bool:
        if self._count and not self._is_distinct(value):
            return False
        # upstream: the map has one entry per request, so a request for several devices compares with its last one only.
        self._values[request] = value
        self._count += 1
        return True

    def _remove(self, request: str) -> None:
        self._values.pop(request, None)
        self._count -= 1

    def _is_distinct(self, value: AttributeValues | None) -> bool:
        if value is None:
            return not self._lists and not self._values
        return all(_common_values(other, value) is None for other in self._values.values())


def _common_values(one: AttributeValues | None, other: AttributeValues | None) -> AttributeValues | None:
    """Return the values that both have; None if there are none, or their types differ."""
    if one is None or other is None or one[0] != other[0]:
        return None
    shared = one[1] & other[1]
    return (one[0], shared) if shared else None


def find_attribute(device: Device, name: str) -> ReadOnlyObject | None:
    """Return an attribute by its full name; a driver may publish its own attributes without their domain."""
    attributes: Mapping[str, ReadOnlyObject] = device.obj.get("attributes") or {}
    if name in attributes:
        return attributes[name]
    domain, _, identifier = name.partition("/")
    return attributes.get(identifier) if domain == device.id.driver else None
