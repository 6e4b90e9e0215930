"""CSINode: strategy, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, duplicate, find_duplicate_indexes, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import elements, name_of
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, integer_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_csi_driver_name, validate_qualified_name
from mockkube.api.validation.internal_form import InternalShape, make_optional, to_internal
from mockkube.api.validation.numbers import validate_nonnegative

NODE_ID_LENGTH_MAX: Final = 256
_RESOURCES: Final[InternalShape] = (("Count", "count", None),)
_DRIVER: Final[InternalShape] = (
    ("Name", "name", ""),
    ("NodeID", "nodeID", ""),
    ("TopologyKeys", "topologyKeys", None),
    ("Allocatable", "allocatable", make_optional(_RESOURCES)),
)


class CSINodeStrategy(Strategy):
    """Strategy of CSINode; drivers can be added and removed, but not changed."""

    allow_unconditional_update = False

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate each driver."""
        seen: set[str] = set()
        errors: list[FieldError] = []
        for index, driver in enumerate(_drivers(obj)):
            at, name = f"spec.drivers[{index}]", driver.get("name", "")
            errors += validate_csi_driver_name(name, f"{at}.name")
            errors += _validate_node_id(driver.get("nodeID", ""), f"{at}.nodeID")
            errors += validate_nonnegative((driver.get("allocatable") or {}).get("count"), f"{at}.allocatable.count")
            if name in seen:
                errors.append(duplicate(f"{at}.name", name))
            seen.add(name)
            errors += _validate_topology_keys(driver.get("topologyKeys") or [], at)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject changed drivers."""
        errors = self.validate(new, context)
        ignored = ("allocatable",) if context.caps.enabled("MutableCSINodeAllocatableCount") else ()
        # Drivers are paired by name; one that appears or disappears is no change of another.
        for before in _drivers(old):
            for driver in _drivers(new):
                if before.get("name") != driver.get("name"):
                    continue
                immutable_fields = {name: value for name, value in driver.items() if name not in ignored}
                if immutable_fields != {name: value for name, value in before.items() if name not in ignored}:
                    errors.append(invalid("spec.drivers", to_internal(immutable_fields, _DRIVER), "field is immutable"))
        return errors


def _drivers(obj: ReadOnlyObject) -> list[ReadOnlyObject]:
    return (obj.get("spec") or {}).get("drivers") or []


def _validate_node_id(node_id: str, at: str) -> list[FieldError]:
    if not node_id:
        return [required(at)]
    detail = f"must be {NODE_ID_LENGTH_MAX} characters or less"
    return [invalid(at, node_id, detail)] if len(node_id.encode()) > NODE_ID_LENGTH_MAX else []


def _validate_topology_keys(keys: list[str], at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    repeated = find_duplicate_indexes(keys)
    for index, key in enumerate(keys):
        if not key:
            # Upstream reports errors of topology keys at the path of the driver.
            errors.append(required(at))
        if index in repeated:
            errors.append(duplicate(at, key))
        errors += validate_qualified_name(key, at)
    return errors


def csi_node_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a CSINode."""
    return [name_of(obj), len(elements(obj, "spec", "drivers")), format_age(obj, now)]


CSI_NODE = Printer(
    (NAME_COLUMN, integer_column("Drivers", "Number of CSI drivers on the node."), AGE_COLUMN), csi_node_cells
)

KIND: Final = Kind(
    "storage.k8s.io",
    "CSINode",
    "csinodes",
    namespaced=False,
    subresources=(STATUS,),
    strategy=lambda _: CSINodeStrategy(),
    printer=CSI_NODE,
)
