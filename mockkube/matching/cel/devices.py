"""CEL environment of device selectors in DeviceClasses and ResourceClaims, and its validation.

The function `includes`, which the gate `DRAListTypeAttributes` adds, is not supported.
upstream 1.36: dynamic-resource-allocation/cel/compile.go
"""

from functools import cache, lru_cache
from typing import Final

from mockkube_cel import types
from mockkube_cel.environment import Compiled, Environment
from mockkube_cel.schema import Schema
from mockkube_cel.sizes import Path, Size
from mockkube_cel.types import CelType

from mockkube.api.fields import FieldError
from mockkube.api.strategy import StrategyContext
from mockkube.matching.cel.environment import kubernetes_environment
from mockkube.matching.cel.tolerations import PROGRAMS_MAX, validate_compiled

CONSUMABLE_CAPACITY_GATE: Final = "DRAConsumableCapacity"
LIST_ATTRIBUTES_GATE: Final = "DRAListTypeAttributes"

_DEVICE: Final = "kubernetes.DRADevice"
_ENTRIES_MAX: Final = 32
_DOMAIN_MAX: Final = 63
_IDENTIFIER_MAX: Final = 32
_VALUE_MAX: Final = 64
_FIELDS: Final = {"driver": 63, "allowMultipleAllocations": 1, "attributes": _ENTRIES_MAX, "capacity": _ENTRIES_MAX}
_QUANTITY: Final = types.struct("kubernetes.Quantity")


def _size_max(path: Path) -> int | None:
    """Return the maximum size of the value at a path; None if upstream does not bound it either."""
    match path:
        case ("device",):
            return 0
        case ("device", name) if name in _FIELDS:
            return _FIELDS[name]
        case ("device", "attributes" | "capacity", "@keys"):
            return _DOMAIN_MAX
        case ("device", "attributes" | "capacity", "@items" | "@values"):
            return _ENTRIES_MAX
        case ("device", "attributes" | "capacity", "@items" | "@values", "@keys"):
            return _IDENTIFIER_MAX
        case ("device", "capacity", "@items" | "@values", "@items" | "@values"):
            return 0
        case ("device", "attributes", "@items" | "@values", _):
            return _VALUE_MAX
    return None


def _estimate_size(path: Path, kind: CelType) -> Size | None:
    """Return the size of the value at a path in a device."""
    size_max = _size_max(path)
    return None if size_max is None else Size(0, size_max)


@cache
def device_environment(*, shared: bool, lists: bool) -> Environment:
    """Return the environment of device selectors; `shared` and `lists` tell which gates are on."""
    # Upstream declares attributes as dyn with the gate and as any without it; errors of the checker show the type.
    attribute = types.DYN if lists else types.ANY
    fields: dict[str, CelType] = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, attribute)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, _QUANTITY)),
    }
    if shared:
        fields["allowMultipleAllocations"] = types.BOOL
    schema = Schema(variables={"device": types.struct(_DEVICE)}, messages={_DEVICE: fields})
    return kubernetes_environment(schema, _estimate_size, bindings=True)


@lru_cache(PROGRAMS_MAX)
def _compile(expression: str, *, shared: bool, lists: bool) -> Compiled:
    return device_environment(shared=shared, lists=lists).compile(expression)


def validate_device_expression(expression: str, at: str, context: StrategyContext, stored: bool) -> list[FieldError]:
    """Validate the selector of a device class or claim at a path, stored ones included."""
    gates = {
        "shared": context.caps.enabled(CONSUMABLE_CAPACITY_GATE),
        "lists": context.caps.enabled(LIST_ATTRIBUTES_GATE),
    }
    return validate_compiled(expression, _compile(expression, **gates), at)
