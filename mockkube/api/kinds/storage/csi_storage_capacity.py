"""CSIStorageCapacity: strategy and validation."""

from typing import Final

from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.quantities.quantity import parse
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_immutable_field, validate_subdomain
from mockkube.api.validation.labels import is_invalid_selector, validate_label_selector
from mockkube.api.validation.node_selector import get_node_label_warnings


class CSIStorageCapacityStrategy(Strategy):
    """Strategy of CSIStorageCapacity; topology and storage class are immutable."""

    allow_unconditional_update = False

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate topology, storage class and capacity."""
        return _validate(obj, lenient=False)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject another topology or storage class."""
        errors = _validate(new, lenient=is_invalid_selector(old.get("nodeTopology")))
        return (
            errors
            + validate_immutable_field(new, old, "nodeTopology")
            + validate_immutable_field(new, old, "storageClassName")
        )

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about deprecated node labels."""
        return get_node_label_warnings(obj.get("nodeTopology"), "nodeTopology")

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation."""
        return self.warnings_on_create(new, context)


def _validate(obj: ReadOnlyObject, *, lenient: bool) -> list[FieldError]:
    errors = validate_label_selector(obj.get("nodeTopology"), "nodeTopology", allow_invalid_values=lenient)
    errors += validate_subdomain(obj.get("storageClassName", ""), "storageClassName")
    capacity = obj.get("capacity")
    if capacity is not None and parse(capacity).sign < 0:
        errors.append(invalid("capacity", capacity, "must be greater than or equal to 0"))
    return errors


KIND: Final = Kind(
    "storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities", strategy=lambda _: CSIStorageCapacityStrategy()
)
